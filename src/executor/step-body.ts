/**
 * Running the body: its input read, the function called in its context, what it answers turned into bytes. Whatever goes wrong here,
 * in our part or in the body's, is an outcome and never a rejection; nothing is written to the log.
 */
import { deploymentUrl } from "./environment.ts";
import { operationsPending } from "./pending-operations.ts";
import { SerializationError } from "./serialization-error.ts";
import { inStepContext, type StepContext } from "./step-context.ts";
import type { StepJob } from "./step-job.ts";
import type { StepFunction } from "./step-registry.ts";
import type { Start } from "./step-start.ts";

/** What the body did. `calledAtMs` is when it began, in epoch milliseconds; missing if it never did. */
export type BodyOutcome = { readonly calledAtMs?: number | undefined } & (
  | { readonly ok: true; readonly result: Uint8Array; readonly hasPendingOps: boolean }
  | { readonly ok: false; readonly thrown: unknown }
);

/** The mark of an input that could not be stored: the step was created only to fail. Other writers of the format use the same one. */
const UNSERIALIZABLE_INPUT = "__workflowUnserializableStepInput";

interface StepInput {
  readonly args: never[];
  readonly thisVal?: unknown;
  readonly closureVars?: Record<string, unknown>;
}

const inputOf = (value: unknown, { stepName, stepId, workflowRunId }: StepJob["params"]): StepInput => {
  const step = `step ${JSON.stringify(stepName)} (${stepId} of run ${workflowRunId})`;
  if (typeof value === "object" && value !== null) {
    if ((value as Record<string, unknown>)[UNSERIALIZABLE_INPUT] === true) {
      throw new SerializationError(
        `The arguments of ${step} could not be stored: pass plain data, or give their classes a serialised form`,
      );
    }
    if (Array.isArray((value as { args?: unknown }).args)) return value as StepInput;
  }
  throw new TypeError(
    `The input of ${step} is not a list of arguments: whoever makes a step stores { args: […] }`,
  );
};

/** Runs the body of an attempt. Never rejects. */
export const runBody = async (job: StepJob, fn: StepFunction, start: Start): Promise<BodyOutcome> => {
  const { params, scope } = job;
  let calledAtMs: number | undefined;
  try {
    const { startedAt } = start.step;
    if (startedAt === undefined) {
      throw new TypeError(
        `The World answered step ${params.stepId} of run ${params.workflowRunId} without the time of its start: its events.create breaks the contract`,
      );
    }
    const key = await job.key();
    const { args, thisVal, closureVars } = inputOf(await job.payloads.hydrate(start.step.input), params);
    const context: StepContext = {
      ...contextOf(job, start.step.attempt, startedAt, key !== undefined),
      ...(closureVars === undefined ? {} : { closureVars }),
      ...(key === undefined ? {} : { encryptionKey: key }),
      ...(start.optimistic && scope.ready !== undefined ? { runReadyBarrier: scope.ready } : {}),
    };
    calledAtMs = Date.now();
    const value = await inStepContext(context, () => fn.apply(thisVal ?? null, args));
    const result = await job.result(value);
    for (const writing of scope.writers.map((busy) => busy()))
      if (writing !== undefined) scope.ops.push(writing);
    const hasPendingOps = await operationsPending(scope.ops, {
      runId: params.workflowRunId,
      stepId: params.stepId,
    });
    return { ok: true, result, hasPendingOps, calledAtMs };
  } catch (thrown) {
    return { ok: false, thrown, calledAtMs };
  } finally {
    for (const end of scope.teardown) end();
  }
};

const contextOf = (job: StepJob, attempt: number, stepStartedAt: Date, encryption: boolean): StepContext => {
  const { params, scope } = job;
  return {
    stepMetadata: { stepName: params.stepName, stepId: params.stepId, stepStartedAt, attempt },
    workflowMetadata: {
      workflowName: params.workflowName,
      workflowRunId: params.workflowRunId,
      workflowStartedAt: new Date(params.workflowStartedAt),
      url: deploymentUrl(),
      features: { encryption },
    },
    ...(params.workflowDeploymentId === undefined
      ? {}
      : { workflowDeploymentId: params.workflowDeploymentId }),
    ...(params.rootRunId === undefined ? {} : { rootRunId: params.rootRunId }),
    ops: scope.ops,
    preCompletionOps: scope.preCompletionOps,
    writables: new Map(),
  };
};
