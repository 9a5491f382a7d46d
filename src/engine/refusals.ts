/**
 * Refusal: the engine's own verdict about a walk, and what it says. It is thrown into the body and remembered on the walk as well, so
 * that a body which catches it still fails. Not for what user code throws (step-errors.ts) nor for store trouble (StoreError).
 *
 * Invariants:
 * - R1 A refusal is fatal: a step loop does not try again.
 * - R2 Every message says what happened, to which run and key, and what to do. The message of a divergence stands beside its
 *   detection, in divergence.ts.
 */
import type { StoreError } from "../events/store-error.ts";
import { codeVerdict } from "./code-version.ts";
import { brandFatal } from "./step-errors.ts";

export type RefusalKind =
  | "divergence"
  | "abandoned-step"
  | "wait-in-step"
  | "hook-mismatch"
  | "schema-mismatch"
  | "journal-bound"
  | "too-large";

const REFUSAL = Symbol.for("runstream.Refusal");

/** The engine declines to go on with a run. `FatalError.is` holds for it as well. */
export class Refusal extends Error {
  override readonly name: string = "Refusal";
  readonly fatal = true;
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.kind = kind;
  }

  /** By brand, not by class identity: two copies of this package may be loaded. */
  static is(value: unknown): value is Refusal {
    return (
      typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[REFUSAL] === true
    );
  }

  static {
    Object.defineProperty(Refusal.prototype, REFUSAL, { value: true });
    brandFatal(Refusal);
  }
}

/** Settled entries of one run, determinism reads included, from which the engine warns. */
export const JOURNAL_WARN_ENTRIES = 8000;
/** Settled entries of one run at which the engine refuses to walk it. */
export const JOURNAL_MAX_ENTRIES = 10_000;

/** What a body may not ask of its context while it is in a step. */
export type ContextMethod = "ctx.sleep" | "ctx.waitFor" | "ctx.now" | "ctx.random" | "ctx.uuid";

const ofRun = (runId: string | undefined): string => (runId === undefined ? "" : ` of run ${runId}`);

const isWait = (method: ContextMethod): boolean => method === "ctx.sleep" || method === "ctx.waitFor";

/** A wait or a determinism read inside a step body. */
export const insideStepMessage = (facts: {
  method: ContextMethod;
  step: string;
  key: string;
  runId?: string | undefined;
}): string => {
  const { method, step, key } = facts;
  const happened = `${method} was called inside ctx.step(${JSON.stringify(step)}) (key ${key}${ofRun(facts.runId)})`;
  if (isWait(method)) {
    return (
      `${happened}: a step body may not wait. A run is put aside only between steps, so this delivery would hang in the step ` +
      `for as long as the wait lasts. Move the wait out of the step: end the step before it, and start another one after it.`
    );
  }
  return (
    `${happened}: a step body may not read a recorded value. What a step returns is recorded as a whole, and a try that is repeated ` +
    `would shift every later read. Call ${method} before the step and use its value in the body, or use the plain source ` +
    `(${PLAIN_SOURCE[method]}) inside the step, where the result of the step keeps it.`
  );
};

const PLAIN_SOURCE: Partial<Record<ContextMethod, string>> = {
  "ctx.now": "Date.now()",
  "ctx.random": "Math.random()",
  "ctx.uuid": "crypto.randomUUID()",
};

/** A step that other walks began and never settled, as often as its budget allows. */
export const abandonedStepMessage = (facts: {
  runId: string;
  name: string;
  key: string;
  /** Unfinished attempts of other walks: the claim's answer less one. */
  others: number;
  maxAttempts: number;
}): string =>
  `Step ${JSON.stringify(facts.name)} (key ${facts.key} of run ${facts.runId}) was not run: it has ${facts.others} unfinished attempt(s) ` +
  `by other walks, and its budget is ${facts.maxAttempts}. Either a worker died in the middle of the step that often: look for ` +
  `what ends the process (memory, a crash, a deadline of the platform). Or more deliveries of this run are walking it at once than ` +
  `the budget allows: deliver it less often, or give the step a larger maxAttempts. Then start the run again.`;

