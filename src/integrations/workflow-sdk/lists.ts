/**
 * Lists over all runs: which of them there are says the run index, what they are say their own streams.
 *
 * Not here: lists within one run (storage.ts).
 */
import { isLeft } from "fp-ts/lib/Either.js";
import type { EventLog } from "../../events/event-log.ts";
import { StoreError } from "../../events/store-error.ts";
import { runStream } from "../../events/stream-names.ts";
import type { Hook, WorkflowRun, WorkflowRunStatus } from "../../executor/world-entities.ts";
import type { PaginatedResponse, PaginationOptions } from "../../executor/world-events.ts";
import { InvalidCursorError } from "../../projections/invalid-cursor-error.ts";
import type { RunIndex } from "../../projections/run-index.ts";
import { cursorAfter } from "../../projections/run-index-queries.ts";
import { foreignCursor, pageLimit } from "./pages.ts";
import { liveHook, sdkRunFold } from "./run-fold.ts";
import type { StateOf } from "./tokens.ts";

const RUNS_PAGE = 200;

export interface RunsFilter {
  readonly workflowName: string | undefined;
  readonly status: WorkflowRunStatus | undefined;
}

/** A page of runs by their creation. Throws a WorkflowWorldError of status 400 for a cursor that no page answered. */
export const listedRuns = async (
  log: EventLog,
  index: RunIndex,
  { workflowName, status }: RunsFilter,
  pagination: PaginationOptions,
): Promise<PaginatedResponse<WorkflowRun>> => {
  const { cursor } = pagination;
  const page = await index
    .list({
      kind: "sdk",
      order: orderOf(pagination),
      limit: pageLimit(pagination, RUNS_PAGE),
      ...(workflowName !== undefined && { workflow: workflowName }),
      ...(status !== undefined && { status }),
      ...(cursor !== undefined && { cursor }),
    })
    .catch((error: unknown) => {
      throw InvalidCursorError.is(error) ? foreignCursor(error.cursor) : error;
    });
  const data: WorkflowRun[] = [];
  for (const { runId } of page.runs) {
    const run = await foldOf(log, runId);
    if (run !== undefined) data.push(run);
  }
  const last = page.runs.at(-1);
  return {
    data,
    cursor: last === undefined ? null : cursorAfter(last),
    hasMore: page.cursor !== undefined,
  };
};

/** A page of the hooks that can be answered, by their creation. Throws a WorkflowWorldError of status 400 for a cursor that no page answered. */
export const listedHooks = async (
  index: RunIndex,
  stateOf: StateOf,
  pagination: PaginationOptions,
  otherwise: number,
): Promise<PaginatedResponse<Hook>> => {
  const { cursor } = pagination;
  if (cursor !== undefined && !/^evnt_[0-9A-Z]{26}$/.test(cursor)) throw foreignCursor(cursor);
  const limit = pageLimit(pagination, otherwise);
  const found = await index.sdk.hooks({
    limit: limit + 1,
    order: orderOf(pagination),
    ...(cursor !== undefined && { after: cursor }),
  });
  const listed = found.slice(0, limit);
  const data: Hook[] = [];
  for (const { runId, hookId } of listed) {
    const hook = liveHook(await stateOf(runId), hookId);
    if (hook !== undefined) data.push(hook);
  }
  return { data, cursor: listed.at(-1)?.place ?? null, hasMore: found.length > limit };
};

const orderOf = ({ sortOrder }: PaginationOptions): "newest" | "oldest" =>
  sortOrder === "asc" ? "oldest" : "newest";

/** Beside the sessions: a listing must not push the runs out that are at work. */
const foldOf = async (log: EventLog, runId: string): Promise<WorkflowRun | undefined> => {
  const state = sdkRunFold.empty();
  for await (const recorded of log.read(runStream(runId))) {
    const decoded = sdkRunFold.decode(recorded);
    if (isLeft(decoded)) throw StoreError.corrupt(decoded.left.message, decoded.left);
    sdkRunFold.evolve(state, decoded.right);
  }
  return state.run;
};
