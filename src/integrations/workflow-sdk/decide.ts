/**
 * Which events a run accepts, and what comes of them: the acceptance rules of a World, as pure decisions on the fold of the run's stream.
 *
 * The rules are those of docs/how-to/workflow-sdk.md; the errors are told apart by name (src/executor/world-errors.ts).
 *
 * Invariants:
 * - A1 First terminal wins: of any number of writes that end a run or a step, one is accepted and the others are refused.
 * - A2 A lazy start makes its step: of any number of them one is accepted.
 * - A3 Nothing is received by a hook that is disposed or whose run is over.
 */
import { left, right } from "fp-ts/lib/Either.js";
import { SPEC_VERSION } from "../../executor/spec-version.ts";
import {
  EntityConflictError,
  PreconditionFailedError,
  RunExpiredError,
  RunNotSupportedError,
  WorkflowRunNotFoundError,
  WorkflowWorldError,
} from "../../executor/world-errors.ts";
import type { Event, EventResult } from "../../executor/world-events.ts";
import { attributeFault } from "./attributes.ts";
import { decideStep, isLazyStart } from "./decide-steps.ts";
import { decideHook, decideWait } from "./decide-waits.ts";
import { fresh } from "./fresh.ts";
import { nextEventId } from "./ids.ts";
import type { AnyRequest, Mint, RequestOf, SdkRequest, Verdict } from "./requests.ts";
import { isOver, type SdkRunState, timeOfId } from "./run-fold.ts";
import type { Decide } from "./stream-session.ts";

/** Runs up to this version were made before there were events. */
const LEGACY_SPEC_VERSION = 1;
const LEGACY_EVENTS: ReadonlySet<string> = new Set(["run_cancelled", "wait_completed", "hook_received"]);
const MAX_REASON_LENGTH = 512;

export const decideEvent =
  (request: SdkRequest): Decide<SdkRunState, Event, EventResult> =>
  (state) => {
    const refusal = refuse(request, state);
    if (refusal !== undefined) return left(refusal);
    return decideOn(request, state, mintFor(request, state));
  };

const decideOn = (request: SdkRequest, state: SdkRunState, mint: Mint): Verdict => {
  const { event } = request;
  switch (event.eventType) {
    case "run_created":
      return createRun(event, state, mint);
    case "run_started":
      return startRun(event, state, mint);
    case "run_completed":
    case "run_failed":
      return runEvent(mint(event));
    case "run_cancelled":
      return cancelRun(event, state, mint);
    case "attr_set":
      return setAttributes(event, state, mint);
    case "hook_created":
    case "hook_received":
    case "hook_disposed":
      return decideHook({ ...request, event }, state, mint);
    case "wait_created":
    case "wait_completed":
      return decideWait({ ...request, event }, state, mint);
    default:
      return decideStep({ ...request, event }, state, mint);
  }
};

/** What holds for every event: there is a run, of a version that this World knows, and it takes events of this kind. */
const refuse = ({ runId, event, params }: SdkRequest, state: SdkRunState): Error | undefined => {
  const { run } = state;
  const { eventType } = event;
  if (eventType === "run_created") return undefined;
  if (run === undefined) return isResilientStart(event) ? undefined : new WorkflowRunNotFoundError(runId);
  const { specVersion = SPEC_VERSION } = run;
  if (specVersion > SPEC_VERSION) return new RunNotSupportedError(specVersion, SPEC_VERSION);
  if (specVersion <= LEGACY_SPEC_VERSION && !LEGACY_EVENTS.has(eventType))
    return new WorkflowWorldError(
      `Run ${runId} has spec version ${specVersion}, which takes no ${eventType}: it can be cancelled, woken and answered only.`,
      { status: 400 },
    );
  if (isOver(run)) {
    const over = `Run ${runId} is ${run.status}`;
    if (eventType === "run_started") return new RunExpiredError(`${over}: it cannot be started again.`);
    if (eventType === "run_cancelled" && run.status === "cancelled") return undefined;
    if (RUN_ENDS.has(eventType)) return new EntityConflictError(`${over}, and stays so.`);
    if (eventType === "attr_set") return new EntityConflictError(`${over}: its attributes stay as they are.`);
    if (CREATIONS.has(eventType) || isLazyStart(event))
      return new EntityConflictError(`${over}: nothing can be opened in it.`);
  }
  const { stateUpdatedAt } = params;
  if (stateUpdatedAt !== undefined && state.outsideTime > stateUpdatedAt)
    return new PreconditionFailedError(
      `Run ${runId} has received something since the caller looked at it: read the new events and decide again.`,
    );
  return undefined;
};

