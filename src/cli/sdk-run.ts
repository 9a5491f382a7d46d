/**
 * What an operator may do to a run of the Workflow SDK, by the rules of its World: end it. What only the application can do is refused with
 * the name of the function that does it.
 */
import type { EventLog } from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";
import type { WorkflowRunStatus } from "../executor/world-entities.ts";
import type { RunstreamWorld } from "../integrations/workflow-sdk/index.ts";
import { CliError } from "./usage-error.ts";

const onWorld = async <T>(log: EventLog, work: (world: RunstreamWorld) => Promise<T>): Promise<T> => {
  const { createWorld } = await import("../integrations/workflow-sdk/index.ts");
  const world = createWorld({ store: log });
  try {
    return await work(world);
  } finally {
    await world.close();
  }
};

/** Ends the run as the SDK's own `cancelRun` does; `cancelled` only where it was not over. Throws what the World's rules refuse. */
export const cancelSdkRun = (
  log: EventLog,
  runId: string,
  reason: string | undefined,
): Promise<{ readonly cancelled: boolean; readonly status: WorkflowRunStatus }> =>
  onWorld(log, async ({ runs, events }) => {
    const { status, specVersion } = await runs.get(runId, { resolveData: "none" });
    if (status !== "pending" && status !== "running") return { cancelled: false, status };
    try {
      await events.create(runId, {
        eventType: "run_cancelled",
        ...(specVersion !== undefined && { specVersion }),
        ...(reason !== undefined && { eventData: { cancelReason: reason } }),
      });
      return { cancelled: true, status: "cancelled" };
    } catch (error) {
      const now = (await runs.get(runId, { resolveData: "none" })).status;
      if (now !== "pending" && now !== "running") return { cancelled: false, status: now };
      throw StoreError.is(error) || !(error instanceof Error)
        ? error
        : new CliError(error.message, undefined, error);
    }
  });

/** The run of the Workflow SDK whose hook has the token; `undefined` where no such hook can be answered. */
export const sdkRunWithToken = (log: EventLog, token: string): Promise<string | undefined> =>
  onWorld(log, async ({ hooks }) => {
    try {
      return (await hooks.getByToken(token, { resolveData: "none" })).runId;
    } catch (error) {
      if (error instanceof Error && error.name === "HookNotFoundError") return undefined;
      throw error;
    }
  });

export const ofTheSdk = (runId: string): string => `Run ${runId} is one of the Workflow SDK`;
