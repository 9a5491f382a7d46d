/**
 * What a timeline consists of: rows of steps, reads, sleeps, hooks and questions, and what is said of the run as a whole.
 *
 * Not here: the folds that make it (timeline, timeline-threads, timeline-sdk).
 */
import type { ListedStatus } from "./run-state.ts";

/** A charge for an attempt; `releasedAt` where it was given back without running the body. Epoch milliseconds. */
export interface TimelineClaim {
  readonly holder: string;
  readonly at: number;
  releasedAt?: number;
}

export interface TimelineRetry {
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly message: string;
  readonly delayMs: number;
  readonly at: number;
}

export interface StepRow {
  readonly kind: "step";
  readonly key: string;
  readonly name: string;
  status: "running" | "ok" | "failed";
  /** Charges in order. Those taken after the verdict ran nothing. */
  readonly claims: TimelineClaim[];
  /** How many charges were taken, and not given back, before the verdict: how often the body may have been begun by a walk. */
  begun: number;
  readonly retries: TimelineRetry[];
  startedAt?: number;
  finishedAt?: number;
  durationMs?: number;
  /** Tries of the walk that settled it. */
  attempts?: number;
  error?: string;
  /** A thread's step that failed for good with this message, and whose result is `onError`'s. */
  recovered?: string;
}

/** A recorded reading of the clock, a random number or a UUID. */
export interface ReadRow {
  readonly kind: "now" | "random" | "uuid";
  readonly key: string;
  readonly at: number;
}

export interface SleepRow {
  readonly kind: "sleep";
  readonly key: string;
  readonly correlationId?: string;
  readonly scheduledAt: number;
  readonly wakeAt: number;
  status: "waiting" | "elapsed" | "woken";
  endedAt?: number;
}

export interface HookRow {
  readonly kind: "hook";
  readonly key: string;
  readonly token: string;
  readonly openedAt: number;
  /** When the window closes; absent where it stays open for good. */
  deadline?: number;
  status: "open" | "delivered" | "closed";
  endedAt?: number;
  /** From opening to answer or close, in milliseconds. */
  waitedMs?: number;
}

/** A question of a thread, from the first time it was asked. */
export interface QuestionRow {
  readonly kind: "question";
  /** The question's id. */
  readonly key: string;
  readonly reason: string;
  readonly askedAt: number;
  status: "open" | "answered";
  endedAt?: number;
  /** From the first asking to the answer, in milliseconds. */
  waitedMs?: number;
}

export type TimelineRow = StepRow | ReadRow | SleepRow | HookRow | QuestionRow;

export interface Timeline {
  /** Last revision folded; -1 before the first. */
  revision: number;
  workflow: string;
  status: ListedStatus;
  /** Set where this is a thread: it may go on after it has completed or failed, and its rows are those since it began anew. */
  thread?: true;
  /** Set where this is a run of the Workflow SDK: a step's `begun` counts its attempts, and `reason` is the code of its error. */
  sdk?: true;
  createdAt?: number;
  startedAt?: number;
  endedAt?: number;
  /** Why it failed, or was cancelled where a reason was given. */
  reason?: string;
  readonly rows: TimelineRow[];
}

/** Rows by the name they are found under. */
export type Rows = Map<string, TimelineRow>;

/** Adds a row where there is none under that name. */
export const addRow = (timeline: Timeline, rows: Rows, name: string, row: TimelineRow): void => {
  if (rows.has(name)) return;
  rows.set(name, row);
  timeline.rows.push(row);
};
