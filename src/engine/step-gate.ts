/**
 * Step gate: how many step bodies an engine runs at once, over all its runs. Not a lock on a run, and no part of a step's meaning: a
 * settled step does not pass it.
 *
 * Invariants:
 * - T1 First come, first served: a place given back goes straight to the longest waiter, so nobody overtakes.
 * - T2 Re-entrant by async context: a step started inside a step runs in its parent's place as long as the parent holds it; a gate
 *   that made it wait could wait for ever. So whoever was given a place runs the body in it (`runAsStep`).
 * - T3 Constant work per call, whatever the number of waiters.
 */
import { type StepSlot, stepFrames } from "./step-context.ts";

/** Width of an engine's gate where none is given. */
export const DEFAULT_STEP_CONCURRENCY = 16;

/** Width of a worker's gate where none is given: a worker walks many runs, and a place is held while a claim is on its way. */
export const DEFAULT_WORKER_STEP_CONCURRENCY = 128;

export interface StepGate {
  /** Runs `fn` as soon as there is a place, hands it that place, and takes it back when the promise settles. */
  run<T>(fn: (slot: StepSlot | undefined) => Promise<T>): Promise<T>;
  /** Places taken. */
  readonly running: number;
  /** Calls that wait for a place. */
  readonly waiting: number;
}

/** The width from `RUNSTREAM_STEP_CONCURRENCY`; `otherwise` where that is not a positive integer. */
export const stepConcurrencyFrom = (
  env: Readonly<Record<string, string | undefined>> = process.env,
  otherwise = DEFAULT_STEP_CONCURRENCY,
): number => {
  const text = env.RUNSTREAM_STEP_CONCURRENCY?.trim() ?? "";
  const width = /^\d+$/.test(text) ? Number(text) : 0;
  return Number.isSafeInteger(width) && width > 0 ? width : otherwise;
};

type Waiter = { readonly enter: () => void; next: Waiter | undefined };

/** A gate of `width` places. Throws `RangeError` unless that is a positive integer. */
export const createStepGate = (width: number): StepGate => {
  if (!Number.isSafeInteger(width) || width < 1) {
    throw new RangeError(`Step concurrency must be a positive integer, and is ${width}`);
  }
  let running = 0;
  let waiting = 0;
  let first: Waiter | undefined;
  let last: Waiter | undefined;

  const turn = (): Promise<void> =>
    new Promise((enter) => {
      const waiter: Waiter = { enter, next: undefined };
      if (last === undefined) first = waiter;
      else last.next = waiter;
      last = waiter;
      waiting++;
    });

  const release = (): void => {
    const waiter = first;
    if (waiter === undefined) {
      running--;
      return;
    }
    first = waiter.next;
    if (first === undefined) last = undefined;
    waiting--;
    waiter.enter();
  };

  const occupy = <T>(fn: (slot: StepSlot) => Promise<T>): Promise<T> => {
    const slot: StepSlot = { gate, outer: stepFrames.getStore()?.slot, open: true };
    const leave = (): void => {
      slot.open = false;
      release();
    };
    try {
      const settled = fn(slot);
      // Beside the answer, not in front of it: the caller is spared a promise, and the place is free before the caller goes on.
      settled.then(leave, leave);
      return settled;
    } catch (error) {
      leave();
      return Promise.reject(error);
    }
  };

  const holdsPlace = (innermost: StepSlot | undefined): boolean => {
    for (let slot = innermost; slot !== undefined; slot = slot.outer) {
      if (slot.gate === gate) return slot.open;
    }
    return false;
  };

  const gate: StepGate = {
    run(fn) {
      const held = stepFrames.getStore()?.slot;
      if (holdsPlace(held)) return fn(held);
      if (running >= width) return turn().then(() => occupy(fn));
      running++;
      return occupy(fn);
    },
    get running() {
      return running;
    },
    get waiting() {
      return waiting;
    },
  };
  return gate;
};
