/** Decisions about a run's life: created once, started once, ended once. */
import type { RunCreated, RunEvent } from "../../events/catalogue.ts";
import type { Payload } from "../../events/payload.ts";
import { isTerminal, type RunStatus } from "../../projections/run-state.ts";
import { already, type Decide, decided, rejected } from "./decision.ts";

export interface StatusPatch {
  readonly output?: Payload | undefined;
  readonly error?: { readonly message: string } | undefined;
  readonly reason?: string | undefined;
}

const endOf = (status: RunStatus, patch: StatusPatch, at: number): RunEvent | undefined => {
  switch (status) {
    case "completed":
      return {
        type: "RunCompleted",
        data: { at, ...(patch.output !== undefined && { output: patch.output }) },
      };
    case "failed":
      return { type: "RunFailed", data: { at, error: patch.error ?? { message: "The run failed." } } };
    case "cancelled":
      return {
        type: "RunCancelled",
        data: { at, ...(patch.reason !== undefined && { reason: patch.reason }) },
      };
    case "pending":
    case "running":
      return undefined;
    default:
      return status satisfies never;
  }
};

/** A run is created once. A record that is further on already (an import) is created with the facts that brought it there. */
export const createRun =
  (data: RunCreated["data"], status: RunStatus = "pending", patch: StatusPatch = {}): Decide<void> =>
  (state) => {
    if (state.created !== undefined) return rejected("RunExists");
    const events: RunEvent[] = [{ type: "RunCreated", data }];
    if (status === "running") events.push({ type: "RunStarted", data: { at: data.createdAt } });
    const end = endOf(status, patch, data.createdAt);
    return end === undefined ? decided(undefined, ...events) : decided(undefined, ...events, end);
  };

/**
 * Moves the status if it is one of `expect`; answers whether it is there now.
 * A run that is over stays as it is: a caller that expected nothing is answered, not obeyed (law L4).
 */
export const moveStatus =
  (
    next: RunStatus,
    patch: StatusPatch,
    expect: readonly RunStatus[] | undefined,
    at: number,
  ): Decide<boolean> =>
  (state) => {
    if (state.created === undefined) return already(false);
    if (expect !== undefined && !expect.includes(state.status)) return already(false);
    if (isTerminal(state.status)) return already(true);
    if (next === "running" && state.status === "pending")
      return decided(true, { type: "RunStarted", data: { at } });
    const end = endOf(next, patch, at);
    return end === undefined ? already(true) : decided(true, end);
  };
