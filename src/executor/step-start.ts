/**
 * How a step's start is written, and when its body may begin. Awaited: the World has said yes. Optimistic: at once, while the start is
 * on its way; what the body does is then kept only if the start was accepted.
 *
 * Invariants:
 * - S1 A start that fails early is never an unhandled rejection.
 * - S2 A refused start means the same in both modes.
 */
import { flag } from "./environment.ts";
import type { StepExecutionResult, StepExecutorParams } from "./step-execution.ts";
import { type Answers, answerTo, SKIPPED_OR_GONE, type StepJob, sent } from "./step-job.ts";
import { retryAfterSeconds } from "./world-errors.ts";
import type { EventResult } from "./world-events.ts";

/** What the body needs of the step. */
export interface StartedStep {
  readonly attempt: number;
  readonly startedAt?: Date | undefined;
  readonly input?: unknown;
  readonly error?: unknown;
}

/** A start that was accepted, or is on its way. */
export interface Start {
  readonly step: StartedStep;
  readonly optimistic: boolean;
  /** When it was sent, in epoch milliseconds; `undefined` while it waits for the run. */
  readonly sentAtMs: () => number | undefined;
  /** Whether it was refused after all; rejects for trouble. Must be asked before anything else is written. */
  readonly refused: () => Promise<StepExecutionResult | undefined>;
}

const START_ANSWERS: Answers = {
  ...SKIPPED_OR_GONE,
  tooEarly: (error) => ({ type: "retry", timeoutSeconds: retryAfterSeconds(error) }),
  throttled: (error) => ({ type: "throttled", timeoutSeconds: retryAfterSeconds(error) }),
};

/** Whether the body may begin before its start is accepted. `WORKFLOW_OPTIMISTIC_INLINE_START` is read now. */
const startsOptimistically = ({
  lazyStepInput,
  suppressOptimisticStart,
  forceOptimisticStart,
}: StepExecutorParams): boolean => {
  if (lazyStepInput === undefined || suppressOptimisticStart === true) return false;
  return flag("WORKFLOW_OPTIMISTIC_INLINE_START") ?? forceOptimisticStart === true;
};

/** Sends the start. A lazy one carries the input and makes the step; a bare one without an owner clears the owner. */
export const sendStart = (job: StepJob): Promise<EventResult> => {
  const { stepName, workflowName, lazyStepInput, ownerMessageId, stateUpdatedAt } = job.params;
  const owner = ownerMessageId === undefined ? {} : { ownerMessageId };
  return job.send(
    "step_started",
    lazyStepInput === undefined
      ? { stepName, ...owner }
      : { stepName, workflowName, input: lazyStepInput, ...owner },
    stateUpdatedAt === undefined ? undefined : { stateUpdatedAt },
  );
};

/** Starts the step, one way or the other. */
export const startStep = (job: StepJob): Promise<Start | { verdict: StepExecutionResult }> =>
  startsOptimistically(job.params) ? Promise.resolve(optimistic(job)) : awaited(job);

const awaited = async (job: StepJob): Promise<Start | { verdict: StepExecutionResult }> => {
  let sentAt: number | undefined;
  const send = async (): Promise<EventResult> => {
    if (job.params.lazyStepInput !== undefined) await job.params.runReadyBarrier;
    sentAt = Date.now();
    return sendStart(job);
  };
  const answer = await sent(send(), START_ANSWERS);
  if ("verdict" in answer) return answer;
  const { step } = answer.reply;
  if (step === undefined) {
    throw new Error(
      `The World accepted the start of step ${job.params.stepId} of run ${job.params.workflowRunId} and did not answer the step: its events.create breaks the contract`,
    );
  }
  return { step, optimistic: false, sentAtMs: () => sentAt, refused: async () => undefined };
};

const optimistic = (job: StepJob): Start => {
  const { runReadyBarrier, lazyStepInput } = job.params;
  let sentAt: number | undefined;
  const send = async (): Promise<EventResult> => {
    sentAt = Date.now();
    return sendStart(job);
  };
  const sending = runReadyBarrier === undefined ? send() : runReadyBarrier.then(send);
  const outcome = sending.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  return {
    step: { attempt: 1, startedAt: new Date(), input: lazyStepInput },
    optimistic: true,
    sentAtMs: () => sentAt,
    refused: async () => {
      const rejection = await outcome;
      if (rejection === undefined) return undefined;
      const verdict = answerTo(rejection.error, START_ANSWERS);
      if (verdict === undefined) throw rejection.error;
      return verdict;
    },
  };
};
