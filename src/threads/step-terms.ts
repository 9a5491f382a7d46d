/**
 * What holds for one step: the workflow's defaults and the step's own options, field by field. A field given as `undefined` is not given.
 */
import type { AttemptLimits } from "../engine/attempts/attempt.ts";
import type { Failure } from "../engine/attempts/attempt-loop.ts";
import { backoffMs, DEFAULT_RETRY, type RetryRules, retryRules } from "../engine/attempts/retry-policy.ts";
import { retryDelayMs } from "../engine/backoff.ts";
import { FatalError } from "../engine/step-errors.ts";
import { GraphError } from "./errors.ts";
import type { StepFailure, StepOptions, WorkflowOptions } from "./types.ts";

export interface StepTerms {
  readonly retry: RetryRules;
  readonly limits: AttemptLimits;
  readonly onError: ((failure: StepFailure) => unknown) | undefined;
}

const NO_LIMITS: AttemptLimits = {};

/** The terms of a workflow's steps: asked once per step, made anew only for one with options of its own. */
export const termsOf = (
  workflow: Pick<WorkflowOptions, "retry" | "stepDefaults">,
): ((step?: StepOptions) => StepTerms) => {
  const { stepDefaults = {} } = workflow;
  const defaults: StepTerms = {
    retry: retryRules(DEFAULT_RETRY, workflow.retry, stepDefaults.retry),
    limits: stepDefaults.timeout ?? NO_LIMITS,
    onError: stepDefaults.onError,
  };
  return (step) =>
    step === undefined
      ? defaults
      : {
          retry: retryRules(defaults.retry, step.retry),
          limits: {
            runMs: step.timeoutMs ?? step.timeout?.runMs ?? defaults.limits.runMs,
            idleMs: step.timeout?.idleMs ?? defaults.limits.idleMs,
          },
          onError: step.onError ?? defaults.onError,
        };
};

/**
 * How long to wait before the next attempt, in milliseconds; `undefined` where none follows. Without `retryOn` everything is tried again
 * but a `GraphError` and a `FatalError`, and a limit that was exceeded is. A `RetryableError` says the least that is waited.
 */
export const nextAttemptMs = (
  rules: RetryRules,
  { error, attempt, exceeded }: Failure,
  now: number,
): number | undefined => {
  const retryable = rules.retryOn?.(error, attempt) ?? (exceeded !== undefined || !isFinal(error));
  if (!retryable || attempt >= rules.maxAttempts) return undefined;
  return Math.max(backoffMs(rules, attempt), retryDelayMs(error, now));
};

const isFinal = (error: unknown): boolean => GraphError.is(error) || FatalError.is(error);
