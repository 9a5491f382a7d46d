/**
 * The client: what a program, an operator or a tool asks of runs. It starts, reads, signals, wakes, cancels and awaits them, in whatever
 * process it is; it walks none.
 */

import { processCodeVersion } from "../engine/code-version.ts";
import { moveStatus } from "../engine/decide/run.ts";
import type { LogJournal } from "../engine/journal/create-journal.ts";
import type { RunRecord, RunStatus } from "../engine/journal-store.ts";
import { mapConcurrent } from "../engine/map-concurrent.ts";
import { RejectionError } from "../engine/rejection-error.ts";
import { checkSchema } from "../engine/schema.ts";
import type { AnyWorkflowDef, WorkflowDef } from "../engine/workflow.ts";
import { newRunId, type WorkflowEngine } from "../engine/workflow-engine.ts";
import type { EventLog } from "../events/event-log.ts";
import type { JsonObject } from "../events/json.ts";
import { type HistoryEntry, readHistory, stateAt } from "../projections/history.ts";
import type { RunIndex } from "../projections/run-index.ts";
import type { ListQuery, RunPage } from "../projections/run-index-queries.ts";
import { isTerminal, type RunState } from "../projections/run-state.ts";
import { RequestError } from "./request-error.ts";
import { createSettledRuns } from "./settled-runs.ts";

/** A run as the client answers it. `output` only once completed, `error` only once failed. */
export type RunSnapshot<R = unknown> = {
  readonly runId: string;
  readonly workflow: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  readonly key?: string;
} & (
  | { readonly status: "pending" | "running" | "cancelled" }
  | { readonly status: "completed"; readonly output: R }
  | { readonly status: "failed"; readonly error: string }
);

/** A run that is over. */
export type RunOutcome<R = unknown> = Exclude<RunSnapshot<R>, { readonly status: "pending" | "running" }> & {
  readonly status: "completed" | "failed" | "cancelled";
};

export interface StartOptions {
  /** Your own key of the run, not unique: `find` looks runs up by it. */
  readonly key?: string;
  /** Your own id of the run. A second start under it throws `RejectionError` (`RunExists`). Default: a fresh random id. */
  readonly runId?: string;
  readonly tenant?: string;
  readonly metadata?: JsonObject;
}

type WorkflowRef = string | AnyWorkflowDef;

export interface RunstreamClient {
  /** Checks the input against the workflow's schema and records the run; a worker walks it. Throws {@link RequestError}. */
  start(workflow: WorkflowRef, input?: Record<string, unknown>, options?: StartOptions): Promise<string>;
  get<R = unknown>(
    runId: string,
    workflow?: WorkflowDef<never, R> | AnyWorkflowDef,
  ): Promise<RunSnapshot<R> | undefined>;
  /** The runs of a workflow with this key, newest first. `limit` default 20, at most 100. */
  find(workflow: WorkflowRef, key: string, options?: { readonly limit?: number }): Promise<RunSnapshot[]>;
  /** The runs of a workflow, newest first. `limit` default 20, at most 100. */
  recent(workflow: WorkflowRef, options?: { readonly limit?: number }): Promise<RunSnapshot[]>;
  /** A page of runs, newest first, by workflow, status, key and time. */
  list(query?: ListQuery): Promise<RunPage>;
  /** Ends a run; `true` only if this call ended it. */
  cancel(runId: string, options?: { readonly reason?: string }): Promise<boolean>;
  /** Cuts waits short; answers how many. Without ids: every sleep. With ids: the waits that declared one of them. */
  wakeUp(runId: string, options?: { readonly correlationIds?: readonly string[] }): Promise<number>;
  /** Answers the wait on `token` with `payload` (default `{}`); `false` when nobody waits for it. Accepted means recorded. */
  signal(token: string, payload?: unknown): Promise<boolean>;
  /**
   * Answers when the run is over. Throws {@link RequestError} (`Timeout`) after `timeoutMs` (default: never), and `RejectionError`
   * (`RunMissing`) for an unknown run. A run that failed is an answer, not an error.
   */
  result<R = unknown>(runId: string, options?: { readonly timeoutMs?: number }): Promise<RunOutcome<R>>;
  /** Every fact of the run in order; nothing for an unknown run. */
  history(runId: string): AsyncIterable<HistoryEntry>;
  /** The run as it was after the event at `revision`. */
  stateAt(runId: string, revision: number): Promise<RunState | undefined>;
  /** The declared workflows. */
  listing(): { readonly name: string; readonly description?: string }[];
}

