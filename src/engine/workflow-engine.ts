/**
 * The workflow engine: what one can ask of runs on any JournalStore, from their start to their output.
 *
 * Not here: when deliveries happen (a dispatcher, or the pipeline over an EventLog), what a delivery does (walk/delivery.ts), how facts
 * are recorded (journal/).
 */
import { randomUUID } from "node:crypto";
import { RUNNABLE } from "../projections/run-state.ts";
import { processCodeVersion } from "./code-version.ts";
import type { JournalStore, RunRecord, RunStatus } from "./journal-store.ts";
import { type Logger, silentLogger } from "./logger.ts";
import type { ProgressStreams } from "./progress-streams.ts";
import { messageOf } from "./step-errors.ts";
import { createStepGate, stepConcurrencyFrom } from "./step-gate.ts";
import { createDelivery } from "./walk/delivery.ts";
import type { AnyWorkflowDef } from "./workflow.ts";

/** Asks for a delivery: now, or at an instant in epoch milliseconds. A rejection means that it was not scheduled. */
export type Dispatch = (runId: string, at?: number) => void | Promise<void>;

export interface WorkflowEngineOptions {
  /** The declared workflows, by the key that identifies them in every record. */
  readonly workflows: Readonly<Record<string, AnyWorkflowDef>>;
  readonly journal: JournalStore;
  readonly streams: ProgressStreams;
  readonly dispatch: Dispatch;
  /** Default: `wrun_` and 32 hexadecimal digits. */
  readonly newRunId?: (() => string) | undefined;
  /** Step bodies at once, over all runs. Default 16, or `RUNSTREAM_STEP_CONCURRENCY`. */
  readonly stepConcurrency?: number | undefined;
  /**
   * What becomes of a run whose workflow is not declared here: it is failed, saying so (default), or left for a worker that declares it,
   * by rejecting the delivery.
   */
  readonly undeclared?: "fail" | "leave" | undefined;
  readonly logger?: Logger | undefined;
  /** Epoch milliseconds. Default: `Date.now` as it is at the call. */
  readonly clock?: (() => number) | undefined;
}

export interface WorkflowEngine {
  /** Records a run and asks for its first delivery; answers its id without running anything. */
  start(name: string, args: readonly unknown[]): Promise<string>;
  /**
   * One delivery: walks the run if it is to be walked; answers its status after that, `undefined` for an unknown run. `reaching` is the
   * revision of the event that asked for it, where there is one: a journal over an EventLog that has folded the stream so far then does
   * not look at the log before the walk.
   */
  execute(runId: string, signal?: AbortSignal, reaching?: number): Promise<RunStatus | undefined>;
  getRun(runId: string): Promise<RunRecord | undefined>;
  listRuns(workflow: string, limit: number): Promise<RunRecord[]>;
  /** Ends the run unless it is over; answers whether this call did. Walks of it in this process are aborted. */
  cancel(runId: string): Promise<boolean>;
  /** Aborts the walks of a run in this process: for whoever ended it without {@link cancel}. */
  abortWalks(runId: string): void;
  /** Cuts waits short (see `JournalStore.wakeSleeps`); answers how many. */
  wakeUp(runId: string, correlationIds?: readonly string[]): Promise<number>;
  /** Answers the hook that holds `token`; `false` when nobody waits for it. */
  signal(token: string, payload: unknown): Promise<boolean>;
  streamTail(runId: string, options?: { namespace?: string }): Promise<number>;
  readStream(runId: string, options?: { namespace?: string; startIndex?: number }): ReadableStream<unknown>;
  /** The output of a completed run; `undefined` for every other one. */
  readOutput(runId: string): Promise<unknown>;
}

/** 122 random bits: Node draws them many at a time for UUIDs, and one call at a time for bytes. */
export const newRunId = (): string => `wrun_${randomUUID().replaceAll("-", "")}`;

export const createWorkflowEngine = (options: WorkflowEngineOptions): WorkflowEngine => {
  const { workflows, journal, streams, dispatch, logger = silentLogger } = options;
  const clock = options.clock ?? (() => Date.now());
  const gate = createStepGate(options.stepConcurrency ?? stepConcurrencyFrom());
  const mintRunId = options.newRunId ?? newRunId;

  const declared = (name: string): AnyWorkflowDef | undefined =>
    Object.hasOwn(workflows, name) ? workflows[name] : undefined;

  const { execute, abortWalks } = createDelivery({
    declared,
    journal,
    streams,
    dispatch,
    gate,
    undeclared: options.undeclared ?? "fail",
    logger,
    clock,
  });

  /** Not awaited by anybody: the facts are recorded, and whoever recovers runs will find them. */
  const dispatchDetached = (runId: string): void => {
    void (async () => dispatch(runId))().catch((error: unknown) =>
      logger.warn("Workflow dispatch failed", { runId, error: messageOf(error) }),
    );
  };

  const start: WorkflowEngine["start"] = async (name, args) => {
    if (args.length !== 1) {
      throw new TypeError(
        `Workflow ${JSON.stringify(name)} takes exactly one input, and was given ${args.length} arguments.`,
      );
    }
    if (declared(name) === undefined) {
      const names = Object.keys(workflows).join(", ") || "(none)";
      throw new TypeError(`There is no workflow declared as ${JSON.stringify(name)}. Declared: ${names}.`);
    }
    const runId = mintRunId();
    const codeVersion = processCodeVersion();
    await journal.createRun({
      runId,
      workflow: name,
      status: "pending",
      createdAt: clock(),
      input: args[0],
      ...(codeVersion !== undefined && { codeVersion }),
    });
    dispatchDetached(runId);
    return runId;
  };

  return {
    start,
    execute,
    async getRun(runId) {
      const record = await journal.getRun(runId);
      return record === undefined ? undefined : forReaders(record);
    },
    listRuns: async (workflow, limit) => (await journal.listRuns(workflow, limit)).map(forReaders),
    async cancel(runId) {
      const moved = await journal.setStatus(runId, "cancelled", undefined, RUNNABLE);
      if (moved) abortWalks(runId);
      return moved;
    },
    abortWalks,
    async wakeUp(runId, correlationIds) {
      const woken = await journal.wakeSleeps(runId, correlationIds);
      if (woken > 0) dispatchDetached(runId);
      return woken;
    },
    async signal(token, payload) {
      const runId = await journal.deliverHook(token, payload);
      if (runId !== undefined) dispatchDetached(runId);
      return runId !== undefined;
    },
    streamTail: (runId, { namespace } = {}) => streams.tail(runId, namespace),
    readStream: (runId, range = {}) => streams.read(runId, range),
    async readOutput(runId) {
      const record = await journal.getRun(runId);
      return record?.status === "completed" ? record.output : undefined;
    },
  };
};

/** A record whose `output` is there only when it completed, and whose `error` only when it failed. */
const forReaders = (record: RunRecord): RunRecord => {
  const { output, error, ...rest } = record;
  return {
    ...rest,
    ...(record.status === "completed" && { output }),
    ...(record.status === "failed" && error !== undefined && { error }),
  };
};