const RUN_ENDS: ReadonlySet<string> = new Set(["run_completed", "run_failed", "run_cancelled"]);
const CREATIONS: ReadonlySet<string> = new Set(["step_created", "hook_created", "wait_created"]);

const mintFor = ({ runId, event, params, now }: SdkRequest, state: SdkRunState): Mint => {
  let last: Pick<SdkRunState, "lastId" | "lastTime"> = state;
  const { occurredAt } = params;
  return (fields, fromOutside = false) => {
    const eventId = nextEventId(last, now, fromOutside);
    last = { lastId: eventId, lastTime: timeOfId(eventId) };
    return {
      specVersion: event.specVersion ?? SPEC_VERSION,
      ...fresh(fields),
      runId,
      eventId,
      createdAt: new Date(now),
      ...(occurredAt !== undefined && { occurredAt }),
    } as Event;
  };
};

/** One event of the run itself; the answer is the run. */
const runEvent = (...events: readonly Event[]): Verdict =>
  right({ events, answer: (after) => withRun(after, events.at(-1)) });

const withRun = ({ run }: SdkRunState, event: Event | undefined): EventResult => ({
  ...(event !== undefined && { event }),
  ...(run !== undefined && { run }),
});

type Creation = RequestOf<"run_created">["eventData"];

const isResilientStart = (event: AnyRequest): event is RequestOf<"run_started"> & { eventData: Creation } =>
  event.eventType === "run_started" &&
  typeof event.eventData?.deploymentId === "string" &&
  typeof event.eventData.workflowName === "string" &&
  event.eventData.input !== undefined;

const createRun = (event: RequestOf<"run_created">, { run }: SdkRunState, mint: Mint): Verdict => {
  if (run !== undefined) return left(new EntityConflictError(`Run ${run.runId} exists already.`));
  const fault = creationFault(event.eventData);
  return fault === undefined ? runEvent(mint(event)) : left(fault);
};

const creationFault = ({ attributes = {}, allowReservedAttributes }: Creation): Error | undefined =>
  attributeFault(
    {},
    Object.entries(attributes).map(([key, value]) => ({ key, value })),
    allowReservedAttributes === true,
  );

/** Where the run was never created, a start that carries what it takes creates it first. */
const startRun = (event: RequestOf<"run_started">, { run }: SdkRunState, mint: Mint): Verdict => {
  if (run?.status === "running") return right({ events: [], answer: (after) => withRun(after, undefined) });
  const { eventData: creation, ...start } = event;
  if (run !== undefined || !isResilientStart(event)) return runEvent(mint(start));
  const fault = creationFault(event.eventData);
  if (fault !== undefined) return left(fault);
  return runEvent(mint({ ...start, eventType: "run_created", eventData: creation }), mint(start));
};

const cancelRun = (event: RequestOf<"run_cancelled">, state: SdkRunState, mint: Mint): Verdict => {
  if (state.run?.status === "cancelled")
    return right({ events: [], answer: (after) => withRun(after, after.cancelled) });
  const reason = event.eventData?.cancelReason;
  if (reason !== undefined && reason.length > MAX_REASON_LENGTH)
    return left(
      new WorkflowWorldError(
        `The reason for cancelling has ${reason.length} characters; ${MAX_REASON_LENGTH} is the most.`,
        { status: 400 },
      ),
    );
  return runEvent(mint(event));
};

const setAttributes = (event: RequestOf<"attr_set">, state: SdkRunState, mint: Mint): Verdict => {
  const { changes, writer, allowReservedAttributes } = event.eventData;
  const { correlationId } = event;
  if (writer.type === "workflow" && correlationId !== undefined && state.attributeWrites.has(correlationId))
    return left(new EntityConflictError(`The attributes of ${correlationId} are set already.`));
  const fault = attributeFault(state.run?.attributes ?? {}, changes, allowReservedAttributes === true);
  return fault === undefined ? runEvent(mint(event)) : left(fault);
};
