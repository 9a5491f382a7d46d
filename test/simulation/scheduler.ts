/**
 * The scheduler of a simulated world: everything that takes time waits here, and the world says what happens next.
 *
 * - K1 Nothing goes on by itself: between two choices the whole process has come to rest (microtasks and ticks are drained).
 * - K2 What waits on behalf of a dead owner never goes on, nor does what a dead owner asks for afterwards.
 */

export interface Owner {
  readonly name: string;
  alive: boolean;
}

export interface Waiting {
  readonly what: string;
  /** `undefined`: goes on whoever dies (a packet that is on the wire). */
  readonly owner: Owner | undefined;
  readonly go: () => void;
  /** What becomes of it when its owner dies, if anything. */
  readonly orphan: (() => void) | undefined;
}

export interface Scheduler {
  readonly waiting: readonly Waiting[];
  /** Resolves when the world chooses it; never for a dead owner. */
  wait(what: string, owner: Owner | undefined, orphan?: () => void): Promise<void>;
  /** Lets the `index`th of what waits go on. */
  choose(index: number): Waiting;
  /** Everything of `owner` that waits is lost; answers what could still happen without it. */
  bury(owner: Owner): (() => void)[];
  /** Answers when nothing runs any more. */
  quiet(): Promise<void>;
}

const nextTurn = setImmediate;

export const createScheduler = (): Scheduler => {
  const waiting: Waiting[] = [];
  return {
    waiting,
    wait: (what, owner, orphan) =>
      new Promise((go) => {
        if (owner === undefined || owner.alive) waiting.push({ what, owner, go, orphan });
      }),
    choose(index) {
      const [chosen] = waiting.splice(index, 1);
      if (chosen === undefined) throw new RangeError(`nothing waits at ${index}`);
      chosen.go();
      return chosen;
    },
    bury(owner) {
      const lost = waiting.filter((one) => one.owner === owner);
      const left = waiting.filter((one) => one.owner !== owner);
      waiting.splice(0, waiting.length, ...left);
      return lost.flatMap(({ orphan }) => (orphan === undefined ? [] : [orphan]));
    },
    quiet: () => new Promise((resume) => nextTurn(resume)),
  };
};
