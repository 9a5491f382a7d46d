/**
 * What a thread's event changes in the run index. Only the facts that move a thread's status are looked at: a step writes nothing there.
 *
 * Invariants: I1 to I4 of run-index-fold. A thread's status follows its stream: after any of them it may be `running` again. The
 * workflow under which it is listed is the one that it began with.
 */
import type { ThreadEvent } from "../events/catalogue.ts";
import type { ListedStatus } from "./run-state.ts";

type IndexedThreadEvent = Exclude<
  ThreadEvent,
  { readonly type: "ThreadStepSettled" | "ThreadQuestionAsked" | "ThreadAnswered" }
>;

export const INDEXED_THREAD_TYPES: readonly IndexedThreadEvent["type"][] = [
  "ThreadStarted",
  "ThreadContinued",
  "ThreadPaused",
  "ThreadInterrupted",
  "ThreadFailed",
  "ThreadCompleted",
  "ThreadCheckpointPut",
];

/** The fields of a row that a thread's events touch. */
interface ThreadRow {
  workflow: string;
  status: ListedStatus;
  createdAt: number;
  endedAt: number | undefined;
  tenant: string | undefined;
  readonly revision: number;
  problem: string | undefined;
}

/** Folds one event into `row`, which it edits. `first`: nothing is known of the thread yet. */
export const foldThreadIntoIndex = (row: ThreadRow, event: ThreadEvent, first: boolean): void => {
  if (first && event.type !== "ThreadStarted" && event.type !== "ThreadCheckpointPut")
    row.problem ??= `the first event of interest, at revision ${row.revision}, is ${event.type} and not ThreadStarted`;
  switch (event.type) {
    case "ThreadStarted":
    case "ThreadContinued":
      takeUp(row, event.data, first);
      return move(row, "running");
    case "ThreadPaused":
      return move(row, "awaiting_input");
    case "ThreadInterrupted":
      return move(row, "interrupted");
    case "ThreadFailed":
      return move(row, "failed", event.data.at);
    case "ThreadCompleted":
      return move(row, "completed", event.data.at);
    case "ThreadCheckpointPut": {
      const { status, at } = event.data;
      takeUp(row, event.data, first);
      return move(row, status, status === "completed" || status === "failed" ? at : undefined);
    }
    case "ThreadStepSettled":
    case "ThreadQuestionAsked":
    case "ThreadAnswered":
      return;
    default:
      return event satisfies never;
  }
};

const takeUp = (
  row: ThreadRow,
  { workflow, tenant, at }: { workflow: string; tenant?: string; at: number },
  first: boolean,
): void => {
  if (!first) return;
  row.workflow = workflow;
  row.createdAt = at;
  row.tenant = tenant;
};

const move = (row: ThreadRow, status: ListedStatus, endedAt?: number): void => {
  row.status = status;
  row.endedAt = endedAt;
};
