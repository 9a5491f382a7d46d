/**
 * An engine that needs nothing but this process: a journal in memory unless one is given, deliveries by timers of this process unless a
 * dispatcher is given, and the boot sweep that finds what an earlier process left.
 */
import { bootSweep } from "../engine/boot-sweep.ts";
import { createInProcessDispatcher } from "../engine/in-process-dispatcher.ts";
import type { JournalStore } from "../engine/journal-store.ts";
import { silentLogger } from "../engine/logger.ts";
import { createMemoryStreams, type ProgressStreams } from "../engine/progress-streams.ts";
import {
  createWorkflowEngine,
  type Dispatch,
  type WorkflowEngine,
  type WorkflowEngineOptions,
} from "../engine/workflow-engine.ts";
import { createMemoryJournal } from "./memory-journal.ts";

export interface InProcessEngineOptions
  extends Omit<WorkflowEngineOptions, "journal" | "streams" | "dispatch"> {
  /** Default: a fresh journal in memory. */
  readonly journal?: JournalStore | undefined;
  /** Default: in memory. */
  readonly streams?: ProgressStreams | undefined;
  /** Default: timers of this process. One that is given replaces them, and the boot sweep with them. */
  readonly dispatch?: Dispatch | undefined;
}

export interface InProcessEngine extends WorkflowEngine {
  /** Schedules nothing any more. Walks in flight go on to their end. */
  stop(): void;
}

export const createInProcessWorkflowEngine = (options: InProcessEngineOptions): InProcessEngine => {
  const { logger = silentLogger, clock = () => Date.now() } = options;
  const journal = options.journal ?? createMemoryJournal({ clock });
  const streams = options.streams ?? createMemoryStreams();
  const dispatcher = createInProcessDispatcher((runId) => engine.execute(runId), { logger, clock });
  const dispatch = options.dispatch ?? dispatcher.dispatch;
  const engine = createWorkflowEngine({ ...options, journal, streams, dispatch });
  if (options.dispatch === undefined) {
    void bootSweep(journal, dispatch, { logger, clock, stopped: () => dispatcher.stopped });
  }
  return { ...engine, stop: dispatcher.stop };
};
