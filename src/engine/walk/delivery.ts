/**
 * Carries deliveries out: looks how the run stands, walks it if it is to be walked, and records what the end of the walk does to the run.
 *
 * Not here: when deliveries happen (a dispatcher, or the pipeline over an EventLog), how a walk goes (walk.ts, context.ts).
 *
 * Invariants:
 * - G1 `execute` is safe to call at any time, any number of times, from several workers: claims fence the steps, the first end stands.
 * - G2 Only a re-enqueue at a suspension is awaited: if it fails, the delivery fails and comes again.
 * - G3 Trouble with the store rejects the delivery and changes nothing about the run (law L9); so does a run whose payloads are sealed.
 */
import { PayloadError } from "../../events/payload.ts";
import { SealedPayload } from "../../events/sealed-value.ts";
import { StoreError } from "../../events/store-error.ts";
import { isTerminal, RUNNABLE } from "../../projections/run-state.ts";
import { processCodeVersion } from "../code-version.ts";
import { assertReadable } from "../journal/records.ts";
import type { JournalStore, RunRecord, RunStatus } from "../journal-store.ts";
import type { Logger } from "../logger.ts";
import { isPlainRecord } from "../plain-record.ts";
import type { ProgressStreams } from "../progress-streams.ts";
import {
  JOURNAL_MAX_ENTRIES,
  JOURNAL_WARN_ENTRIES,
  journalBoundMessage,
  tooLargeMessage,
} from "../refusals.ts";
import { RejectionError } from "../rejection-error.ts";
import { checkSchema } from "../schema.ts";
import { runOutsideStep } from "../step-context.ts";
import { messageOf } from "../step-errors.ts";
import type { StepGate } from "../step-gate.ts";
import { UndeclaredWorkflowError } from "../undeclared-workflow-error.ts";
import type { AnyWorkflowDef } from "../workflow.ts";
import { createContext } from "./context.ts";
import { openWalkJournal } from "./lane-journal.ts";
import { Walk, type WalkOutcome } from "./walk.ts";
import type { Opening, WalkJournal } from "./walk-journal.ts";
import { walkSignal } from "./walk-signal.ts";

export interface DeliveryOptions {
  /** The workflow declared under this key, if there is one. */
  readonly declared: (name: string) => AnyWorkflowDef | undefined;
  readonly journal: JournalStore;
  readonly streams: ProgressStreams;
  readonly dispatch: (runId: string, at: number) => void | Promise<void>;
  readonly gate: StepGate;
  readonly undeclared: "fail" | "leave";
  readonly logger: Logger;
  readonly clock: () => number;
}

export interface Delivery {
  /**
   * One delivery: walks the run if it is to be walked; answers its status after that, `undefined` for an unknown run. `reaching`: the
   * revision of the event that asked for it, where there is one; a walk that starts from there or later will do.
   */
  execute(runId: string, signal?: AbortSignal, reaching?: number): Promise<RunStatus | undefined>;
  /** Aborts the walks of a run in this process. */
  abortWalks(runId: string): void;
}

/** The run's status after a walk, `undefined` for an unknown run; or the walk is to be done again. */
type Delivered = RunStatus | undefined | "superseded";

export const createDelivery = (options: DeliveryOptions): Delivery => {
  const { declared, journal, streams, dispatch, gate, undeclared, logger, clock } = options;
  const walking = new Map<string, Set<AbortController>>();

  const execute: Delivery["execute"] = async (runId, signal, reaching) => {
    let status = await runOutsideStep(() => deliver(runId, signal, reaching));
    while (status === "superseded") status = await runOutsideStep(() => deliver(runId, signal, undefined));
    return status;
  };

  const deliver = async (
    runId: string,
    callerSignal: AbortSignal | undefined,
    reaching: number | undefined,
  ): Promise<Delivered> => {
    const walkJournal = openWalkJournal(journal, runId, clock);
    try {
      const opening = await walkJournal.open(reaching);
      const { record } = opening;
      if (record === undefined) return undefined;
      if (isTerminal(record.status)) return record.status;
      const def = declared(record.workflow);
      if (def === undefined) {
        if (undeclared === "leave") throw new UndeclaredWorkflowError(record);
        return await failUnwalked(record, new UndeclaredWorkflowError(record).message);
      }
      if (SealedPayload.is(record.input)) assertReadable(runId, record.input.state);
      if (!isPlainRecord(record.input)) {
        return await failUnwalked(
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
  ): Promise<Delivered> => {
    const { runId } = record;
    const controller = new AbortController();
    const leave = enter(runId, controller);
    const { signal, release } = walkSignal(controller.signal, callerSignal);
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
      // A body that the run left behind still hears that the worker stops.
      void walk.quiet().then(release);
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
        walk.hold(
          async () => streams.write(runId, line),
          (error) =>
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
  ): Promise<Delivered> => {
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
  ): Promise<Delivered> => {
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

  const failUnwalked = async (record: RunRecord, message: string): Promise<RunStatus> => {
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

  return { execute, abortWalks };
};
