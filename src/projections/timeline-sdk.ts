/**
 * The part of a run of the Workflow SDK in the timeline: a row for each step, wait and hook.
 *
 * Invariants: T1 to T3 of timeline. A hook of the SDK may receive any number of times: its row is over when it is disposed.
 */
import { type SdkBytes, type SdkEvent, sdkNameOf } from "../events/sdk-runs.ts";
import { addRow, type Rows, type StepRow, type Timeline } from "./timeline-rows.ts";

export const foldSdkEvent = (timeline: Timeline, rows: Rows, event: SdkEvent): void => {
  const { createdAt: at, correlationId: key = "", eventData, bytes } = event.data;
  const fields = (eventData?.json ?? {}) as Readonly<Record<string, unknown>>;
  const row = rows.get(key);
  timeline.sdk = true;
  switch (sdkNameOf(event.type)) {
    case "run_created":
      timeline.workflow = String(fields.workflowName);
      timeline.createdAt ??= at;
      return;
    case "run_started":
      if (timeline.status !== "pending") return;
      timeline.status = "running";
      timeline.startedAt = at;
      return;
    case "run_completed":
      return end(timeline, "completed", at, undefined);
    case "run_failed":
      return end(timeline, "failed", at, fields.errorCode);
    case "run_cancelled":
      return end(timeline, "cancelled", at, fields.cancelReason);
    case "step_created":
      return addRow(timeline, rows, key, newStep(key, String(fields.stepName)));
    case "step_started":
      if (row?.kind !== "step" || row.status !== "running") return;
      row.claims.push({ holder: String(fields.ownerMessageId ?? ""), at });
      row.begun++;
      return;
    case "step_retrying":
      if (row?.kind === "step")
        row.retries.push({
          attempt: row.begun,
          maxAttempts: Number.POSITIVE_INFINITY,
          message: textOf(bytes),
          delayMs:
            fields.retryAfter === undefined ? 0 : Math.max(0, Date.parse(String(fields.retryAfter)) - at),
          at,
        });
      return;
    case "step_completed":
      return settle(row?.kind === "step" ? row : undefined, "ok", at);
    case "step_failed":
      settle(row?.kind === "step" ? row : undefined, "failed", at);
      if (row?.kind === "step" && textOf(bytes) !== "") row.error ??= textOf(bytes);
      return;
    case "wait_created":
      return addRow(timeline, rows, key, {
        kind: "sleep",
        key,
        scheduledAt: at,
        wakeAt: Date.parse(String(fields.resumeAt)),
        status: "waiting",
      });
    case "wait_completed":
      if (row?.kind !== "sleep" || row.status !== "waiting") return;
      row.status = "elapsed";
      row.endedAt = at;
      return;
    case "hook_created":
      return addRow(timeline, rows, key, {
        kind: "hook",
        key,
        token: String(fields.token),
        openedAt: at,
        status: "open",
      });
    case "hook_disposed":
      if (row?.kind !== "hook" || row.status !== "open") return;
      row.status = "closed";
      row.endedAt = at;
      row.waitedMs = at - row.openedAt;
      return;
    default:
      return;
  }
};

/** An error as the SDK wrote it; nothing of one that is compressed or encrypted. */
const textOf = (bytes: SdkBytes | undefined): string =>
  bytes !== undefined && "text" in bytes ? bytes.text : "";

const newStep = (key: string, name: string): StepRow => ({
  kind: "step",
  key,
  name,
  status: "running",
  claims: [],
  begun: 0,
  retries: [],
});

const settle = (step: StepRow | undefined, status: "ok" | "failed", at: number): void => {
  if (step === undefined || step.status !== "running") return;
  const startedAt = step.claims[0]?.at ?? at;
  Object.assign(step, {
    status,
    startedAt,
    finishedAt: at,
    durationMs: at - startedAt,
    attempts: step.begun,
  });
};

const end = (
  timeline: Timeline,
  status: "completed" | "failed" | "cancelled",
  at: number,
  reason: unknown,
): void => {
  if (timeline.endedAt !== undefined) return;
  timeline.status = status;
  timeline.endedAt = at;
  if (typeof reason === "string") timeline.reason = reason;
};
