/**
 * The workflow engine: starts runs and executes deliveries on any JournalStore.
 *
 * Not here: when deliveries happen (a dispatcher, or the pipeline over an EventLog), how a walk goes (walk/), how facts are recorded
 * (journal/).
 *
 * Invariants:
 * - G1 `execute` is safe to call at any time, any number of times, from several workers: claims fence the steps, the first end stands.
 * - G2 Only a re-enqueue at a suspension is awaited: if it fails, the delivery fails and comes again.
 * - G3 Trouble with the store rejects the delivery and changes nothing about the run (law L9).
 */
import { randomBytes } from "node:crypto";
import { PayloadError } from "../events/payload.ts";
import { StoreError } from "../events/store-error.ts";
import { isTerminal, RUNNABLE } from "../projections/run-state.ts";
import { processCodeVersion } from "./code-version.ts";
import type { JournalStore, RunRecord, RunStatus } from "./journal-store.ts";
import { type Logger, silentLogger } from "./logger.ts";
import { isPlainRecord } from "./plain-record.ts";
import type { ProgressStreams } from "./progress-streams.ts";
import {
  JOURNAL_MAX_ENTRIES,
  JOURNAL_WARN_ENTRIES,
  journalBoundMessage,
  tooLargeMessage,
} from "./refusals.ts";
import { RejectionError } from "./rejection-error.ts";
import { checkSchema } from "./schema.ts";
import { runOutsideStep } from "./step-context.ts";
import { messageOf } from "./step-errors.ts";
import { createStepGate, stepConcurrencyFrom } from "./step-gate.ts";
import { UndeclaredWorkflowError } from "./undeclared-workflow-error.ts";
import { createContext } from "./walk/context.ts";
import { openWalkJournal } from "./walk/lane-journal.ts";
import { Walk, type WalkOutcome } from "./walk/walk.ts";
import type { Opening, WalkJournal } from "./walk/walk-journal.ts";
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
  /** One delivery: walks the run if it is to be walked; answers its status after that, `undefined` for an unknown run. */
  execute(runId: string, signal?: AbortSignal): Promise<RunStatus | undefined>;
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

export const newRunId = (): string => `wrun_${randomBytes(16).toString("hex")}`;

