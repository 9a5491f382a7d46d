/**
 * What an event of a run of the Workflow SDK changes in the run's row of the index: its name, its beginning, and how it stands.
 *
 * Not here: hooks, and what a run is owed a message for (run-index-sdk).
 *
 * Invariants: I1 to I4 of run-index-fold.
 */
import type { JsonObject } from "../events/json.ts";
import type { SdkQueueEvent } from "../events/sdk-queue.ts";
import { type SdkEvent, type SdkEventType, sdkNameOf } from "../events/sdk-runs.ts";
import { isTerminal, type ListedStatus } from "./run-state.ts";

/** Messages stand in a stream beside the run's, and change nothing in its row. */
export const INDEXED_SDK_TYPES: readonly (SdkEventType | SdkQueueEvent["type"])[] = [
  "SdkRunCreated",
  "SdkRunStarted",
  "SdkRunCompleted",
  "SdkRunFailed",
  "SdkRunCancelled",
  "SdkHookCreated",
  "SdkHookReceived",
  "SdkHookDisposed",
  "SdkMessageQueued",
];

/** The fields of a row that these events touch. */
interface SdkRow {
  workflow: string;
  status: ListedStatus;
  createdAt: number;
  endedAt: number | undefined;
  readonly revision: number;
  problem: string | undefined;
}

/** Folds one event into `row`, which it edits. `first`: nothing is known of the run yet. */
export const foldSdkIntoIndex = (row: SdkRow, event: SdkEvent, first: boolean): void => {
  const { createdAt: at, eventData } = event.data;
  const name = sdkNameOf(event.type);
  if (first && name !== "run_created")
    row.problem ??= `the first event of interest, at revision ${row.revision}, is ${event.type} and not SdkRunCreated`;
  switch (name) {
    case "run_created":
      if (!first) return;
      row.workflow = nameIn(eventData?.json) ?? "";
      row.createdAt = at;
      return;
    case "run_started":
      if (row.status === "pending") row.status = "running";
      return;
    case "run_completed":
      return end(row, "completed", at);
    case "run_failed":
      return end(row, "failed", at);
    case "run_cancelled":
      return end(row, "cancelled", at);
    default:
      return;
  }
};

/** A creation that cannot be decoded still says, in plain JSON, what an operator looks for. */
export const guessSdkCreation = (
  row: Pick<SdkRow, "workflow" | "createdAt">,
  { eventData, createdAt }: JsonObject,
): void => {
  row.workflow = nameIn(eventData) ?? row.workflow;
  if (typeof createdAt === "number" && Number.isFinite(createdAt)) row.createdAt = createdAt;
};

const nameIn = (eventData: unknown): string | undefined => {
  const name = (eventData as { readonly workflowName?: unknown } | null | undefined)?.workflowName;
  return typeof name === "string" ? name : undefined;
};

const end = (row: SdkRow, status: ListedStatus, at: number): void => {
  if (isTerminal(row.status)) return;
  row.status = status;
  row.endedAt = at;
};
