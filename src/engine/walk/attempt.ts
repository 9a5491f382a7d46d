/**
 * One step's attempt in one walk: the charge, and the settled entry. The tries between them are tries.ts.
 *
 * Invariants:
 * - A1 The body runs only after its charge is in the store, and after everything that the walk's body was told until then (law L3):
 *   through a variable that two branches share, one may depend on what the other was told.
 * - A2 A settled step is never run: if somebody else reached the key, we look whether they settled it, before the budget is judged.
 * - A3 What the store says about recording an entry is not the body's failure: it costs no try.
 * - A4 The charge is given back only by a refusal; death, abort, a repeated try and a settled step keep it.
 * - A5 Store trouble, a refusal or an abort that reaches the body through a step inside it is not the body's failure: nothing is recorded,
 *   no try is used up. A call that the body may not make fails its step, though the body catches the refusal.
 * - A6 An optimistic step gives up A1 for its first try: the body begins beside its claim. Its outcome counts only under the claim: where
 *   that fails, or somebody else settled the step, it is discarded. The attempt ends when the body has.
 */
import { PayloadError } from "../../events/payload.ts";
import type { Outcome } from "../attempts/attempt.ts";
import type { Suspicion } from "../divergence.ts";
import type { Writable } from "../journal/records.ts";
import type { StepEntry } from "../journal-store.ts";
import { abandonedStepMessage, Refusal } from "../refusals.ts";
import { messageOf } from "../step-errors.ts";
import type { Answers, Question } from "./answers.ts";
import { beginEarly, makeTries, type StepPlan } from "./tries.ts";
import type { Walk } from "./walk.ts";
import type { StepJournal } from "./walk-journal.ts";

/** How long a charge counts, in milliseconds: a walk that died longer ago does not use up the step's budget. */
export const ATTEMPT_LEASE_MS = 3_600_000;
export const DEFAULT_MAX_ATTEMPTS = 3;

/** A step that the body asks for and that has not settled. */
export interface StepCall extends StepPlan {
  readonly question: Question<StepEntry>;
  /** Asked for by the body of another step. */
  readonly inside: boolean;
  /** What speaks against its being the step that an earlier walk had here. */
  readonly suspicion: Suspicion | undefined;
}

/** What the steps of one walk share. */
export interface AttemptScope {
  readonly walk: Walk;
  readonly answers: Answers;
  readonly clock: () => number;
  /** No other walk has ever reached this key: the place to refuse a divergence, by throwing. */
  readonly onFirstReach: (call: StepCall) => void;
  /** An optimistic body begins: whether its step is this walk's to settle is known when `claim` settles. */
  readonly onClaiming: (call: StepCall, claim: Promise<unknown>) => void;
  /** Another walk settled the step meanwhile. */
  readonly onLateAnswer: (entry: StepEntry) => void;
  readonly narrate: (line: string) => void;
}

export const attemptStep = (call: StepCall, scope: AttemptScope): Promise<void> =>
  call.optimistic && !scope.walk.journal.wasClaimed(call.key)
    ? attemptEarly(call, scope)
    : attemptClaimed(call, scope);

const attemptEarly = async (call: StepCall, scope: AttemptScope): Promise<void> => {
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
  call: StepCall,
  scope: AttemptScope,
  early?: () => Promise<Outcome<unknown>>,
): Promise<void> => {
  const { walk, clock } = scope;
  const { key, maxAttempts } = call;
  const journal = journalOf(call, scope);
  const startedAt = clock();
  walk.signal.throwIfAborted();
  walk.throwIfOver();
  const claimedBefore = walk.journal.wasClaimed(key);
  const claim = journal.claimAttempt(key, walk.holder, ATTEMPT_LEASE_MS);
  if (early !== undefined) scope.onClaiming(call, claim);
  const first = early?.();
  const holders = await claim;
  if (holders === 1 && !claimedBefore) scope.onFirstReach(call);
  if (holders > 1) {
    const settled = await journal.readStep(key);
    if (settled !== undefined) {
      scope.onLateAnswer(settled);
      call.question.give(settled);
      return;
    }
    if (holders > maxAttempts) await refuseAbandoned(call, holders - 1, scope);
  }
  const made = await makeTries(call, scope, first);
  if (made.ok) return settleResult(call, scope, { output: made.value, attempts: made.attempts, startedAt });
  return settle(call, scope, failedEntry(call, scope, messageOf(made.error), made.attempts, startedAt));
};

const journalOf = ({ inside }: StepCall, { walk }: AttemptScope): StepJournal =>
  inside ? walk.journal.inside : walk.journal;

/** Proposes the entry to the journal and gives what stands, at once where it answers nothing. Throws `PayloadError` before anything is recorded. */
const settle = (
  { inside, question }: StepCall,
  { answers }: AttemptScope,
  entry: StepEntry,
): Promise<void> | undefined =>
  inside ? answers.settleInside(entry, question) : answers.settle(entry, question);

/** A result that cannot be carried fails the step for good: running the body again would not change it. */
const settleResult = (
  call: StepCall,
  scope: AttemptScope,
  { output, attempts, startedAt }: { output: unknown; attempts: number; startedAt: number },
): Promise<void> | undefined => {
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
  const uncarried = (error: unknown): Promise<void> | undefined => {
    if (!PayloadError.is(error)) throw error;
    const message = `Step ${JSON.stringify(name)} (key ${key} of run ${scope.walk.runId}) returned what cannot be recorded: ${error.message}`;
    return settle(call, scope, failedEntry(call, scope, message, attempts, startedAt));
  };
  try {
    return settle(call, scope, entry)?.catch(uncarried);
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

const refuseAbandoned = async (call: StepCall, others: number, scope: AttemptScope): Promise<never> => {
  const { walk } = scope;
  const { key, name, maxAttempts } = call;
  await journalOf(call, scope).releaseAttempt(key, walk.holder);
  return walk.refuse(
    new Refusal(
      "abandoned-step",
      abandonedStepMessage({ runId: walk.runId, name, key, others, maxAttempts }),
    ),
  );
};
