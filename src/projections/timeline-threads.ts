/**
 * A thread's part of the timeline: a row for each step that was recorded and for each question, since the thread began or began anew.
 *
 * Invariants: T1 to T3 of timeline. A thread may go on after any status: law L4 holds for its steps, not for its end.
 */
import type { ThreadCheckpointPut, ThreadEvent, ThreadStatus } from "../events/catalogue.ts";
import type { Payload } from "../events/payload.ts";
import { addRow, type QuestionRow, type Rows, type Timeline } from "./timeline-rows.ts";

export const foldThreadEvent = (timeline: Timeline, rows: Rows, event: ThreadEvent): void => {
  timeline.thread = true;
  const { at } = event.data;
  switch (event.type) {
    case "ThreadStarted":
      clear(timeline, rows);
      return takeUp(timeline, event.data);
    case "ThreadContinued":
      return takeUp(timeline, event.data);
    case "ThreadStepSettled": {
      const { key, recovered } = event.data;
      return settled(timeline, rows, key, at, recovered);
    }
    case "ThreadQuestionAsked":
      return asked(timeline, rows, event.data.id, textOf(fieldOf(event.data.question, "reason")), at);
    case "ThreadAnswered": {
      const row = rows.get(questionName(event.data.id));
      if (row?.kind !== "question" || row.status !== "open") return;
      row.status = "answered";
      row.endedAt = at;
      row.waitedMs = at - row.askedAt;
      return;
    }
    case "ThreadPaused":
      return stop(timeline, "awaiting_input");
    case "ThreadInterrupted": {
      const { drained } = event.data;
      const why = drained?.reason === undefined ? "drained" : `drained: ${drained.reason}`;
      return stop(timeline, "interrupted", drained === undefined ? undefined : why);
    }
    case "ThreadFailed":
      return end(timeline, "failed", at, event.data.error.message);
    case "ThreadCompleted":
      return end(timeline, "completed", at);
    case "ThreadCheckpointPut":
      return put(timeline, rows, event.data);
    default:
      return event satisfies never;
  }
};

const clear = (timeline: Timeline, rows: Rows): void => {
  rows.clear();
  timeline.rows.length = 0;
};

const takeUp = (timeline: Timeline, { workflow, at }: { workflow: string; at: number }): void => {
  timeline.workflow = workflow;
  timeline.createdAt ??= at;
  timeline.startedAt ??= at;
  stop(timeline, "running");
};

const stop = (timeline: Timeline, status: ThreadStatus, reason?: string): void => {
  timeline.status = status;
  delete timeline.endedAt;
  delete timeline.reason;
  if (reason !== undefined) timeline.reason = reason;
};

const end = (timeline: Timeline, status: "completed" | "failed", at: number, reason?: string): void => {
  stop(timeline, status, reason);
  timeline.endedAt = at;
};

/** The mark of a second or later call of a name; a `#` of the name's own has a `\` before it there. */
const OCCURRENCE = /(?<=(?:^|[^\\])(?:\\\\)*)#\d+$/;

/** A step's name, out of its key (threads/step-keys says how keys are made): without the occurrence, and without escapes. */
const stepName = (key: string): string => key.replace(OCCURRENCE, "").replaceAll(/\\([\\#])/g, "$1");

const settled = (
  timeline: Timeline,
  rows: Rows,
  key: string,
  at: number,
  recovered?: { readonly error: { readonly message: string }; readonly attempts: number },
): void =>
  addRow(timeline, rows, key, {
    kind: "step",
    key,
    name: stepName(key),
    status: "ok",
    claims: [],
    begun: 0,
    retries: [],
    finishedAt: at,
    ...(recovered !== undefined && { recovered: recovered.error.message, attempts: recovered.attempts }),
  });

/** A question that is asked again, with no answer yet, is still the same one. */
const asked = (timeline: Timeline, rows: Rows, id: string, reason: string, at: number): void => {
  const known = rows.get(questionName(id));
  const fresh: QuestionRow = { kind: "question", key: id, reason, askedAt: at, status: "open" };
  if (known === undefined) return addRow(timeline, rows, questionName(id), fresh);
  if (known.kind !== "question" || known.status === "open") return;
  timeline.rows[timeline.rows.indexOf(known)] = fresh;
  rows.set(questionName(id), fresh);
};

/** Questions are found under a name that no step has. */
const questionName = (id: string): string => `question\0${id}`;

/** Of a checkpoint made elsewhere: what its plain JSON says of steps and questions. */
const put = (timeline: Timeline, rows: Rows, data: ThreadCheckpointPut["data"]): void => {
  const { value, status, at } = data;
  clear(timeline, rows);
  takeUp(timeline, data);
  const state = fieldOf(value, "state");
  for (const key of Object.keys(recordOf(recordOf(state).steps))) settled(timeline, rows, key, at);
  const questions = fieldOf(value, "interrupts");
  for (const question of Array.isArray(questions) ? questions : []) {
    const { id, reason } = recordOf(question);
    if (typeof id === "string") asked(timeline, rows, id, textOf(reason), at);
  }
  if (status === "completed" || status === "failed")
    end(
      timeline,
      status,
      at,
      status === "failed" ? textOf(recordOf(fieldOf(value, "error")).message) : undefined,
    );
  else stop(timeline, status);
};

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

const fieldOf = ({ json }: Payload, field: string): unknown => recordOf(json)[field];

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
