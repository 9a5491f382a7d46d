/**
 * The journal as one walk uses it: the same questions for every JournalStore, and more of an answer from our own.
 *
 * On anybody's store it is the contract, called plainly. On a journal over an EventLog (lane-journal.ts) a settled step is answered at
 * once and recorded together with the next claim, and the walk is told when the stream has overtaken it.
 */
import { RUNNABLE } from "../../projections/run-state.ts";
import type {
  HookRecord,
  JournalStore,
  RunRecord,
  RunStatus,
  Settlement,
  SleepEntry,
  StepEntry,
} from "../journal-store.ts";

/** What a walk starts from. `record` is `undefined` for an unknown run. */
export interface Opening {
  readonly record: RunRecord | undefined;
  readonly steps: readonly StepEntry[];
  readonly sleeps: readonly SleepEntry[];
  /** Did the run move to (or stay) running? */
  readonly moved: boolean;
}

/** A settled step on its way into the journal. */
export interface Settling {
  /** What the body may be told already; absent where only the journal's own answer counts. */
  readonly early?: StepEntry;
  /** The entry that stands. Rejects when it could not be recorded, or as superseded when another one stands. */
  readonly recorded: Promise<StepEntry>;
}

/** A durable wait as the walk finds it: `over` when it need not be waited for. */
export interface ReachedWait {
  readonly wakeAt: number;
  readonly over: boolean;
}

export interface RetryNote {
  readonly key: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly message: string;
  readonly delayMs: number;
}

/** What a step's attempt asks of the journal before and beside its settling. */
export interface StepJournal {
  readStep(key: string): Promise<StepEntry | undefined>;
  claimAttempt(key: string, holder: string, leaseMs: number): Promise<number>;
  releaseAttempt(key: string, holder: string): Promise<void>;
}

/** For a step inside a step: the contract, called plainly, whatever has become of the walk. */
export interface InsideJournal extends StepJournal {
  settle(entry: StepEntry): Promise<StepEntry>;
}

export interface WalkJournal extends StepJournal {
  readonly inside: InsideJournal;
  /**
   * `reaching`: the revision of the fact that asked for the walk. To start from there is enough: what is recorded behind it asks for a
   * walk of its own, or is met by the first thing that this one records. Without it the walk starts from all that is recorded.
   */
  open(reaching?: number): Promise<Opening>;
  /** The body is going to run: moves the run to running where `open` has not done so. */
  begin(): void;
  /** All that has settled, in the order of the stream, with what is due recorded as over; `undefined`: unknown order. */
  settlements(): Promise<readonly Settlement[] | undefined>;
  /** Throws `PayloadError` for an output that cannot be carried. */
  settle(entry: StepEntry): Settling;
  /** Answers when the store has every step that the body was told of; `undefined` when it has them now. */
  unrecorded(): Promise<unknown> | undefined;
  /** Was the step claimed before, even if with a charge that is dead by now? Where that cannot be told, `false`. */
  wasClaimed(key: string): boolean;
  reachSleep(
    key: string,
    wakeAt: number,
    correlationId: string | undefined,
    kind: "sleep" | "hookTimeout",
    /** Called just before what may end the wait is proposed: the moment its result gets its place in the order. */
    proposing: () => void,
  ): Promise<ReachedWait>;
  claimHook(key: string, token: string): Promise<HookRecord>;
  closeHook(key: string): Promise<boolean>;
  noteRetry(note: RetryNote): void;
  /** Ends the run if it is running still; answers whether this call did. */
  finish(status: RunStatus, patch: { output?: unknown; error?: { message: string } }): Promise<boolean>;
  /** Answers when everything the walk recorded is in the store. */
  drain(): Promise<unknown>;
  /** The body waits for this / has its answer: what the staleness of the walk is judged by. */
  asked(what: Settlement): void;
  answered(what: Settlement): void;
  /** The body is parked on this: `resume` is called, once, when somebody else ends it. Never where that cannot be told. */
  parked(what: Settlement, resume: () => void): void;
  unparked(what: Settlement): void;
  /** `listener` is called, once, when the stream overtakes this walk, or at once if it has. Never where that cannot be told. */
  whenStale(listener: () => void): void;
  close(): void;
}

/** The steps of the contract, called plainly. */
export const plainSteps = (store: JournalStore, runId: string): InsideJournal => ({
  readStep: (key) => store.readStep(runId, key),
  claimAttempt: claimsInOrder(store, runId),
  releaseAttempt: (key, holder) => store.releaseAttempt(runId, key, holder),
  settle: (entry) => store.appendStep(runId, entry),
});

/** The contract, called plainly. */
export const plainWalkJournal = (
  store: JournalStore,
  runId: string,
  clock: () => number,
  inside = plainSteps(store, runId),
): WalkJournal => {
  const { readStep, claimAttempt, releaseAttempt } = inside;
  return {
    readStep,
    claimAttempt,
    releaseAttempt,
    inside,
    async open() {
      const [record, steps, sleeps, moved] = await Promise.all([
        store.getRun(runId),
        store.readSteps(runId),
        store.readSleeps(runId),
        store.setStatus(runId, "running", undefined, RUNNABLE),
      ]);
      return { record, steps, sleeps, moved };
    },
    begin: () => {},
    settlements: async () => store.settlements?.(runId),
    settle: (entry) => ({ recorded: store.appendStep(runId, entry) }),
    unrecorded: () => undefined,
    wasClaimed: () => false,
    async reachSleep(key, wakeAt, correlationId, kind, proposing) {
      const record = await store.claimSleep(runId, key, wakeAt, correlationId, kind);
      const over = record.woken || record.wakeAt <= clock();
      if (over) proposing();
      if (over && !record.woken) await store.settlements?.(runId);
      return { wakeAt: record.wakeAt, over };
    },
    claimHook: (key, token) => store.claimHook(runId, key, token),
    closeHook: (key) => store.closeHook(runId, key),
    noteRetry: () => {},
    finish: (status, patch) => store.setStatus(runId, status, patch, ["running"]),
    drain: async () => {},
    asked: () => {},
    answered: () => {},
    parked: () => {},
    unparked: () => {},
    whenStale: () => {},
    close: () => {},
  };
};

/**
 * A claim answers only when those asked for before it have: a body must not run and settle while an earlier key of its fan-out has no
 * charge, for the next walk would take that gap for a divergence. If one fails, so do those after it.
 */
const claimsInOrder = (store: JournalStore, runId: string): WalkJournal["claimAttempt"] => {
  let earlier: Promise<unknown> = Promise.resolve();
  return (key, holder, leaseMs) => {
    const mine = store.claimAttempt(runId, key, holder, leaseMs);
    mine.catch(() => {});
    const inOrder = earlier.then(() => mine);
    earlier = inOrder;
    return inOrder;
  };
};
