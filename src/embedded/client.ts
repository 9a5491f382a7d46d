/**
 * The client: what a program, an operator or a tool asks of runs. It starts, reads, signals, wakes, cancels and awaits them, in whatever
 * process it is; it walks none.
 */

import { processCodeVersion } from "../engine/code-version.ts";
import { LONGEST_TIMER_MS, sliceDelay } from "../engine/deadline.ts";
import { moveStatus } from "../engine/decide/run.ts";
import type { LogJournal } from "../engine/journal/create-journal.ts";
import { recordOf } from "../engine/journal/records.ts";
import type { RunRecord, RunStatus } from "../engine/journal-store.ts";
import type { Logger } from "../engine/logger.ts";
import { mapConcurrent } from "../engine/map-concurrent.ts";
import { RejectionError } from "../engine/rejection-error.ts";
import { messageOf } from "../engine/step-errors.ts";
import type { AnyWorkflowDef, WorkflowDef } from "../engine/workflow.ts";
import { newRunId, type WorkflowEngine } from "../engine/workflow-engine.ts";
import type { EventLog } from "../events/event-log.ts";
import type { JsonObject } from "../events/json.ts";
import { StoreError } from "../events/store-error.ts";
import { type HistoryEntry, readHistory, stateAt } from "../projections/history.ts";
import type { RunIndex } from "../projections/run-index.ts";
import type { ListQuery, RunPage } from "../projections/run-index-queries.ts";
import { isTerminal, RUNNABLE, type RunKind, type RunState } from "../projections/run-state.ts";
import { RequestError } from "./request-error.ts";
import { createSettledRuns } from "./settled-runs.ts";
import { acceptedAttributes, acceptedInput, text } from "./start-record.ts";

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

/** Once it is stopped, every method throws {@link RequestError} (`Stopped`). The store's trouble is thrown as `StoreError`. */
export interface RunstreamClient {
  /**
   * Checks the input against the workflow's schema and records the run; a worker walks it. Answers the run's id.
   *
   * Throws {@link RequestError} (`UnknownWorkflow`, `InvalidInput`), `PayloadError` with the path of what cannot be recorded, and
   * `RejectionError` (`RunExists`). After a `StoreError` the run may exist nevertheless; its message names the run's id.
   */
  start(workflow: WorkflowRef, input?: Record<string, unknown>, options?: StartOptions): Promise<string>;
  get<R = unknown>(
    runId: string,
    workflow?: WorkflowDef<never, R> | AnyWorkflowDef,
  ): Promise<RunSnapshot<R> | undefined>;
  /**
   * The runs of a workflow with this key, newest first. `limit` default 20, floored, and held between 1 and 100. A run that this
   * version cannot read is left out and logged.
   */
  find(workflow: WorkflowRef, key: string, options?: { readonly limit?: number }): Promise<RunSnapshot[]>;
  /** The runs of a workflow, newest first; `limit` as `find` has it. */
  recent(workflow: WorkflowRef, options?: { readonly limit?: number }): Promise<RunSnapshot[]>;
  /**
   * A page of runs and threads, newest first, by workflow, status, key and time. Runs of the Workflow SDK are in it where `kind` asks for
   * them (`"sdk"`).
   */
  list(query?: ListQuery): Promise<RunPage>;
  /** Ends a run; `true` only if this call ended it. */
  cancel(runId: string, options?: { readonly reason?: string }): Promise<boolean>;
  /** Cuts waits short; answers how many. Without ids: every sleep. With ids: the waits that declared one of them. */
  wakeUp(runId: string, options?: { readonly correlationIds?: readonly string[] }): Promise<number>;
  /** Answers the wait on `token` with `payload` (default `{}`); `false` when nobody waits for it. Accepted means recorded. */
  signal(token: string, payload?: unknown): Promise<boolean>;
  /**
   * Answers when the run is over, in whatever process. Throws {@link RequestError} (`Timeout`) after `timeoutMs` (default: never;
   * 0: only looks), `Stopped` when this Runstream is stopped meanwhile, and `RejectionError` (`RunMissing`) for an unknown run. A run
   * that failed is an answer, not an error.
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
  /** Where payloads are sealed and opened. */
  readonly log: EventLog;
  /** The same log beneath that. */
  readonly store: EventLog;
  readonly index: RunIndex;
  readonly journal: LogJournal;
  readonly engine: WorkflowEngine;
  readonly workflows: Readonly<Record<string, AnyWorkflowDef>>;
  readonly logger: Logger;
  readonly clock: () => number;
}

const DEFAULT_LIMIT = 20;
const OWN_KINDS: readonly RunKind[] = ["run", "thread"];
const MAX_LIMIT = 100;
const READS_AT_ONCE = 8;

