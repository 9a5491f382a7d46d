/**
 * A run's timeline: one row for each step, sleep, hook and determinism read, from the first event about it to how it ended; a thread's
 * (timeline-threads) has steps and questions.
 *
 * A pure fold of decoded history, as JSON: for the CLI, a UI, an audit. Payloads are not in it, and nothing is decided on it.
 *
 * Invariants:
 * - T1 Rows stand in the order in which the run came upon them, which is the order of the stream.
 * - T2 The first verdict on a row stands (law L4); what contradicts it changes nothing.
 * - T3 Folding a prefix and then the rest gives what folding all gives: a timeline can be carried on live.
 */
import { isSdkEvent, isThreadEvent, type RunEvent } from "../events/catalogue.ts";
import type { HistoryEntry } from "./history.ts";
import { deadlineKey } from "./hook-keys.ts";
import { isTerminal, type RunStatus } from "./run-state.ts";
import { addRow, type ReadRow, type Rows, type StepRow, type Timeline } from "./timeline-rows.ts";
import { foldSdkEvent } from "./timeline-sdk.ts";
import { foldThreadEvent } from "./timeline-threads.ts";

export type { Timeline, TimelineRow } from "./timeline-rows.ts";

/** The timeline of a history, or of a prefix of it. */
export const timelineOf = (history: Iterable<HistoryEntry>): Timeline => {
  const builder = timelineBuilder();
  for (const entry of history) builder.add(entry);
  return builder.timeline;
};

/** A timeline that grows as events arrive. `timeline` is one object, which `add` edits. */
export const timelineBuilder = (): { readonly timeline: Timeline; add(entry: HistoryEntry): void } => {
  const timeline: Timeline = { revision: -1, workflow: "", status: "pending", rows: [] };
  const byKey: Rows = new Map();
  return {
    timeline,
    add: ({ event, revision }) => {
      if (revision <= timeline.revision) return;
      timeline.revision = revision;
      if (isSdkEvent(event)) foldSdkEvent(timeline, byKey, event);
      else if (isThreadEvent(event)) foldThreadEvent(timeline, byKey, event);
      else fold(timeline, byKey, event);
    },
  };
};

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
        addRow(timeline, rows, key, {
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
      addRow(timeline, rows, deadlineName(deadlineKey(key)), {
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

const end = (timeline: Timeline, status: RunStatus, at: number, reason: string | undefined): void => {
  if (isTerminal(timeline.status)) return;
  timeline.status = status;
  timeline.endedAt = at;
  if (reason !== undefined) timeline.reason = reason;
};

/** A step's name, which is its key without the occurrence: names may hold `#`, so the last one counts. */
const stepName = (key: string): string => {
  const mark = key.lastIndexOf("#");
  return mark === -1 ? key : key.slice(0, mark);
};

const stepAt = (timeline: Timeline, rows: Rows, key: string): StepRow | undefined => {
  addRow(timeline, rows, key, {
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
    return addRow(timeline, rows, key, { kind: read as ReadRow["kind"], key, at: finishedAt });
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
