/** Which events hooks and waits accept. Whether a token is free is found out before (tokens.ts); here it is given. */
import { left, right } from "fp-ts/lib/Either.js";
import { EntityConflictError, HookNotFoundError, WorkflowWorldError } from "../../executor/world-errors.ts";
import type { Event } from "../../executor/world-events.ts";
import type { Mint, RequestOf, SdkRequest, Verdict } from "./requests.ts";
import { isOver, liveHook, type SdkRunState } from "./run-fold.ts";

type HookRequest = RequestOf<"hook_created" | "hook_received" | "hook_disposed">;
type WaitRequest = RequestOf<"wait_created" | "wait_completed">;

export const decideHook = (
  { runId, event, tokenHeldBy }: SdkRequest<HookRequest>,
  state: SdkRunState,
  mint: Mint,
): Verdict => {
  const hookId = event.correlationId;
  if (event.eventType !== "hook_created") {
    const hook = liveHook(state, hookId);
    if (hook === undefined) return left(new HookNotFoundError(hookId));
    return hookEvent(hookId, mint(event, event.eventType === "hook_received"));
  }
  if (state.hooks.has(hookId))
    return left(new EntityConflictError(`Hook ${hookId} of run ${runId} exists already.`));
  if (tokenHeldBy === undefined) return hookEvent(hookId, mint(event));
  const { token } = event.eventData;
  const conflict = { token, conflictingRunId: tokenHeldBy };
  return hookEvent(hookId, mint({ ...event, eventType: "hook_conflict", eventData: conflict }));
};

const hookEvent = (hookId: string, event: Event): Verdict =>
  right({
    events: [event],
    answer: (after) => {
      const hook = liveHook(after, hookId);
      return { event, ...(hook !== undefined && { hook }) };
    },
  });

export const decideWait = (
  { runId, event }: SdkRequest<WaitRequest>,
  state: SdkRunState,
  mint: Mint,
): Verdict => {
  const waitId = event.correlationId;
  const wait = state.waits.get(waitId);
  const where = `Wait ${waitId} of run ${runId}`;
  if (event.eventType === "wait_created") {
    if (wait !== undefined) return left(new EntityConflictError(`${where} exists already.`));
    return waitEvent(waitId, mint({ ...event, eventData: dated(event.eventData) }));
  }
  if (wait?.status === "completed") return left(new EntityConflictError(`${where} is over already.`));
  if (wait === undefined || isOver(state.run))
    return left(new WorkflowWorldError(`${where} not found.`, { status: 404 }));
  const { eventData } = event;
  return waitEvent(waitId, mint(eventData === undefined ? event : { ...event, eventData: dated(eventData) }));
};

const dated = <D extends { resumeAt?: Date | undefined }>(data: D): D =>
  data.resumeAt === undefined ? data : { ...data, resumeAt: new Date(data.resumeAt) };

const waitEvent = (waitId: string, event: Event): Verdict =>
  right({
    events: [event],
    answer: ({ waits }) => {
      const wait = waits.get(waitId);
      return { event, ...(wait !== undefined && { wait }) };
    },
  });
