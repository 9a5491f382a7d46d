/**
 * JournalStore: what the engine needs of a durable store, one run seen as steps, sleeps and hooks.
 *
 * A store's methods are own properties usable without `this`; instants come from the process's clock at the call; what it answers
 * are copies. Our implementation over any EventLog is `createJournal`; anybody's own works as well, and `journalStoreConformance`
 * (`runstream/testing`) says whether it does.
 */
import type { RunStatus, Settlement } from "../projections/run-state.ts";

export type { RunStatus, Settlement };

/** One run as stored. `createdAt` in epoch milliseconds; `output` only once completed, `error` only once failed. */
export type RunRecord = {
  runId: string;
  /** The key under which the workflow is declared. */
  workflow: string;
  status: RunStatus;
  createdAt: number;
  input: unknown;
  output?: unknown;
  error?: { message: string };
  /** Version of the code the run was started with: a diagnostic, never a gate. */
  codeVersion?: string;
};

/** A step that reached a verdict. A step in flight has no entry. Instants in epoch milliseconds. */
export type StepEntry = {
  /** `<name>#<occurrence>`, or `now!<n>`, `random!<n>`, `uuid!<n>` for a determinism read. */
  key: string;
  name: string;
  status: "ok" | "failed";
  output?: unknown;
  error?: { message: string };
  /** Tries of the walk that settled it, the settling one included; 0 for a determinism read. */
  attempts: number;
  /** When the walk reached the step, after it got its place in the step gate; absent in records that never had it. */
  startedAt?: number;
  finishedAt: number;
};

/** A durable wait: a sleep, or the deadline of a hook. `wakeAt` is decided once, at the first reach. */
export type SleepRecord = {
  wakeAt: number;
  woken: boolean;
  correlationId?: string;
  kind: "sleep" | "hookTimeout";
};

export type SleepEntry = SleepRecord & { key: string };

/** A wait addressed from outside by its token. `payload` means something only when `delivered`. */
export type HookRecord = {
  token: string;
  delivered: boolean;
  /** The window closed unanswered: no signal is taken any more. */
  closed?: boolean;
  payload?: unknown;
};

/** A run that is owed a delivery: at `wakeAt` (epoch milliseconds), or now where that is absent or past. */
export type ResumableRun = { runId: string; wakeAt?: number };

export type JournalStore = {
  /** Inserts the run; rejects when the id exists. */
  createRun(record: RunRecord): Promise<void>;
  getRun(runId: string): Promise<RunRecord | undefined>;
  /** The runs of one workflow, newest first (the id breaks ties), at most `limit`. */
  listRuns(workflow: string, limit: number): Promise<RunRecord[]>;
  /** Moves the status if it is one of `expect` (atomically); answers whether it moved. The patch only ever adds. */
  setStatus(
    runId: string,
    next: RunStatus,
    patch?: { output?: unknown; error?: { message: string } },
    expect?: readonly RunStatus[],
  ): Promise<boolean>;
  /** All entries, ordered by `finishedAt`, then key. */
  readSteps(runId: string): Promise<StepEntry[]>;
  readStep(runId: string, key: string): Promise<StepEntry | undefined>;
  /** Charges one attempt to `holder`; answers how many holders have a charge younger than `leaseMs`, this one included. */
  claimAttempt(runId: string, key: string, holder: string, leaseMs: number): Promise<number>;
  /** Gives back exactly this holder's charge; nothing where there is none. */
  releaseAttempt(runId: string, key: string, holder: string): Promise<void>;
  /** Records a wait; the first record of a key stands, and is what every call answers. */
  claimSleep(
    runId: string,
    key: string,
    wakeAt: number,
    correlationId: string | undefined,
    kind?: "sleep" | "hookTimeout",
  ): Promise<SleepRecord>;
  /** Cuts outstanding waits short; answers how many. Without ids: sleeps only. With ids: waits that declared one of them. */
  wakeSleeps(runId: string, correlationIds: readonly string[] | undefined): Promise<number>;
  /** All waits of both kinds, ordered by key. */
  readSleeps(runId: string): Promise<SleepEntry[]>;
  /** Opens a hook, or answers the one at this key. Rejects with `JournalConflictError` when another live wait holds the token. */
  claimHook(runId: string, key: string, token: string): Promise<HookRecord>;
  /** Refuses further signals; `false` only when the hook was answered already. */
  closeHook(runId: string, key: string): Promise<boolean>;
  /** Answers the open hook that holds `token`, and says which run it is; `undefined` when nobody waits. */
  deliverHook(token: string, payload: unknown): Promise<string | undefined>;
  /** Records a settled step; the first entry of a key stands, and is what every call answers. */
  appendStep(runId: string, entry: StepEntry): Promise<StepEntry>;
  /** Runs owed a delivery, soonest first, at most `limit`. A store that cannot say leaves it out. */
  resumableRuns?: (limit: number) => Promise<ResumableRun[]>;
  /**
   * Runstream's one addition (law L1). Records as over the waits whose deadline has passed, and answers everything that has
   * settled (steps, sleeps, hooks) in the order in which it did. A store without it gets the plain behaviour: recorded results
   * are answered as they are asked for.
   */
  settlements?: (runId: string) => Promise<readonly Settlement[]>;
};