export const createWorkflowEngine = (options: WorkflowEngineOptions): WorkflowEngine => {
  const { workflows, journal, streams, dispatch, logger = silentLogger } = options;
  const clock = options.clock ?? (() => Date.now());
  const gate = createStepGate(options.stepConcurrency ?? stepConcurrencyFrom());
  const mintRunId = options.newRunId ?? newRunId;
  const walking = new Map<string, Set<AbortController>>();

  const declared = (name: string): AnyWorkflowDef | undefined =>
    Object.hasOwn(workflows, name) ? workflows[name] : undefined;

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

  const execute: WorkflowEngine["execute"] = async (runId, signal) => {
    for (;;) {
      const status = await runOutsideStep(() => deliver(runId, signal));
      if (status !== "superseded") return status;
    }
  };

  const deliver = async (
    runId: string,
    callerSignal: AbortSignal | undefined,
  ): Promise<RunStatus | undefined | "superseded"> => {
    const walkJournal = openWalkJournal(journal, runId, clock);
    try {
      const opening = await walkJournal.open();
      const { record } = opening;
      if (record === undefined) return undefined;
      if (isTerminal(record.status)) return record.status;
      const def = declared(record.workflow);
      if (def === undefined) {
        if (options.undeclared === "leave") throw new UndeclaredWorkflowError(record);
        return await abandon(record, new UndeclaredWorkflowError(record).message);
      }
      if (!isPlainRecord(record.input)) {
        return await abandon(
          record,
          `The input of run ${JSON.stringify(runId)} is not a plain record, so its body was not run. Start workflow ${JSON.stringify(record.workflow)} with an object.`,
        );
      }
      if (!opening.moved && !(await journal.setStatus(runId, "running", undefined, RUNNABLE))) {
        return await statusOf(runId);
      }
      return await walkAndRecord(def, record, opening, walkJournal, callerSignal);
    } finally {
      walkJournal.close();
    }
  };

  const walkAndRecord = async (
    def: AnyWorkflowDef,
    record: RunRecord,
    opening: Opening,
    walkJournal: WalkJournal,
    callerSignal: AbortSignal | undefined,
  ): Promise<RunStatus | undefined | "superseded"> => {
    const { runId } = record;
    const controller = new AbortController();
    const leave = enter(runId, controller);
    const signal =
      callerSignal === undefined ? controller.signal : AbortSignal.any([callerSignal, controller.signal]);
    const walk = new Walk(runId, walkJournal, signal);
    controller.signal.addEventListener("abort", () => walk.giveUp(), { once: true });
    walkJournal.begin();
    try {
      const outcome = await walkBody(def, record, opening, walk);
      return await recordOutcome(def, record, outcome, walk);
    } catch (error) {
      if (controller.signal.aborted && callerSignal?.aborted !== true && error === signal.reason) {
        return await statusOf(runId);
      }
      throw error;
    } finally {
      leave();
    }
  };

  const walkBody = async (
    def: AnyWorkflowDef,
    record: RunRecord,
    opening: Opening,
    walk: Walk,
  ): Promise<WalkOutcome> => {
    const { runId, workflow } = record;
    const entries = opening.steps.length;
    if (entries >= JOURNAL_MAX_ENTRIES) {
      return { kind: "failed", message: journalBoundMessage({ runId, workflow, entries }) };
    }
    if (entries >= JOURNAL_WARN_ENTRIES) {
      logger.warn("Workflow run comes near the most entries a run may have", {
        runId,
        workflow,
        steps: entries,
        ceiling: JOURNAL_MAX_ENTRIES,
      });
    }
    const ctx = createContext({
      walk,
      workflow,
      steps: opening.steps,
      sleeps: opening.sleeps,
      order: await walk.journal.settlements(),
      gate,
      clock,
      narrate: (line) => {
        walk
          .hold(async () => streams.write(runId, line))
          .catch((error: unknown) =>
            logger.warn("Workflow progress could not be written", { runId, error: messageOf(error) }),
          );
      },
      codeVersions: { started: record.codeVersion, walking: processCodeVersion() },
    });
    return walk.run(() => def.run(record.input as Record<string, unknown>, ctx));
  };

  const recordOutcome = async (
    def: AnyWorkflowDef,
    record: RunRecord,
    outcome: WalkOutcome,
    walk: Walk,
  ): Promise<RunStatus | undefined | "superseded"> => {
    const { runId } = record;
    switch (outcome.kind) {
      case "superseded":
        return "superseded";
      case "suspended": {
        const status = await statusOf(runId);
        if (status === "running" && outcome.wakeAt !== undefined) await dispatch(runId, outcome.wakeAt);
        return outcome.wakeAt === undefined ? status : await statusOf(runId);
      }
      case "completed": {
        const output = await checkOutput(def, record, outcome.output);
        return "error" in output ? finish(walk, "failed", output) : finish(walk, "completed", output);
      }
      case "failed":
        return finish(walk, "failed", { error: { message: outcome.message } });
      default:
        return outcome satisfies never;
    }
  };

  /** Records the end of the run. What cannot be carried as an output is a failure; whoever ended the run before is right. */
  const finish = async (
    walk: Walk,
    status: "completed" | "failed",
    patch: { output?: unknown; error?: { message: string } },
  ): Promise<RunStatus | undefined | "superseded"> => {
    try {
      const moved = await walk.finish(status, patch);
      return moved ? status : await statusOf(walk.runId);
    } catch (error) {
      if (PayloadError.is(error) && status === "completed") {
        const message = `Run ${JSON.stringify(walk.runId)} returned what cannot be recorded: ${error.message}`;
        return finish(walk, "failed", { error: { message } });
      }
      if (StoreError.is(error) && error.error._tag === "TooLarge") {
        // Not in the walk's lane: what it lost cannot be recorded, but that the run failed can.
        const message = patch.error?.message ?? tooLargeMessage(walk.runId, error);
        const moved = await journal.setStatus(walk.runId, "failed", { error: { message } }, RUNNABLE);
        return moved ? "failed" : await statusOf(walk.runId);
      }
      if (!RejectionError.is(error, "Superseded") && !RejectionError.is(error, "RunSettled")) throw error;
      await walk.quiet();
      return "superseded";
    }
  };

  const checkOutput = async (
    def: AnyWorkflowDef,
    record: RunRecord,
    output: unknown,
  ): Promise<{ output?: unknown } | { error: { message: string } }> => {
    if (def.output === undefined) return output === undefined ? {} : { output };
    const checked = await checkSchema(def.output, output);
    if (checked.ok) return { output: checked.value };
    const message = `Workflow ${JSON.stringify(record.workflow)} (run ${JSON.stringify(record.runId)}) returned what its output schema does not accept: ${checked.message}`;
    return { error: { message } };
  };

  const abandon = async (record: RunRecord, message: string): Promise<RunStatus> => {
    logger.warn("Workflow run cannot be walked", {
      runId: record.runId,
      workflow: record.workflow,
      reason: message,
    });
    await journal.setStatus(record.runId, "failed", { error: { message } });
    return "failed";
  };

  const statusOf = async (runId: string): Promise<RunStatus | undefined> =>
    (await journal.getRun(runId))?.status;

  const abortWalks = (runId: string): void => {
    for (const controller of walking.get(runId) ?? []) {
      controller.abort(new DOMException(`Run ${JSON.stringify(runId)} was cancelled.`, "AbortError"));
    }
  };

  const enter = (runId: string, controller: AbortController): (() => void) => {
    const controllers = walking.get(runId) ?? new Set();
    walking.set(runId, controllers.add(controller));
    return () => {
      controllers.delete(controller);
      if (controllers.size === 0) walking.delete(runId);
    };
  };

  return {
    start,
    execute,
    getRun: async (runId) => forReaders(await journal.getRun(runId)),
    listRuns: async (workflow, limit) =>
      (await journal.listRuns(workflow, limit)).map((record) => forReaders(record) as RunRecord),
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
const forReaders = (record: RunRecord | undefined): RunRecord | undefined => {
  if (record === undefined) return undefined;
  const { output, error, ...rest } = record;
  return {
    ...rest,
    ...(record.status === "completed" && { output }),
    ...(record.status === "failed" && error !== undefined && { error }),
  };
};
