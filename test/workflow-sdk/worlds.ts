/** Worlds for tests: over a log that a test holds, with a clock that it sets. */

import { silentLogger } from "../../src/engine/logger.ts";
import type { EventLog } from "../../src/events/event-log.ts";
import type {
  CreateEventRequest,
  EventResult,
  RunCreatedEventRequest,
} from "../../src/executor/world-events.ts";
import type { WorldOptions } from "../../src/integrations/workflow-sdk/index.ts";
import { createWorld, type RunstreamWorld } from "../../src/integrations/workflow-sdk/index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";

export const worldOver = (log: EventLog, options: WorldOptions = {}): RunstreamWorld =>
  createWorld({ store: log, logger: silentLogger, ...options });

export const memoryWorld = (options: WorldOptions = {}): RunstreamWorld =>
  worldOver(createMemoryLog(), options);

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const textOf = (value: unknown): string => new TextDecoder().decode(value as Uint8Array);

const creation = { deploymentId: "dpl_1", workflowName: "wf", input: bytes('devl["in"]') };

/** A run that has been created, and started unless told otherwise. */
export const newRun = async (world: RunstreamWorld, started = true): Promise<string> => {
  const { run } = await world.events.create(null, { eventType: "run_created", eventData: creation });
  if (run === undefined) throw new Error("no run was answered");
  if (started) await world.events.create(run.runId, { eventType: "run_started" });
  return run.runId;
};

/** What a run may be asked to record; that it is created once is asked of it too. */
type Request = CreateEventRequest | RunCreatedEventRequest;

/** Requests by their short names; the correlation id is the first argument. */
export const requests = {
  created: { eventType: "run_created", eventData: creation },
  started: { eventType: "run_started" },
  resilient: { eventType: "run_started", eventData: creation },
  completed: { eventType: "run_completed", eventData: { output: bytes('devl["out"]') } },
  failed: { eventType: "run_failed", eventData: { error: bytes('devl["bad"]'), errorCode: "USER_ERROR" } },
  cancelled: { eventType: "run_cancelled" },
} as const satisfies Record<string, Request>;

export const step = {
  created: (id: string): CreateEventRequest => ({
    eventType: "step_created",
    correlationId: id,
    eventData: { stepName: "add", input: bytes("devl[1]") },
  }),
  lazy: (id: string, ownerMessageId?: string): CreateEventRequest => ({
    eventType: "step_started",
    correlationId: id,
    eventData: {
      stepName: "add",
      workflowName: "wf",
      input: bytes("devl[1]"),
      ...(ownerMessageId !== undefined && { ownerMessageId }),
    },
  }),
  started: (id: string): CreateEventRequest => ({
    eventType: "step_started",
    correlationId: id,
    eventData: { stepName: "add" },
  }),
  completed: (id: string, result = "devl[3]"): CreateEventRequest => ({
    eventType: "step_completed",
    correlationId: id,
    eventData: { stepName: "add", result: bytes(result) },
  }),
  failed: (id: string): CreateEventRequest => ({
    eventType: "step_failed",
    correlationId: id,
    eventData: { stepName: "add", error: bytes("devl[0]") },
  }),
  retrying: (id: string, retryAfter?: Date): CreateEventRequest => ({
    eventType: "step_retrying",
    correlationId: id,
    eventData: {
      stepName: "add",
      error: bytes("devl[0]"),
      ...(retryAfter !== undefined && { retryAfter }),
    },
  }),
};

export const hook = {
  created: (id: string, token: string): CreateEventRequest => ({
    eventType: "hook_created",
    correlationId: id,
    eventData: { token, metadata: bytes('devl["meta"]') },
  }),
  received: (id: string, payload = "devl[5]"): CreateEventRequest => ({
    eventType: "hook_received",
    correlationId: id,
    eventData: { payload: bytes(payload) },
  }),
  disposed: (id: string): CreateEventRequest => ({ eventType: "hook_disposed", correlationId: id }),
};

export const wait = {
  created: (id: string, resumeAt: Date): CreateEventRequest => ({
    eventType: "wait_created",
    correlationId: id,
    eventData: { resumeAt },
  }),
  completed: (id: string): CreateEventRequest => ({ eventType: "wait_completed", correlationId: id }),
};

/** Sends requests to a run one after the other; answers what each one did, or the name of its refusal. */
export const send = async (
  world: RunstreamWorld,
  runId: string,
  ...all: readonly Request[]
): Promise<string[]> => {
  const outcomes: string[] = [];
  for (const request of all)
    outcomes.push(await outcomeOf(world.events.create(runId, request as CreateEventRequest)));
  return outcomes;
};

export const outcomeOf = (answer: Promise<EventResult>): Promise<string> =>
  answer.then(
    ({ event }) => event?.eventType ?? "nothing",
    (error: Error) => error.name,
  );

/** The events of a run, as `type correlationId`. */
export const logOf = async (world: RunstreamWorld, runId: string): Promise<string[]> => {
  const { data } = await world.events.list({ runId });
  return data.map(({ eventType, correlationId }) => [eventType, correlationId ?? ""].join(" ").trim());
};
