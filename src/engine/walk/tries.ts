/**
 * The tries of one step in one walk, and what `onError` makes of a step that failed for good. Not here: the charge before the first try,
 * and what is recorded of the last (attempt.ts, whose invariants hold).
 *
 * Without options a failed try is repeated at once, or after a `RetryableError`'s delay, until the budget is spent or a `FatalError` ends
 * it. No wait between two tries is longer than `MAX_IN_PROCESS_RETRY_MS`: the claim and the place are held meanwhile.
 */

import { type AttemptLimits, type Outcome, runAttempt } from "../attempts/attempt.ts";
import { AttemptContext } from "../attempts/attempt-context.ts";
import { type Failure, type Made, makeAttempts } from "../attempts/attempt-loop.ts";
import { backoffMs, type RetryRules } from "../attempts/retry-policy.ts";
import { StepTimeoutError } from "../attempts/step-timeout-error.ts";
import { MAX_IN_PROCESS_RETRY_MS, retryDelayMs, retryNarration } from "../backoff.ts";
import { Refusal } from "../refusals.ts";
import { checkSchema } from "../schema.ts";
import { runAsStep, type StepSlot } from "../step-context.ts";
import { FatalError, messageOf } from "../step-errors.ts";
import type { Schema, StepBody, StepFailure } from "../workflow.ts";
import type { Walk } from "./walk.ts";

export interface StepPlan {
  readonly key: string;
  readonly name: string;
  readonly fn: StepBody;
  readonly maxAttempts: number;
  readonly schema: Schema | undefined;
  /** `undefined`: no wait but what the error asks for. */
  readonly retry: RetryRules | undefined;
  readonly limits: AttemptLimits | undefined;
  readonly onError: ((failure: StepFailure) => unknown) | undefined;
  /** The first try may begin before the step is claimed. */
  readonly optimistic: boolean;
  /** The place in the gate that the body runs in. */
  readonly slot: StepSlot | undefined;
}

export interface TryScope {
  readonly walk: Walk;
  readonly clock: () => number;
  readonly narrate: (line: string) => void;
}

/** The first try, begun before its turn: without a charge, and before what the body was told is recorded. Never rejects. */
export const beginEarly = (plan: StepPlan, walk: Walk): Promise<Outcome<unknown>> => tryOnce(plan, 1, walk);

/** Rejects with the walk's abort, and with what is no failure of the body (A5). `early`: the first try, where it has begun already. */
export const makeTries = async (
  plan: StepPlan,
  scope: TryScope,
  early?: Promise<Outcome<unknown>>,
): Promise<Made<unknown>> => {
  const { walk } = scope;
  const first = judged(plan.key, await (early ?? tryInTurn(plan, 1, walk)), walk);
  return first.ok ? { ok: true, value: first.value, attempts: 1 } : goOn(plan, scope, first);
};

/** The tries after a first one that failed. */
const goOn = async (plan: StepPlan, scope: TryScope, first: Outcome<unknown>): Promise<Made<unknown>> => {
  const { walk, clock, narrate } = scope;
  const { key, name, maxAttempts } = plan;
  const made = await makeAttempts<unknown>({
    signal: walk.signal,
    make: async (attempt) => {
      if (attempt === 1) return first;
      return judged(key, await tryInTurn(plan, attempt, walk), walk);
    },
    passesThrough: (error) => walk.isAbort(error),
    next: (failure) => nextTryMs(plan, failure, clock()),
    onRetry: ({ error, attempt }, delayMs) => {
      narrate(retryNarration({ name, attempt, maxAttempts, delayMs, error }));
      walk.journal.noteRetry({ key, attempt, maxAttempts, message: messageOf(error), delayMs });
    },
  });
  return made.ok || plan.onError === undefined || Refusal.is(made.error)
    ? made
    : recover(plan, plan.onError, made, walk);
};

/** One try, when everything that the body was told is recorded (A1). */
const tryInTurn = (plan: StepPlan, attempt: number, walk: Walk): Promise<Outcome<unknown>> => {
  const told = walk.journal.unrecorded();
  if (told !== undefined) return told.then(() => tryInTurn(plan, attempt, walk));
  walk.signal.throwIfAborted();
  return tryOnce(plan, attempt, walk);
};

/** A body cannot make a result of what it may not swallow (law L9). Throws what is not the body's failure (A5). */
const judged = (key: string, outcome: Outcome<unknown>, walk: Walk): Outcome<unknown> => {
  walk.throwTroubleIn(key);
  const refusal = walk.refusedIn(key);
  return refusal === undefined ? outcome : { ok: false, error: refusal };
};

const nextTryMs = (
  { maxAttempts, retry }: StepPlan,
  { error, attempt }: Failure,
  now: number,
): number | undefined => {
  if (FatalError.is(error) || attempt >= maxAttempts) return undefined;
  const asked = retryDelayMs(error, now);
  if (retry === undefined) return asked;
  if (!mayRepeat(retry, error, attempt)) return undefined;
  return Math.min(Math.max(backoffMs(retry, attempt), asked), MAX_IN_PROCESS_RETRY_MS);
};

/** A rule that throws is no permission; the failure it was asked about stands. */
const mayRepeat = ({ retryOn }: RetryRules, error: unknown, attempt: number): boolean => {
  try {
    return retryOn?.(error, attempt) ?? true;
  } catch {
    return false;
  }
};

const tryOnce = (plan: StepPlan, attempt: number, walk: Walk): Promise<Outcome<unknown>> => {
  const { name, fn, limits } = plan;
  if (limits === undefined) return outcomeOf(plan, new AttemptContext(plan, attempt, walk), fn, walk);
  return runAttempt(
    async (limited) => {
      const outcome = await outcomeOf(plan, new AttemptContext(plan, attempt, limited), fn, walk);
      if (outcome.ok) return outcome.value;
      throw outcome.error;
    },
    {
      signal: walk.signal,
      limits,
      exceeded: (kind, ms) => new StepTimeoutError(name, ms, kind),
    },
  );
};

/** Runs the body once and checks what it returns: a result that does not fit is a failed try like any other. */
const outcomeOf = async (
  { key, name, schema, slot }: StepPlan,
  context: AttemptContext,
  fn: StepBody,
  walk: Walk,
): Promise<Outcome<unknown>> => {
  try {
    const value = await runAsStep(context, () => fn(context), slot);
    if (schema === undefined) return { ok: true, value };
    const checked = await checkSchema(schema, value);
    if (checked.ok) return { ok: true, value: checked.value };
    const error = new Error(
      `Step ${JSON.stringify(name)} (key ${key} of run ${walk.runId}) returned what its schema does not accept: ${checked.message}`,
    );
    return { ok: false, error };
  } catch (error) {
    return { ok: false, error };
  }
};

/** What `onError` returns is the step's result, checked like one of the body; what it throws is the step's error. */
const recover = async (
  plan: StepPlan,
  onError: NonNullable<StepPlan["onError"]>,
  { error, attempts }: { readonly error: unknown; readonly attempts: number },
  walk: Walk,
): Promise<Made<unknown>> => {
  const { key, name } = plan;
  walk.signal.throwIfAborted();
  const context = new AttemptContext(plan, attempts, walk);
  const told = await outcomeOf(plan, context, () => onError({ name, key, attempts, error }), walk);
  const outcome = judged(key, told, walk);
  if (!outcome.ok && walk.isAbort(outcome.error)) throw outcome.error;
  return outcome.ok
    ? { ok: true, value: outcome.value, attempts }
    : { ok: false, error: outcome.error, attempts };
};