/** A wait whose key holds the record of a wait for another token. */
export const hookMismatchMessage = (facts: {
  runId: string;
  key: string;
  asked: string;
  held: string;
}): string =>
  `ctx.waitFor(${JSON.stringify(facts.asked)}) reached another wait's record: key ${facts.key} of run ${facts.runId} belongs to ` +
  `ctx.waitFor(${JSON.stringify(facts.held)}). A signal for the one would answer the other, so the engine did not wait. Either the ` +
  `code of the body changed while the run was in flight, or the journal store mixes up its records; start the run again, and ` +
  `check the store with journalStoreConformance (runstream/testing) if the code is the same.`;

/** A recorded step result that the step's schema does not take when it is read back. */
export const schemaMismatchMessage = (facts: {
  runId: string;
  name: string;
  key: string;
  /** What `checkSchema` said. */
  issues: string;
  started?: string | undefined;
  walking?: string | undefined;
}): string =>
  `Step ${JSON.stringify(facts.name)} (key ${facts.key} of run ${facts.runId}) SUCCEEDED and its result is recorded, but its schema does ` +
  `not accept the recorded result: ${facts.issues}. The step is not run again, since its effect has happened. ` +
  schemaCodeSentence(facts.started, facts.walking);

const schemaCodeSentence = (started: string | undefined, walking: string | undefined): string => {
  switch (codeVerdict(started, walking)) {
    case "changed":
      return (
        `The run was STARTED against bundle ${started} and is being walked by ${walking}: the schema was changed in between. ` +
        `Let the new schema accept what the old one produced, or start the run again.`
      );
    case "same":
      return (
        `The run was started and is being walked by the same bundle (${started}), so no redeploy changed the schema: it never matched ` +
        `its own output. A schema that transforms has to accept what it produces, because results are checked again when they are read.`
      );
    case "unknown":
      return (
        `Whether the schema was changed since the run started cannot be told, because RUNSTREAM_CODE_VERSION was not set on both ` +
        `sides. Either let the schema accept the older result, or make a schema that transforms accept its own output.`
      );
  }
};

/** A signal's payload that the wait's schema does not take. The hook stays answered. */
export const payloadMismatchMessage = (facts: {
  runId: string;
  token: string;
  key: string;
  issues: string;
}): string =>
  `ctx.waitFor(${JSON.stringify(facts.token)}) (key ${facts.key} of run ${facts.runId}) was answered with a payload that its schema does ` +
  `not accept: ${facts.issues}. The signal has been taken and is not asked for again, so the run fails. Check payloads before they ` +
  `are sent, or accept every payload here and decide in the body.`;

/** A run with too many settled entries to be walked. */
export const journalBoundMessage = (facts: { runId: string; workflow: string; entries: number }): string =>
  `Run ${facts.runId} of workflow ${JSON.stringify(facts.workflow)} has ${facts.entries} settled journal entries, and the most a run may ` +
  `have is ${JOURNAL_MAX_ENTRIES}: the body was not run. Every delivery replays them all. Split the work into smaller runs, for ` +
  `instance by starting a run per batch.`;

/** A body that asks for more than a run may settle. */
export const journalFullMessage = (facts: { runId: string; key: string }): string =>
  `Run ${facts.runId} asked for ${facts.key} with ${JOURNAL_MAX_ENTRIES} steps and reads before it, and that is the most a run may have. ` +
  `Every delivery replays them all. Split the work into smaller runs, for instance by starting a run per batch.`;

/** A step's result, or the run's, that is larger than the store takes. */
export const tooLargeMessage = (runId: string, error: StoreError): string =>
  `Run ${runId} made something larger than the store takes: ${error.message} Keep large values elsewhere, for instance in a file or an ` +
  `object store, and let the step return where they are.`;
