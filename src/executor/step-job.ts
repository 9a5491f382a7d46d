/**
 * One execution under way: its parameters, its key, its values, and how it writes to the World. It holds no state that outlives the
 * call, and decides nothing.
 */
import { type EncryptionKey, importEncryptionKey } from "./encryption.ts";
import { type LivePayloads, livePayloads } from "./payload.ts";
import { type LiveScope, Operations } from "./payload-scope.ts";
import { SerializationError } from "./serialization-error.ts";
import { COMPRESSION_SPEC_VERSION, SPEC_VERSION } from "./spec-version.ts";
import type { StepExecutionResult, StepExecutorParams } from "./step-execution.ts";
import { standInFor } from "./step-failure.ts";
import { type WorldAnswer, worldAnswerOf } from "./world-errors.ts";
import type { CreateEventParams, EventResult, StepEventRequest } from "./world-events.ts";

type DataOf<T extends StepEventRequest["eventType"]> = Extract<
  StepEventRequest,
  { eventType: T }
>["eventData"];

/** An execution under way. */
export interface StepJob {
  readonly params: StepExecutorParams;
  readonly scope: LiveScope;
  readonly payloads: LivePayloads;
  /** The run's key. The World is asked at most once, and only if somebody needs it. */
  readonly key: () => Promise<EncryptionKey | undefined>;
  /** Bytes for a result. Throws `SerializationError`. */
  result(value: unknown): Promise<Uint8Array>;
  /** Bytes for whatever was thrown; what cannot be stored is replaced by its name, message and stack. */
  error(thrown: unknown): Promise<Uint8Array>;
  send<T extends StepEventRequest["eventType"]>(
    eventType: T,
    eventData: DataOf<T>,
    eventParams?: CreateEventParams,
  ): Promise<EventResult>;
}

/** Opens an execution. Nothing is asked of the World yet. */
export const openJob = (params: StepExecutorParams): StepJob => {
  const { world, workflowRunId: runId, stepId } = params;
  let asked: Promise<EncryptionKey | undefined> | undefined;
  const key = (): Promise<EncryptionKey | undefined> => {
    asked ??= keyOf(params);
    return asked;
  };
  params.runReadyBarrier?.catch(() => undefined);
  const scope: LiveScope = {
    world,
    runId,
    key,
    ready: params.runReadyBarrier,
    ops: new Operations(),
    preCompletionOps: new Operations(),
    writers: [],
    teardown: [],
  };
  const payloads = livePayloads(scope);
  const compression = (params.runSpecVersion ?? 0) >= COMPRESSION_SPEC_VERSION;
  const stored = (value: unknown, what: string): Promise<Uint8Array> =>
    payloads.dehydrate(value, { compression, what });
  return {
    params,
    scope,
    payloads,
    key,
    result: (value) => stored(value, `The result of step "${params.stepName}"`),
    error: async (thrown) => {
      const what = `What step "${params.stepName}" threw`;
      try {
        return await stored(thrown, what);
      } catch (problem) {
        if (!(problem instanceof SerializationError)) throw problem;
        return stored(standInFor(thrown), what);
      }
    },
    send: async (eventType, eventData, eventParams) => {
      const request = { eventType, specVersion: SPEC_VERSION, correlationId: stepId, eventData };
      return eventParams === undefined
        ? world.events.create(runId, request as StepEventRequest)
        : world.events.create(runId, request as StepEventRequest, eventParams);
    },
  };
};

const keyOf = async ({
  encryptionKey,
  world,
  workflowRunId,
  workflowDeploymentId,
}: StepExecutorParams): Promise<EncryptionKey | undefined> => {
  if (encryptionKey !== undefined) return encryptionKey;
  const raw = await world.getEncryptionKeyForRun?.(
    workflowRunId,
    workflowDeploymentId === undefined ? undefined : { deploymentId: workflowDeploymentId },
  );
  return raw === undefined ? undefined : importEncryptionKey(raw);
};

/** Which of a World's refusals are an answer here, and what they mean. */
export type Answers = Partial<Record<WorldAnswer, (error: unknown) => StepExecutionResult>>;

/** The meaning of a refusal; `undefined` when it is not an answer, but trouble. */
export const answerTo = (error: unknown, answers: Answers): StepExecutionResult | undefined => {
  const answer = worldAnswerOf(error);
  return answer === undefined ? undefined : answers[answer]?.(error);
};

/** Sends an event. A refusal that is an answer becomes one; every other error is thrown. */
export const sent = async (
  sending: Promise<EventResult>,
  answers: Answers,
): Promise<{ reply: EventResult } | { verdict: StepExecutionResult }> => {
  try {
    return { reply: await sending };
  } catch (error) {
    const verdict = answerTo(error, answers);
    if (verdict === undefined) throw error;
    return { verdict };
  }
};

/** Somebody else settled the step, or has it. */
export const SKIPPED_ON_CONFLICT: Answers = { conflict: () => ({ type: "skipped" }) };

/** The same, or the run is over. */
export const SKIPPED_OR_GONE: Answers = { ...SKIPPED_ON_CONFLICT, expired: () => ({ type: "gone" }) };
