/**
 * One step's attempt in one walk: the charge, and the settled entry. The tries between them are tries.ts.
 *
 * Invariants:
 * - A1 The body runs only after its charge is in the store, and after everything that the walk's body was told until then (law L3):
 *   through a variable that two branches share, one may depend on what the other was told.
 * - A2 A settled step is never run: if somebody else reached the key, we look whether they settled it, before the budget is judged.
 * - A3 What the store says about recording an entry is not the body's failure: it costs no try.
 * - A4 The charge is given back only by a refusal; death, abort, a repeated try and a settled step keep it.
 * - A5 Store trouble, or a refusal, that reaches the body through a step inside it is not the body's failure: nothing is recorded, no
 *   try is used up.
 * - A6 An optimistic step gives up A1 for its first try: the body begins beside its claim. Its outcome counts only under the claim: where
 *   that fails, or somebody else settled the step, it is discarded. The attempt ends when the body has.
 */
import { PayloadError } from "../../events/payload.ts";
import type { Outcome } from "../attempts/attempt.ts";
import type { Writable } from "../journal/records.ts";
import type { StepEntry } from "../journal-store.ts";
import { abandonedStepMessage, Refusal } from "../refusals.ts";
import { messageOf } from "../step-errors.ts";
import { beginEarly, makeTries, type StepPlan } from "./tries.ts";
import type { Walk } from "./walk.ts";
import type { StepJournal } from "./walk-journal.ts";

/** How long a charge counts, in milliseconds: a walk that died longer ago does not use up the step's budget. */
export const ATTEMPT_LEASE_MS = 3_600_000;
export const DEFAULT_MAX_ATTEMPTS = 3;

export interface AttemptScope {
  readonly walk: Walk;
  readonly journal: StepJournal;
  readonly clock: () => number;
  /** No other walk has ever reached this key: the place to refuse a divergence, by throwing. */
  readonly onFirstReach: () => void;
  /** An optimistic body begins: whether its step is this walk's to settle is known when `claim` settles. */
  readonly onClaiming: (claim: Promise<unknown>) => void;
  /** Another walk settled the step meanwhile. */
  readonly onLateAnswer: (entry: StepEntry) => void;
  readonly narrate: (line: string) => void;
  /** Gives the settled entry to the body, in its place in the order. */
  readonly give: (entry: StepEntry) => void;
  /** Proposes the entry to the journal and gives what stands. Throws `PayloadError` before anything is recorded. */
  readonly settle: (entry: StepEntry) => Promise<void>;
}

export const attemptStep = (call: StepPlan, scope: AttemptScope): Promise<void> =>
  call.optimistic && !scope.walk.journal.wasClaimed(call.key)
    ? attemptEarly(call, scope)
    : attemptClaimed(call, scope);

const attemptEarly = async (call: StepPlan, scope: AttemptScope): Promise<void> => {
  let first: Promise<Outcome<unknown>> | undefined;
  try {
    await attemptClaimed(call, scope, () => {
      first = beginEarly(call, scope.walk);
      return first;
    });
  } finally {
    // Whatever became of the claim: what was begun comes to rest with the attempt (A6).
    await first;
  }
};

/** `early` begins the body beside the claim. */
const attemptClaimed = async (
  call: StepPlan,
  scope: AttemptScope,
  early?: () => Promise<Outcome<unknown>>,
): Promise<void> => {
  const { walk, journal, clock } = scope;
  const { key, maxAttempts } = call;
  const startedAt = clock();
  walk.signal.throwIfAborted();
  walk.throwIfOver();
  const claimedBefore = walk.journal.wasClaimed(key);
  const claim = journal.claimAttempt(key, walk.holder, ATTEMPT_LEASE_MS);
  if (early !== undefined) scope.onClaiming(claim);
  const first = early?.();
  const holders = await claim;
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
  const made = await makeTries(call, scope, first);
  if (made.ok) return settleResult(call, scope, { output: made.value, attempts: made.attempts, startedAt });
  return scope.settle(failedEntry(call, scope, messageOf(made.error), made.attempts, startedAt));
};

/** A result that cannot be carried fails the step for good: running the body again would not change it. */
const settleResult = (
  call: StepPlan,
  scope: AttemptScope,
  { output, attempts, startedAt }: { output: unknown; attempts: number; startedAt: number },
): Promise<void> => {
  const { key, name } = call;
  const entry: Writable<StepEntry> = {
    key,
    name,
    status: "ok",
    attempts,
    startedAt,
    finishedAt: scope.clock(),
  };
  if (output !== undefined) entry.output = output;
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
  { key, name }: StepPlan,
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
  call: StepPlan,
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
