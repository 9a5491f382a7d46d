/**
 * The steps a thread has recorded, in the order in which they were, and states made of a prefix of them.
 *
 * Invariants:
 * - S1 Nothing that is recorded changes: the list only grows. So the steps of any checkpoint are a length, and a state that is handed
 *   out is made of it when somebody looks, as it was then.
 * - S2 Names are data: `constructor` and `__proto__` are steps like any other.
 */
import type { StepRecovery, WorkflowState } from "./types.ts";

/** What is recorded of a step. */
export type StepRecord = { readonly value?: unknown; readonly recovered?: StepRecovery };

export type RecordedStep = readonly [key: string, record: StepRecord];

/** The steps of one checkpoint. */
export interface StepsPrefix {
  readonly input: unknown;
  /** At least `count` long, and never altered below that. */
  readonly list: readonly RecordedStep[];
  readonly count: number;
}

/** A checkpoint's steps, for a checkpointer that can keep them so. Gone once somebody has looked at the state, and may have altered it. */
const unread = new WeakMap<object, StepsPrefix>();

export const unreadSteps = (state: object): StepsPrefix | undefined => unread.get(state);

export const stepsOf = ({ list, count }: StepsPrefix): Record<string, StepRecord> =>
  Object.fromEntries(count === list.length ? list : list.slice(0, count));

/** The steps of a state that was recorded; nothing where it has none. */
export const recordedIn = (state: unknown): RecordedStep[] => {
  const steps = (state as { steps?: unknown } | null | undefined)?.steps;
  return typeof steps === "object" && steps !== null ? (Object.entries(steps) as [string, StepRecord][]) : [];
};

const withSteps = (
  prefix: StepsPrefix,
  output: StepRecord | undefined,
  make: () => unknown,
): WorkflowState => {
  const state = { input: prefix.input } as WorkflowState;
  Object.defineProperty(state, "steps", {
    configurable: true,
    enumerable: true,
    get: () => {
      const value = make();
      unread.delete(state);
      Object.defineProperty(state, "steps", { value, configurable: true, enumerable: true, writable: true });
      return value;
    },
  });
  if (output !== undefined && "value" in output) state.output = output.value;
  return state;
};

/** The state of a checkpoint that is written. */
export const writtenState = (prefix: StepsPrefix, output?: StepRecord): WorkflowState => {
  const state = withSteps(prefix, output, () => stepsOf(prefix));
  unread.set(state, prefix);
  return state;
};

/** The state for somebody outside: a copy, which they may alter. `input` and `output` are theirs already. */
export const shownState = (prefix: StepsPrefix, input: unknown, output?: StepRecord): WorkflowState =>
  withSteps({ ...prefix, input }, output, () => structuredClone(stepsOf(prefix)));
