/**
 * A run's timeline: one row for each step, sleep, hook and determinism read, from the first event about it to how it ended.
 *
 * A pure fold of decoded history, as JSON: for the CLI, a UI, an audit. Payloads are not in it, and nothing is decided on it.
 *
 * Invariants:
 * - T1 Rows stand in the order in which the run came upon them, which is the order of the stream.
 * - T2 The first verdict on a row stands (law L4); what contradicts it changes nothing.
 * - T3 Folding a prefix and then the rest gives what folding all gives: a timeline can be carried on live.
 */
import type { RunEvent } from "../events/catalogue.ts";
import type { HistoryEntry } from "./history.ts";
import { deadlineKey } from "./hook-keys.ts";
import { isTerminal, type RunStatus } from "./run-state.ts";

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

export type TimelineRow = StepRow | ReadRow | SleepRow | HookRow;

export interface Timeline {
  /** Last revision folded; -1 before the first. */
  revision: number;
  workflow: string;
  status: RunStatus;
  createdAt?: number;
  startedAt?: number;
  endedAt?: number;
  /** Why it failed, or was cancelled where a reason was given. */
  reason?: string;
  readonly rows: TimelineRow[];
}

/** The timeline of a history, or of a prefix of it. */
export const timelineOf = (history: Iterable<HistoryEntry>): Timeline => {
  const builder = timelineBuilder();
  for (const entry of history) builder.add(entry);
  return builder.timeline;
};

/** A timeline that grows as events arrive. `timeline` is one object, which `add` edits. */
export const timelineBuilder = (): { readonly timeline: Timeline; add(entry: HistoryEntry): void } => {
  const timeline: Timeline = { revision: -1, workflow: "", status: "pending", rows: [] };
  const byKey = new Map<string, TimelineRow>();
  return {
    timeline,
    add: ({ event, revision }) => {
      if (revision <= timeline.revision) return;
      timeline.revision = revision;
      fold(timeline, byKey, event);
    },
  };
};

type Rows = Map<string, TimelineRow>;

const fold = (timeline: Timeline, rows: Rows, event: RunEvent): void => {
  switch (event.type) {
    case "RunCreated":
      if (timeline.createdAt !== undefined) return;
      timeline.workflow = event.data.workflow;
      timeline.createdAt = event.data.createdAt;
      return;
    case "RunStarted":
      if (timeline.status !== "pending") return;
      timeline.status = "running";
      timeline.startedAt = event.data.at;
      return;
    case "RunCompleted":
      return end(timeline, "completed", event.data.at, undefined);
    case "RunFailed":
      return end(timeline, "failed", event.data.at, event.data.error.message);
    case "RunCancelled":
      return end(timeline, "cancelled", event.data.at, event.data.reason);
    case "AttemptClaimed": {
      const { key, holder, at } = event.data;
      const step = stepAt(timeline, rows, key);
      step?.claims.push({ holder, at });
      if (step?.status === "running") step.begun++;
      return;
    }
    case "AttemptReleased": {
      const { key, holder, at } = event.data;
      const step = stepAt(timeline, rows, key);
      const claim = step?.claims.findLast((one) => one.holder === holder && one.releasedAt === undefined);
      if (step === undefined || claim === undefined) return;
      claim.releasedAt = at;
      if (step.status === "running") step.begun--;
      return;
    }
    case "StepRetried": {
      const { key, error, ...retry } = event.data;
      stepAt(timeline, rows, key)?.retries.push({ ...retry, message: error.message });
      return;
    }
    case "StepSettled":
      return settle(timeline, rows, event.data);
    case "SleepScheduled": {
      const { key, wakeAt, kind, correlationId, at } = event.data;
      const hook = kind === "hookTimeout" ? rows.get(deadlineName(key)) : undefined;
      if (hook?.kind === "hook") hook.deadline ??= wakeAt;
      else
        add(timeline, rows, key, {
          kind: "sleep",
          key,
          scheduledAt: at,
          wakeAt,
          status: "waiting",
          ...(correlationId === undefined ? {} : { correlationId }),
        });
      return;
    }
    case "SleepElapsed":
      return endSleep(rows, event.data.key, "elapsed", event.data.at);
    case "SleepWoken":
      return endSleep(rows, event.data.key, "woken", event.data.at);
    case "HookOpened": {
      const { key, token, at } = event.data;
      add(timeline, rows, deadlineName(deadlineKey(key)), {
        kind: "hook",
        key,
        token,
        openedAt: at,
        status: "open",
      });
      return;
    }
    case "HookDelivered":
      return endHook(rows, event.data.key, "delivered", event.data.at);
    case "HookClosed":
      return endHook(rows, event.data.key, "closed", event.data.at);
    default:
      return event satisfies never;
  }
};

/** Hooks are looked up by their deadline's key, under a name that no sleep has. */
const deadlineName = (key: string): string => `hook\0${key}`;

const add = (timeline: Timeline, rows: Rows, name: string, row: TimelineRow): void => {
  if (rows.has(name)) return;
  rows.set(name, row);
  timeline.rows.push(row);
};

const end = (timeline: Timeline, status: RunStatus, at: number, reason: string | undefined): void => {
  if (isTerminal(timeline.status)) return;
  timeline.status = status;
  timeline.endedAt = at;
  if (reason !== undefined) timeline.reason = reason;
};

const stepAt = (timeline: Timeline, rows: Rows, key: string): StepRow | undefined => {
  add(timeline, rows, key, {
    kind: "step",
    key,
    name: stepName(key),
    status: "running",
    claims: [],
    begun: 0,
    retries: [],
  });
  const row = rows.get(key);
  return row?.kind === "step" ? row : undefined;
};

const settle = (
  timeline: Timeline,
  rows: Rows,
  data: Extract<RunEvent, { type: "StepSettled" }>["data"],
): void => {
  const { key, status, error, attempts, startedAt, finishedAt } = data;
  const read = /^(now|random|uuid)!/.exec(key)?.[1];
  if (read !== undefined)
    return add(timeline, rows, key, { kind: read as ReadRow["kind"], key, at: finishedAt });
  const step = stepAt(timeline, rows, key);
  if (step?.status !== "running") return;
  step.status = status;
  step.attempts = attempts;
  step.finishedAt = finishedAt;
  const begun = startedAt ?? step.claims[0]?.at;
  if (begun !== undefined) {
    step.startedAt = begun;
    step.durationMs = finishedAt - begun;
  }
  if (error !== undefined) step.error = error.message;
};

const endSleep = (rows: Rows, key: string, status: "elapsed" | "woken", at: number): void => {
  const row = rows.get(key);
  if (row?.kind !== "sleep" || row.status !== "waiting") return;
  row.status = status;
  row.endedAt = at;
};

const endHook = (rows: Rows, key: string, status: "delivered" | "closed", at: number): void => {
  const row = rows.get(deadlineName(deadlineKey(key)));
  if (row?.kind !== "hook" || row.status !== "open") return;
  row.status = status;
  row.endedAt = at;
  row.waitedMs = at - row.openedAt;
};

/** A step's name, which is its key without the occurrence: names may hold `#`, so the last one counts. */
export const stepName = (key: string): string => {
  const mark = key.lastIndexOf("#");
  return mark === -1 ? key : key.slice(0, mark);
};
