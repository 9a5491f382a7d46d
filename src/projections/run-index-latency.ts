/**
 * Latencies of runs in the run index. The index does not see the events of steps: reading them all would make filling it several times as
 * long. It folds a run's own stream when it is asked about that run first, and keeps the result beside the row.
 *
 * A run that is over gets no more steps, so that what was folded stays true; of a run that goes on nothing is said.
 */
import type { DatabaseSync } from "node:sqlite";
import type { EventLog } from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";
import { readHistory } from "./history.ts";
import { latencyFold, type RunLatency } from "./latency.ts";
import type { RunSummary } from "./run-index-queries.ts";
import { storedText } from "./run-index-schema.ts";
import { isTerminal } from "./run-state.ts";

/** The runs with their latency, where it can be had. `stopped` says that nobody wants it any more. */
export type RunLatencies = (
  runs: readonly RunSummary[],
  stopped: () => boolean,
) => Promise<readonly RunSummary[]>;

export const runLatencies = (database: DatabaseSync, log: EventLog): RunLatencies => {
  const get = database.prepare("SELECT latency FROM runs WHERE run = ?");
  const put = database.prepare("UPDATE runs SET latency = ? WHERE run = ?");

  const latencyOfRun = async (runId: string): Promise<RunLatency | undefined> => {
    const kept = get.get(storedText(runId))?.latency;
    if (typeof kept === "string") return JSON.parse(kept) as RunLatency;
    const { add, latency } = latencyFold();
    try {
      for await (const entry of readHistory(log, runId)) add(entry);
    } catch (error) {
      // A run that cannot be read holds up no other (R2); `problem` says so of it.
      if (StoreError.is(error) && error.error._tag === "Corrupt") return undefined;
      throw error;
    }
    const found = latency();
    put.run(JSON.stringify(found), storedText(runId));
    return found;
  };

  return async (runs, stopped) => {
    const answered: RunSummary[] = [];
    for (const run of runs) {
      const over = isTerminal(run.status) && run.problem === undefined && !stopped();
      const latency = over ? await latencyOfRun(run.runId) : undefined;
      answered.push(latency === undefined ? run : { ...run, latency });
    }
    return answered;
  };
};
