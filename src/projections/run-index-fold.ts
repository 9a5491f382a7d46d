/**
 * The run index's fold: what one event changes in one run's row, and in the waits and hooks that are open.
 *
 * Not here: SQL, the log, and anything a decision is taken on (that is run-state).
 *
 * Invariants:
 * - I1 Each event is folded once: the writer leaves out those at or below the row's revision, as deliveries may repeat.
 * - I2 Only open waits and hooks are kept; a run that is over, or cannot be read, has none, and neither has a thread or a run of the
 *   Workflow SDK (whose hooks are in run-index-sdk).
 * - I3 A key is recorded once by the write side, so an ended wait leaves nothing behind.
 * - I4 An event that cannot be decoded marks its run, with the reason, and nothing else. The run's status is still followed.
 */
import {
  type HistoryEvent,
  isSdkEvent,
  isThreadEvent,
  type RunCreated,
  type RunEvent,
} from "../events/catalogue.ts";
import type { Position, RecordedEvent } from "../events/event-log.ts";
import { deadlineKey } from "./hook-keys.ts";
import { foldSdkIntoIndex, guessSdkCreation, INDEXED_SDK_TYPES } from "./run-index-sdk-fold.ts";
import { foldThreadIntoIndex, INDEXED_THREAD_TYPES } from "./run-index-threads.ts";
import { isTerminal, type ListedStatus, type RunKind, type RunStatus } from "./run-state.ts";

/** The event types that the index is made of. */
export const INDEXED_TYPES: readonly string[] = [
  "RunCreated",
  "RunStarted",
  "RunCompleted",
  "RunFailed",
  "RunCancelled",
  "SleepScheduled",
  "SleepElapsed",
  "SleepWoken",
  "HookOpened",
  "HookDelivered",
  "HookClosed",
  ...INDEXED_THREAD_TYPES,
  ...INDEXED_SDK_TYPES,
];

export interface WaitRow {
  readonly kind: "sleep" | "hookTimeout";
  readonly wakeAt: number;
  readonly correlationId: string | undefined;
  /** The deadline of a hook that was answered or closed: outstanding on record, but nobody waits for it. */
  moot: boolean;
}

export interface HookRow {
  readonly token: string;
  readonly openedAt: number;
}

/** One run while a batch of events is folded: its row, and what the batch does to its open waits and hooks. */
export interface RunChange {
  /** The row's number in the index; absent while the run is not in it. */
  readonly id: number | undefined;
  /** By the first event's type. The engine's workers are owed something of runs only. */
  readonly kind: RunKind;
  workflow: string;
  status: ListedStatus;
  createdAt: number;
  endedAt: number | undefined;
  key: string | undefined;
  tenant: string | undefined;
  codeVersion: string | undefined;
  /** Last indexed revision; -1 before the first. */
  revision: number;
  position: Position;
  problem: string | undefined;
  /** By key: opened in this batch, or (`undefined`) ended in it. */
  readonly waits: Map<string, WaitRow | undefined>;
  readonly hooks: Map<string, HookRow | undefined>;
  /** Deadlines opened by earlier batches whose hook was answered in this one. */
  readonly mooted: Set<string>;
}

const kindOf = (event: RecordedEvent): RunKind => {
  if (isThreadEvent(event)) return "thread";
  return isSdkEvent(event) ? "sdk" : "run";
};

/** A run of which nothing is known yet. */
export const newRunChange = (first: RecordedEvent): RunChange => ({
  id: undefined,
  kind: kindOf(first),
  workflow: "",
  status: "pending",
  createdAt: first.recordedAt,
  endedAt: undefined,
  key: undefined,
  tenant: undefined,
  codeVersion: undefined,
  revision: -1,
  position: first.position,
  problem: undefined,
  waits: new Map(),
  hooks: new Map(),
  mooted: new Set(),
});

/** Has the run no open waits and hooks by rule I2? */
export const keepsNoWaits = (run: RunChange): boolean =>
  run.kind !== "run" || isTerminal(run.status) || run.problem !== undefined;

/** Folds one event into `run`, which it edits. `decoded` is the event, or why it could not be read. */
export const foldIntoIndex = (
  run: RunChange,
  recorded: RecordedEvent,
  decoded: HistoryEvent | { readonly unreadable: string },
): void => {
  const first = run.revision === -1;
  run.revision = recorded.revision;
  run.position = recorded.position;
  if ("unreadable" in decoded) {
    if (first) guessCreation(run, recorded);
    run.problem ??= decoded.unreadable;
  } else if (isThreadEvent(decoded)) {
    foldThreadIntoIndex(run, decoded, first);
  } else if (isSdkEvent(decoded)) {
    foldSdkIntoIndex(run, decoded, first);
  } else {
    if (first && decoded.type !== "RunCreated")
      run.problem ??= `the first event of interest, at revision ${recorded.revision}, is ${decoded.type} and not RunCreated`;
    if (decoded.type !== "RunCreated") apply(run, decoded);
    else if (first) create(run, decoded.data);
  }
  if (keepsNoWaits(run)) {
    run.waits.clear();
    run.hooks.clear();
    run.mooted.clear();
  }
};

const create = (run: RunChange, data: RunCreated["data"]): void => {
  run.workflow = data.workflow;
  run.createdAt = data.createdAt;
  run.key = data.key;
  run.tenant = data.tenant;
  run.codeVersion = data.codeVersion;
};

const apply = (run: RunChange, event: Exclude<RunEvent, RunCreated>): void => {
  switch (event.type) {
    case "RunStarted":
      if (run.status === "pending") run.status = "running";
      return;
    case "RunCompleted":
      return end(run, "completed", event.data.at);
    case "RunFailed":
      return end(run, "failed", event.data.at);
    case "RunCancelled":
      return end(run, "cancelled", event.data.at);
    case "SleepScheduled": {
      const { key, kind, wakeAt, correlationId } = event.data;
      if (!run.waits.has(key)) run.waits.set(key, { kind, wakeAt, correlationId, moot: false });
      return;
    }
    case "SleepElapsed":
    case "SleepWoken":
      run.waits.set(event.data.key, undefined);
      return;
    case "HookOpened":
      if (!run.hooks.has(event.data.key))
        run.hooks.set(event.data.key, { token: event.data.token, openedAt: event.data.at });
      return;
    case "HookDelivered":
    case "HookClosed":
      run.hooks.set(event.data.key, undefined);
      return endDeadline(run, deadlineKey(event.data.key));
    case "AttemptClaimed":
    case "AttemptReleased":
    case "StepRetried":
    case "StepSettled":
      return;
    default:
      return event satisfies never;
  }
};

const end = (run: RunChange, status: RunStatus, at: number): void => {
  if (isTerminal(run.status)) return;
  run.status = status;
  run.endedAt = at;
};

const endDeadline = (run: RunChange, key: string): void => {
  const wait = run.waits.get(key);
  if (wait !== undefined) wait.moot = true;
  else if (!run.waits.has(key)) run.mooted.add(key);
};

/** A creation that cannot be decoded still says, in plain JSON, what an operator looks for. */
const guessCreation = (run: RunChange, { type, data }: RecordedEvent): void => {
  if (type === "SdkRunCreated") guessSdkCreation(run, data);
  if (type !== "RunCreated") return;
  if (typeof data.workflow === "string") run.workflow = data.workflow;
  if (typeof data.createdAt === "number" && Number.isFinite(data.createdAt)) run.createdAt = data.createdAt;
  if (typeof data.key === "string") run.key = data.key;
};
