/** Which events a step accepts: created once, started any number of times, ended once. */
import { left, right } from "fp-ts/lib/Either.js";
import {
  EntityConflictError,
  RunExpiredError,
  TooEarlyError,
  WorkflowWorldError,
} from "../../executor/world-errors.ts";
import type { StepEventRequest } from "../../executor/world-events.ts";
import type { AnyRequest, Mint, RequestOf, SdkRequest, Verdict } from "./requests.ts";
import { isOver, type SdkRunState } from "./run-fold.ts";

type LazyStart = RequestOf<"step_started"> & { eventData: { stepName: string; input: unknown } };

/** Is it a start that brings its step along? */
export const isLazyStart = (event: AnyRequest): event is LazyStart =>
  event.eventType === "step_started" &&
  typeof event.eventData?.stepName === "string" &&
  event.eventData.input !== undefined;

export const decideStep = (
  { runId, event, now }: SdkRequest<StepEventRequest>,
  state: SdkRunState,
  mint: Mint,
): Verdict => {
  const stepId = event.correlationId;
  const step = state.steps.get(stepId);
  const where = `Step ${stepId} of run ${runId}`;
  if (event.eventType === "step_created" || isLazyStart(event)) {
    if (step !== undefined) return left(new EntityConflictError(`${where} exists already.`));
    return event.eventType === "step_created" ? stepEvent(stepId, mint, event) : startLazily(event, mint);
  }
  if (step === undefined) return left(new WorkflowWorldError(`${where} not found.`, { status: 404 }));
  if (step.status !== "pending" && step.status !== "running")
    return left(new EntityConflictError(`${where} is ${step.status}, and stays so.`));
  if (isOver(state.run) && (step.status !== "running" || event.eventType === "step_started"))
    return left(
      new RunExpiredError(
        `${where} is not running, and its run is ${state.run?.status}: nothing more happens to it.`,
      ),
    );
  if (event.eventType === "step_started" && step.retryAfter !== undefined) {
    const remaining = step.retryAfter.getTime() - now;
    if (remaining > 0)
      return left(
        new TooEarlyError(`${where} is to be tried again at ${step.retryAfter.toISOString()}, not before.`, {
          retryAfter: Math.ceil(remaining / 1_000),
        }),
      );
  }
  if (event.eventType === "step_retrying" && event.eventData.retryAfter !== undefined) {
    const retryAfter = new Date(event.eventData.retryAfter);
    return stepEvent(stepId, mint, { ...event, eventData: { ...event.eventData, retryAfter } });
  }
  return stepEvent(stepId, mint, event);
};

const stepEvent = (stepId: string, mint: Mint, fields: object): Verdict => {
  const event = mint(fields);
  return right({
    events: [event],
    answer: ({ steps }) => {
      const step = steps.get(stepId);
      return { event, ...(step !== undefined && { step }) };
    },
  });
};

/** Two events: the step with its input, and its start without. */
const startLazily = (event: LazyStart, mint: Mint): Verdict => {
  const { input, ...rest } = event.eventData;
  const { stepName, workflowName } = rest;
  const created = mint({
    ...event,
    eventType: "step_created",
    eventData: { stepName, ...(workflowName !== undefined && { workflowName }), input },
  });
  const started = mint({ ...event, eventData: rest });
  return right({
    events: [created, started],
    answer: ({ steps }) => {
      const step = steps.get(event.correlationId);
      return { event: started, ...(step !== undefined && { step }), stepCreated: true };
    },
  });
};
