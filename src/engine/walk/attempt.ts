/**
 * One step's attempt in one walk: the charge, the tries, and the settled entry.
 *
 * Invariants:
 * - A1 The body runs only after its charge is in the store, and after everything that the walk's body was told until then (law L3):
 *   through a variable that two branches share, one may depend on what the other was told.
 * - A2 A settled step is never run: if somebody else reached the key, we look whether they settled it, before the budget is judged.
 * - A3 What the store says about recording an entry is not the body's failure: it costs no try.
 * - A4 The charge is given back only by a refusal; death, abort, a repeated try and a settled step keep it.
 * - A5 Store trouble, or a refusal, that reaches the body through a step inside it is not the body's failure: nothing is recorded, no
 *   try is used up.
 */
import { PayloadError } from "../../events/payload.ts";
import { retryDelayMs, retryNarration, waitMs } from "../backoff.ts";
import type { StepEntry } from "../journal-store.ts";
import { abandonedStepMessage, Refusal } from "../refusals.ts";
import { checkSchema } from "../schema.ts";
import { runInStep } from "../step-context.ts";
import { FatalError, messageOf } from "../step-errors.ts";
import type { Schema } from "../workflow.ts";
import type { Walk } from "./walk.ts";
import type { StepJournal } from "./walk-journal.ts";

/** How long a charge counts, in milliseconds: a walk that died longer ago does not use up the step's budget. */
export const ATTEMPT_LEASE_MS = 3_600_000;
export const DEFAULT_MAX_ATTEMPTS = 3;

/** A body that fails at once, again and again, lets timers, the store and a cancel have their turn after so many tries. */
const TRIES_A_TURN = 16;

export interface StepCall {
  readonly key: string;
  readonly name: string;
  readonly fn: () => unknown;
  readonly maxAttempts: number;
  readonly schema: Schema | undefined;
}

export interface AttemptScope {
  readonly walk: Walk;
  readonly journal: StepJournal;
  readonly clock: () => number;
  /** No other walk has ever reached this key: the place to refuse a divergence, by throwing. */
  readonly onFirstReach: () => void;
  /** Another walk settled the step meanwhile. */
  readonly onLateAnswer: (entry: StepEntry) => void;
  readonly narrate: (line: string) => void;
  /** Gives the settled entry to the body, in its place in the order. */
  readonly give: (entry: StepEntry) => void;
  /** Proposes the entry to the journal and gives what stands. Throws `PayloadError` before anything is recorded. */
  readonly settle: (entry: StepEntry) => Promise<void>;
}

export const attemptStep = async (call: StepCall, scope: AttemptScope): Promise<void> => {
  const { walk, journal, clock } = scope;
  const { key, name, maxAttempts } = call;
  const startedAt = clock();
  walk.signal.throwIfAborted();
  walk.throwIfOver();
  const claimedBefore = walk.journal.wasClaimed(key);
  const holders = await journal.claimAttempt(key, walk.holder, ATTEMPT_LEASE_MS);
  if (holders === 1 && !claimedBefore) scope.onFirstReach();
  if (holders > 1) {
    const settled = await journal.readStep(key);
    if (settled !== undefined) {
      scope.onLateAnswer(settled);
      scope.give(settled);
      return;
    }
    if (holders > maxAttempts) await refuseAbandoned(call, holders - 1, scope);
  }
  for (let tries = 1; ; tries += 1) {
    for (let told = walk.journal.unrecorded(); told !== undefined; told = walk.journal.unrecorded())
      await told;
    walk.signal.throwIfAborted();
    const result = await tryOnce(call, tries, walk);
    walk.throwTroubleIn(key);
    if (result.ok) return settleResult(call, scope, { output: result.value, attempts: tries, startedAt });
    const { error } = result;
    if (walk.signal.aborted && error === walk.signal.reason) throw error;
    if (FatalError.is(error) || tries >= maxAttempts) {
      return scope.settle(failedEntry(call, scope, messageOf(error), tries, startedAt));
    }
    const delayMs = retryDelayMs(error, clock());
    scope.narrate(retryNarration({ name, attempt: tries, maxAttempts, delayMs, error }));
    walk.journal.noteRetry({ key, attempt: tries, maxAttempts, message: messageOf(error), delayMs });
    if (delayMs > 0) await waitMs(delayMs, walk.signal);
    else if (tries % TRIES_A_TURN === 0) await nextTurn();
  }
};

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type Tried = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

/** Runs the body once and checks what it returns: a result that does not fit is a failed try like any other. */
const tryOnce = async (call: StepCall, attempt: number, walk: Walk): Promise<Tried> => {
  const { key, name, fn, maxAttempts, schema } = call;
  try {
    const value = await runInStep({ name, key, attempt, maxAttempts }, walk.signal, fn);
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

/** A result that cannot be carried fails the step for good: running the body again would not change it. */
const settleResult = (
  call: StepCall,
  scope: AttemptScope,
  { output, attempts, startedAt }: { output: unknown; attempts: number; startedAt: number },
): Promise<void> => {
  const { key, name } = call;
  const entry: StepEntry = {
    key,
    name,
    status: "ok",
    ...(output !== undefined && { output }),
    attempts,
    startedAt,
    finishedAt: scope.clock(),
  };
  const uncarried = (error: unknown): Promise<void> => {
    if (!PayloadError.is(error)) throw error;
    const message = `Step ${JSON.stringify(name)} (key ${key} of run ${scope.walk.runId}) returned what cannot be recorded: ${error.message}`;
    return scope.settle(failedEntry(call, scope, message, attempts, startedAt));
  };
  try {
    return scope.settle(entry).catch(uncarried);
  } catch (error) {
    return uncarried(error);
  }
};

const failedEntry = (
  { key, name }: StepCall,
  { clock }: AttemptScope,
  message: string,
  attempts: number,
  startedAt: number,
): StepEntry => ({
  key,
  name,
  status: "failed",
  error: { message },
  attempts,
  startedAt,
  finishedAt: clock(),
});

const refuseAbandoned = async (
  call: StepCall,
  others: number,
  { walk, journal }: AttemptScope,
): Promise<never> => {
  const { key, name, maxAttempts } = call;
  await journal.releaseAttempt(key, walk.holder);
  return walk.refuse(
    new Refusal(
      "abandoned-step",
      abandonedStepMessage({ runId: walk.runId, name, key, others, maxAttempts }),
    ),
  );
};
