/**
 * One attempt of one step: its start and its outcome written to the World, and a verdict for the caller. Read from top to bottom.
 *
 * Not a scheduler: it enqueues nothing, retries nothing and waits for nobody; what follows from a verdict is the caller's.
 *
 * Invariants:
 * - X1 A rejection means trouble: deliver the message again. One exception: 412 (`PreconditionFailedError`) means that the caller
 *   decided on an old view of the run and has to replay it.
 * - X2 Trouble with the World is never taken for a failure of the body: it uses up no attempt.
 * - X3 An outcome is written only after the start was accepted; the outcome of a body whose start was refused is dropped.
 * - X4 No body runs more often than its retries allow, even if it never lived to report a failure.
 */

import { type BodyOutcome, runBody } from "./step-body.ts";
import type { StepExecutionResult, StepExecutorParams } from "./step-execution.ts";
import {
  exceededRetries,
  failedAfterRetries,
  isFatal,
  notRegistered,
  retryInstantOf,
  secondsUntil,
  withAbortsFinal,
} from "./step-failure.ts";
import {
  type Answers,
  openJob,
  SKIPPED_ON_CONFLICT,
  SKIPPED_OR_GONE,
  type StepJob,
  sent,
} from "./step-job.ts";
import { computeStepLatencyEventData } from "./step-latency.ts";
import { registeredStep } from "./step-registry.ts";
import { type Start, sendStart, startStep } from "./step-start.ts";
import { nameOf } from "./thrown.ts";
import type { EventResult, StepLatencyEventData } from "./world-events.ts";

/** How often a step is tried again after a failure, where its function does not say. */
export const DEFAULT_STEP_MAX_RETRIES = 3;

/**
 * Executes one attempt of a step. See {@link StepExecutionResult} for the verdicts. Rejects with the World's own error when it can
 * neither write nor read, and with the error of the key when the run's key cannot be used.
 */
export const executeStep = async (params: StepExecutorParams): Promise<StepExecutionResult> => {
  const job = openJob(params);
  const fn = registeredStep(params.stepName);
  if (fn === undefined) return failUnregistered(job);

  const maxRetries = fn.maxRetries ?? DEFAULT_STEP_MAX_RETRIES;
  const { stepName, authoritativeAttempt = 1 } = params;
  if (authoritativeAttempt > maxRetries + 1) {
    return failWith(job, exceededRetries(stepName, authoritativeAttempt - 1), SKIPPED_OR_GONE);
  }

  const start = await startStep(job);
  if ("verdict" in start) return start.verdict;
  const { attempt, error: previous } = start.step;
  if (attempt > maxRetries + 1 && previous !== undefined && previous !== null) {
    const cause = await job.payloads.hydrate(previous).catch(() => undefined);
    return failWith(job, exceededRetries(stepName, attempt - 1, cause), SKIPPED_ON_CONFLICT);
  }

  const body = await runBody(job, fn, start);
  const refused = await start.refused();
  if (refused !== undefined) return refused;
  await Promise.allSettled(job.scope.preCompletionOps);

  const latency = latencyOf(job, start, body);
  if (body.ok) return complete(job, body.result, body.hasPendingOps, latency);
  const thrown = withAbortsFinal(body.thrown);
  if (nameOf(thrown) === "RunExpiredError") return { type: "gone" };
  if (isFatal(thrown)) return failWith(job, thrown, SKIPPED_ON_CONFLICT, latency);
  if (attempt > maxRetries) {
    const last = failedAfterRetries(stepName, maxRetries, thrown);
    return failWith(job, last, SKIPPED_ON_CONFLICT, latency);
  }
  return retry(job, thrown);
};

/** A step that nobody can run is made first, if it is not there: a terminal event of a step that does not exist would be refused for ever. */
const failUnregistered = async (job: StepJob): Promise<StepExecutionResult> => {
  const { lazyStepInput, runReadyBarrier, stepName } = job.params;
  if (lazyStepInput !== undefined) {
    await runReadyBarrier?.catch(() => undefined);
    const made = await sent(sendStart(job), SKIPPED_OR_GONE);
    if ("verdict" in made) return made.verdict;
  }
  return failWith(job, notRegistered(stepName), SKIPPED_ON_CONFLICT);
};

const failWith = async (
  job: StepJob,
  thrown: unknown,
  answers: Answers,
  latency?: StepLatencyEventData,
): Promise<StepExecutionResult> => {
  const error = await job.error(thrown);
  const failed = await sent(
    job.send("step_failed", { stepName: job.params.stepName, error, ...latency }),
    answers,
  );
  return "verdict" in failed ? failed.verdict : { type: "failed" };
};

const complete = async (
  job: StepJob,
  result: Uint8Array,
  hasPendingOps: boolean,
  latency: StepLatencyEventData | undefined,
): Promise<StepExecutionResult> => {
  const { stepName, workflowName, inlineDeltaSinceCursor: sinceCursor } = job.params;
  const completed = await sent(
    job.send(
      "step_completed",
      { stepName, workflowName, result, ...latency },
      sinceCursor === undefined ? undefined : { sinceCursor },
    ),
    SKIPPED_OR_GONE,
  );
  if ("verdict" in completed) return completed.verdict;
  return { type: "completed", hasPendingOps, ...(sinceCursor === undefined ? {} : deltaOf(completed.reply)) };
};

const deltaOf = ({
  events,
  cursor,
  hasMore,
}: EventResult): Pick<Extract<StepExecutionResult, { type: "completed" }>, "inlineDelta"> =>
  events === undefined || cursor === undefined
    ? {}
    : { inlineDelta: { events, cursor, hasMore: hasMore ?? false } };

const retry = async (job: StepJob, thrown: unknown): Promise<StepExecutionResult> => {
  const instant = retryInstantOf(thrown);
  const error = await job.error(thrown);
  const retrying = await sent(
    job.send("step_retrying", {
      stepName: job.params.stepName,
      error,
      ...(instant === undefined ? {} : { retryAfter: instant }),
    }),
    SKIPPED_ON_CONFLICT,
  );
  if ("verdict" in retrying) return retrying.verdict;
  return { type: "retry", timeoutSeconds: secondsUntil(instant, Date.now()) };
};

const latencyOf = (job: StepJob, start: Start, body: BodyOutcome): StepLatencyEventData | undefined => {
  const { latencyTracking: tracking, lazyStepInput } = job.params;
  if (body.calledAtMs === undefined) return undefined;
  return computeStepLatencyEventData({
    tracking,
    stepCodeStartedAtMs: body.calledAtMs,
    stepStartPostSentAtMs: lazyStepInput === undefined ? undefined : start.sentAtMs(),
    attempt: start.step.attempt,
    lazyStepStart: lazyStepInput !== undefined,
    optimisticStart: start.optimistic,
  });
};
