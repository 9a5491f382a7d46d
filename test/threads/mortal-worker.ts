/**
 * A worker that dies at a chosen operation. Operations are its writes to the store and the side effects of its steps, counted from 0 in
 * the order in which they begin; whatever the worker does after its death waits for ever, as the work of a process that is gone.
 *
 * It kills nothing but the passage that the worker goes through: the store and the other workers live on.
 */
import type { Passage } from "./stores.ts";

export interface Death {
  readonly operation: number;
  /**
   * `before`: nothing of the operation happened. `during`: it took effect, and nobody was told. `after`: the worker was told, and that is
   * the last thing it heard.
   */
  readonly when: "before" | "during" | "after";
}

export const WHENS: readonly Death["when"][] = ["before", "during", "after"];

export interface MortalWorker {
  readonly passage: Passage;
  /** Makes `work` a side effect of the worker. */
  effect<T>(work: () => T | Promise<T>): Promise<T>;
  /** Settles when the worker has died, and what it had under way has ended: nothing of it reaches the store later. */
  readonly died: Promise<"died">;
  /** How many operations have begun. */
  operations(): number;
}

const forever = new Promise<never>(() => {});

export const mortal = (death?: Death): MortalWorker => {
  let operations = 0;
  let underWay = 0;
  let dead = false;
  let tell: (how: "died") => void = () => {};
  const died = new Promise<"died">((resolve) => {
    tell = resolve;
  });
  const operation = async <T>(work: () => T | Promise<T>): Promise<T> => {
    if (dead) return forever;
    const number = operations++;
    const doom = number === death?.operation ? death.when : undefined;
    underWay += 1;
    try {
      if (doom === "before") return forever;
      const answer = await work();
      return dead || doom === "during" ? forever : answer;
    } finally {
      underWay -= 1;
      if (doom !== undefined) dead = true;
      if (dead && underWay === 0) tell("died");
    }
  };
  return {
    passage: {
      write: operation,
      async read(work) {
        if (dead) return forever;
        const answer = await work();
        return dead ? forever : answer;
      },
    },
    effect: operation,
    died,
    operations: () => operations,
  };
};