export const createClient = (parts: ClientParts): RunstreamClient & { close(): void } => {
  const { log, store, index, journal, engine, workflows, logger, clock } = parts;
  const settledRuns = createSettledRuns(store, {
    onEnd: (runId, revision) => journal.sessions.peek(runId)?.reaches(revision),
    logClosed: (runId) => stopped(`The log was closed while run ${JSON.stringify(runId)} was awaited`),
  });
  let closed = false;

  const open = (): void => {
    if (closed) throw stopped("This Runstream was stopped");
  };

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

  const snapshotOf = async (runId: string): Promise<RunSnapshot | undefined> => {
    const state = await journal.sessions.get(runId).current();
    const record = recordOf(runId, state);
    return record === undefined ? undefined : toSnapshot(record, state.created?.key);
  };

  /**
   * The status of a run that was seen not to be over after `since`, when the ends of runs were watched already, so that nobody has to
   * look whether it ended in between. `undefined` where that is not known.
   */
  const statusAfter = (since: number, runId: string): RunStatus | undefined => {
    const session = journal.sessions.peek(runId);
    if (session?.currentAt === undefined || session.currentAt < since) return undefined;
    const { created, status } = session.state;
    return created === undefined || isTerminal(status) ? undefined : status;
  };

  const snapshots = async (query: ListQuery): Promise<RunSnapshot[]> => {
    const { runs } = await index.list({ ...query, kind: "run", limit: clampLimit(query.limit) });
    const found = await mapConcurrent(runs, READS_AT_ONCE, async ({ runId }) => {
      try {
        return await snapshotOf(runId);
      } catch (error) {
        if (!StoreError.is(error) || error.error._tag !== "Corrupt") throw error;
        logger.warn("Workflow run cannot be read, so it is left out", { runId, error: messageOf(error) });
        return undefined;
      }
    });
    return found.filter((snapshot) => snapshot !== undefined);
  };

  return {
    async start(workflow, input = {}, options = {}) {
      open();
      const name = nameOf(workflow);
      const runId = options.runId === undefined ? newRunId() : text("runId", options.runId);
      const attributes = acceptedAttributes(options);
      const codeVersion = processCodeVersion();
      const record: RunRecord = {
        runId,
        workflow: name,
        status: "pending",
        createdAt: clock(),
        input: await acceptedInput(name, workflows[name] as AnyWorkflowDef, input),
        ...(codeVersion !== undefined && { codeVersion }),
      };
      await journal.createRunWith(record, attributes);
      return runId;
    },
    async get<R>(runId: string) {
      open();
      return (await snapshotOf(text("runId", runId))) as RunSnapshot<R> | undefined;
    },
    async find(workflow, key, { limit } = {}) {
      open();
      return snapshots({
        workflow: nameOf(workflow),
        key: text("key", key),
        ...(limit !== undefined && { limit }),
      });
    },
    async recent(workflow, { limit } = {}) {
      open();
      return snapshots({ workflow: nameOf(workflow), ...(limit !== undefined && { limit }) });
    },
    async list(query = {}) {
      open();
      return index.list({ ...query, kind: query.kind ?? OWN_KINDS });
    },
    async cancel(runId, { reason } = {}) {
      open();
      const why = reason === undefined ? undefined : text("reason", reason);
      const decide = moveStatus("cancelled", { reason: why }, RUNNABLE, clock());
      const moved = await journal.sessions.get(text("runId", runId)).propose(decide);
      if (moved) engine.abortWalks(runId);
      return moved;
    },
    async wakeUp(runId, { correlationIds } = {}) {
      open();
      return engine.wakeUp(text("runId", runId), correlationIds?.length === 0 ? undefined : correlationIds);
    },
    async signal(token, payload) {
      open();
      return engine.signal(text("token", token), payload ?? {});
    },
    async result<R>(runId: string, { timeoutMs }: { readonly timeoutMs?: number } = {}) {
      open();
      const settled = settledRuns.wait(text("runId", runId));
      try {
        const known = statusAfter(await settled.watching, runId);
        let status = known;
        if (status === undefined) {
          const now = await snapshotOf(runId);
          if (now === undefined) throw new RejectionError("RunMissing", runId);
          if (isTerminal(now.status)) return now as RunOutcome<R>;
          status = now.status;
        }
        const told = await within(timeoutMs, settled.over);
        // Its end may be in the stream and on its way to us: whoever was not given a look yet gets one before he is sent away.
        const outcome = told || known !== undefined ? await snapshotOf(runId) : undefined;
        if (!told && (outcome === undefined || !isTerminal(outcome.status)))
          throw timedOut(runId, timeoutMs, status);
        return outcome as RunOutcome<R>;
      } catch (error) {
        // A read that was under way when the log was closed says so in the store's words.
        if (closed && StoreError.is(error)) throw stoppedWaiting(runId);
        throw error;
      } finally {
        settled.leave();
      }
    },
    async *history(runId) {
      open();
      yield* readHistory(log, text("runId", runId));
    },
    async stateAt(runId, revision) {
      open();
      return stateAt(log, text("runId", runId), revision);
    },
    listing: () =>
      Object.entries(workflows).map(([name, { description }]) => ({
        name,
        ...(description !== undefined && { description }),
      })),
    close() {
      closed = true;
      settledRuns.close(stoppedWaiting);
    },
  };
};

const stopped = (what: string): RequestError =>
  new RequestError("Stopped", `${what}. Open the store again to ask.`);

const stoppedWaiting = (runId: string): RequestError =>
  stopped(`This Runstream was stopped while run ${JSON.stringify(runId)} was awaited; the run goes on`);

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

const timedOut = (runId: string, timeoutMs: number | undefined, status: RunStatus): RequestError =>
  new RequestError(
    "Timeout",
    `Run ${JSON.stringify(runId)} was not over after ${timeoutMs} ms (it was ${status} when asked). It goes on: ask again, or wait longer.`,
  );

/** Answers whether the run was over within `timeoutMs`. */
const within = async (timeoutMs: number | undefined, over: Promise<void>): Promise<boolean> => {
  const told = over.then(() => true);
  // What is longer than one timer can wait is longer than a process is likely to: no timeout at all.
  if (timeoutMs === undefined || timeoutMs > LONGEST_TIMER_MS) return told;
  if (Number.isNaN(timeoutMs)) throw new RequestError("InvalidInput", "timeoutMs is NaN. Give milliseconds.");
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), sliceDelay(timeoutMs));
  });
  try {
    return await Promise.race([told, late]);
  } finally {
    clearTimeout(timer);
  }
};
