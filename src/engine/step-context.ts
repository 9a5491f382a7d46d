/**
 * "In a step", for whatever runs inside one: which step it is, and the signal that ends it. Not the workflow's context, which a body is
 * handed, and not the gate (step-gate.ts), though both live in the same async frame so that one call leaves both.
 *
 * Invariants:
 * - C1 The frame is found through the symbol registry, so a helper that loads another copy of this package sees the same step.
 * - C2 Nested steps: the inner one is the current one.
 * - C3 What a step starts but does not contain, such as the walk of another run, has to be run by `runOutsideStep`: timers and
 *   promises carry the frame along.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { type ContextMethod, insideStepMessage } from "./refusals.ts";

/** What a step's body may know about its own try. */
export interface StepInfo {
  readonly name: string;
  readonly key: string;
  /** Of this walk, from 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly isLastAttempt: boolean;
}

export interface CurrentStep extends Omit<StepInfo, "isLastAttempt"> {
  readonly signal: AbortSignal;
}

/** A place in a step gate; `open` until it is given back. */
export interface StepSlot {
  readonly gate: object;
  readonly outer: StepSlot | undefined;
  open: boolean;
}

export interface StepFrame {
  readonly step: CurrentStep | undefined;
  readonly slot: StepSlot | undefined;
}

/** The number is the version of {@link StepFrame}: copies that disagree about its shape must not meet. */
const SHARED = Symbol.for("runstream.step-frame/1");

const shared = globalThis as { [SHARED]?: AsyncLocalStorage<StepFrame | undefined> };

shared[SHARED] ??= new AsyncLocalStorage();

/** For the gate and this file; everybody else has the functions below. */
export const stepFrames: AsyncLocalStorage<StepFrame | undefined> = shared[SHARED];

/**
 * Runs one try of a step's body. `signal` may be made when it is asked for. `slot`: the place in a gate that the try has; by default
 * that of the step around it.
 */
export const runAsStep = <T>(
  step: CurrentStep,
  fn: () => T,
  slot: StepSlot | undefined = stepFrames.getStore()?.slot,
): T => stepFrames.run({ step, slot }, fn);

/** Runs `fn` as if no step were around it: a walk begins here, since its delivery may have been asked for inside a step. */
export const runOutsideStep = <T>(fn: () => T): T =>
  stepFrames.getStore() === undefined ? fn() : stepFrames.run(undefined, fn);

/** The step this code runs in, the innermost where steps are nested; `undefined` outside. */
export const currentStep = (): CurrentStep | undefined => stepFrames.getStore()?.step;

/** About the current try, `undefined` outside a step. */
export const stepInfo = (): StepInfo | undefined => {
  const step = currentStep();
  if (step === undefined) return undefined;
  const { name, key, attempt, maxAttempts } = step;
  return { name, key, attempt, maxAttempts, isLastAttempt: attempt >= maxAttempts };
};

/** Aborted when the run is cancelled or its delivery given up; `undefined` outside a step. */
export const stepSignal = (): AbortSignal | undefined => currentStep()?.signal;

/** Why `method` may not be called here, or `undefined` where it may. Ask before a counter moves or a store is called. */
export const objectionTo = (method: ContextMethod, runId?: string): string | undefined => {
  const step = currentStep();
  return step === undefined
    ? undefined
    : insideStepMessage({ method, step: step.name, key: step.key, runId });
};
