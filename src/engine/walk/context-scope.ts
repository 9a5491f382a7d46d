/** What the parts of a context share: the walk, the counters of its keys, and the way answers take to the body. */

import type { Settlement } from "../journal-store.ts";
import { createKeys, type Keys } from "../keys.ts";
import { type ContextMethod, Refusal } from "../refusals.ts";
import { objectionTo } from "../step-context.ts";
import { type Answers, createAnswers } from "./answers.ts";
import type { Walk } from "./walk.ts";

export interface ContextScope {
  readonly walk: Walk;
  readonly keys: Keys;
  readonly answers: Answers;
  readonly clock: () => number;
  /** Refuses to go on with a walk whose body calls `method` inside a step. */
  outsideStep(method: ContextMethod): void;
}

export const createContextScope = (
  walk: Walk,
  order: readonly Settlement[] | undefined,
  clock: () => number,
): ContextScope => ({
  walk,
  keys: createKeys(),
  answers: createAnswers(walk, order),
  clock,
  outsideStep(method) {
    const objection = objectionTo(method, walk.runId);
    if (objection !== undefined) walk.refuse(new Refusal("wait-in-step", objection));
  },
});
