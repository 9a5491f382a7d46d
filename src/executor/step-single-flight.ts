/** One execution of a step at a time in this process: two messages about one step often arrive together. Not a lock between processes. */
import type { StepExecutionResult } from "./step-execution.ts";

const flights = new Map<string, Promise<unknown>>();

/**
 * Runs `execute`, unless the same step of the same run is being executed here: then waits for that to be over, well or badly, and
 * answers `skipped`. A failure belongs to whoever ran the step, and to its message.
 */
export const runStepSingleFlight = async (
  runId: string,
  correlationId: string,
  execute: () => Promise<StepExecutionResult>,
): Promise<StepExecutionResult> => {
  const key = JSON.stringify([runId, correlationId]);
  const flying = flights.get(key);
  if (flying !== undefined) {
    await flying.catch(() => undefined);
    return { type: "skipped" };
  }
  const flight = (async () => execute())();
  flights.set(key, flight);
  try {
    return await flight;
  } finally {
    flights.delete(key);
  }
};
