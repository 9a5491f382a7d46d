/** A worker of a simulated world: a process of its own, with its own connection to the log, its own sessions and its own clock. */
import { createJournal } from "../../src/engine/journal/create-journal.ts";
import { createMemoryStreams } from "../../src/engine/progress-streams.ts";
import type { WorkflowContext } from "../../src/engine/workflow.ts";
import { createWorkflowEngine, type WorkflowEngine } from "../../src/engine/workflow-engine.ts";
import { createFaultyLog, type FaultyLogOptions } from "./faulty-log.ts";
import type { Owner } from "./scheduler.ts";
import type { Surroundings } from "./surroundings.ts";

export interface Worker extends Owner {
  readonly engine: WorkflowEngine;
  /** By how much its clock is ahead of the world's, in milliseconds. */
  skew: number;
}

export interface WorkerOptions {
  readonly name: string;
  readonly surroundings: Surroundings;
  readonly connection: Omit<FaultyLogOptions, "owner">;
  readonly stepConcurrency: number;
  readonly skew: number;
  readonly time: () => number;
  readonly newRunId: () => string;
  readonly body: (ctx: WorkflowContext, owner: Owner) => Promise<unknown>;
  readonly dispatch: (runId: string, at?: number) => void;
}

export const createWorker = (options: WorkerOptions): Worker => {
  const { name, surroundings, connection, stepConcurrency, skew, time, newRunId, body, dispatch } = options;
  const owner: Owner = { name, alive: true };
  const clock = (): number => time() + worker.skew;
  const faulty = createFaultyLog({ ...connection, owner });
  const journal = createJournal(surroundings.log?.(faulty) ?? faulty, { index: noIndex, clock });
  const engine = createWorkflowEngine({
    workflows: { generated: { run: (_, ctx) => body(ctx, owner) } },
    journal: surroundings.journal?.(journal) ?? journal,
    streams: createMemoryStreams(),
    newRunId,
    stepConcurrency,
    clock,
    dispatch: (runId, at) => {
      if (owner.alive) dispatch(runId, at);
    },
  });
  const worker: Worker = Object.assign(owner, { engine, skew });
  return worker;
};

const noIndex = (): never => {
  throw new Error("the simulated worlds list no runs");
};