export interface ClientParts {
  readonly log: EventLog;
  readonly index: RunIndex;
  readonly journal: LogJournal;
  readonly engine: WorkflowEngine;
  readonly workflows: Readonly<Record<string, AnyWorkflowDef>>;
  readonly clock: () => number;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const READS_AT_ONCE = 8;

export const createClient = (parts: ClientParts): RunstreamClient & { close(): void } => {
  const { log, index, journal, engine, workflows, clock } = parts;
  const settledRuns = createSettledRuns(log);

  const nameOf = (workflow: WorkflowRef): string => {
    const name =
      typeof workflow === "string"
        ? workflow
        : Object.keys(workflows).find((declared) => workflows[declared] === workflow);
    if (name !== undefined && Object.hasOwn(workflows, name)) return name;
    const declared = Object.keys(workflows).join(", ") || "(none)";
    const asked = name === undefined ? "This workflow definition" : `Workflow ${JSON.stringify(name)}`;
    throw new RequestError("UnknownWorkflow", `${asked} is not declared here. Declared: ${declared}.`);
  };

  const checkInput = async (name: string, input: unknown): Promise<unknown> => {
    const schema = workflows[name]?.input;
    if (schema === undefined) return input;
    const checked = await checkSchema(schema, input);
    if (checked.ok) return checked.value;
    throw new RequestError(
      "InvalidInput",
      `Workflow ${JSON.stringify(name)} does not accept this input: ${checked.message}`,
    );
  };

  const snapshotOf = async (runId: string): Promise<RunSnapshot | undefined> => {
    const [record, state] = await Promise.all([journal.getRun(runId), journal.sessions.get(runId).current()]);
    return record === undefined ? undefined : toSnapshot(record, state.created?.key);
  };

  const snapshots = async (query: ListQuery): Promise<RunSnapshot[]> => {
    const { runs } = await index.list({ ...query, limit: clampLimit(query.limit) });
    const found = await mapConcurrent(runs, READS_AT_ONCE, ({ runId }) => snapshotOf(runId));
    return found.filter((snapshot) => snapshot !== undefined);
  };

  return {
    async start(workflow, input = {}, { runId = newRunId(), ...attributes } = {}) {
      const name = nameOf(workflow);
      const codeVersion = processCodeVersion();
      const record: RunRecord = {
        runId,
        workflow: name,
        status: "pending",
        createdAt: clock(),
        input: await checkInput(name, input),
        ...(codeVersion !== undefined && { codeVersion }),
      };
      await journal.createRunWith(record, attributes);
      return runId;
    },
    get: async <R>(runId: string) => (await snapshotOf(runId)) as RunSnapshot<R> | undefined,
    find: async (workflow, key, { limit } = {}) =>
      snapshots({ workflow: nameOf(workflow), key, ...(limit !== undefined && { limit }) }),
    recent: async (workflow, { limit } = {}) =>
      snapshots({ workflow: nameOf(workflow), ...(limit !== undefined && { limit }) }),
    list: (query) => index.list(query),
    async cancel(runId, { reason } = {}) {
      const decide = moveStatus("cancelled", { reason }, ["pending", "running"], clock());
      const moved = await journal.sessions.get(runId).propose(decide);
      if (moved) engine.abortWalks(runId);
      return moved;
    },
    wakeUp: (runId, { correlationIds } = {}) =>
      engine.wakeUp(runId, correlationIds?.length === 0 ? undefined : correlationIds),
    signal: (token, payload) => engine.signal(token, payload ?? {}),
    async result<R>(runId: string, { timeoutMs }: { readonly timeoutMs?: number } = {}) {
      const settled = settledRuns.wait(runId);
      try {
        await settled.watching;
        const now = await snapshotOf(runId);
        if (now === undefined) throw new RejectionError("RunMissing", runId);
        if (isTerminal(now.status)) return now as RunOutcome<R>;
        await within(timeoutMs, settled.over, runId, now.status);
        return (await snapshotOf(runId)) as RunOutcome<R>;
      } finally {
        settled.leave();
      }
    },
    history: (runId) => readHistory(log, runId),
    stateAt: (runId, revision) => stateAt(log, runId, revision),
    listing: () =>
      Object.entries(workflows).map(([name, { description }]) => ({
        name,
        ...(description !== undefined && { description }),
      })),
    close: () => settledRuns.close(),
  };
};

const toSnapshot = (record: RunRecord, key: string | undefined): RunSnapshot => {
  const { runId, workflow, createdAt, status } = record;
  const base = { runId, workflow, createdAt, ...(key !== undefined && { key }) };
  switch (status) {
    case "completed":
      return { ...base, status, output: record.output };
    case "failed":
      return { ...base, status, error: record.error?.message ?? "The run failed." };
    case "pending":
    case "running":
    case "cancelled":
      return { ...base, status };
    default:
      return status satisfies never;
  }
};

const clampLimit = (limit = DEFAULT_LIMIT): number =>
  Math.max(1, Math.min(MAX_LIMIT, Math.floor(Number.isNaN(limit) ? DEFAULT_LIMIT : limit)));

const within = async (
  timeoutMs: number | undefined,
  over: Promise<void>,
  runId: string,
  status: RunStatus,
): Promise<void> => {
  if (timeoutMs === undefined) return over;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const message = `Run ${JSON.stringify(runId)} was not over after ${timeoutMs} ms (it was ${status}). It goes on: ask again, or wait longer.`;
      reject(new RequestError("Timeout", message));
    }, timeoutMs);
  });
  try {
    await Promise.race([over, late]);
  } finally {
    clearTimeout(timer);
  }
};
