/**
 * `runstream/executor`: one attempt of one step over a World of the Workflow SDK, and what a dispatcher needs around it: who owns a step,
 * what to measure, and when a wait is continued.
 */
export { FatalError, RetryableError } from "../engine/step-errors.ts";
export { type EncryptionKey, importEncryptionKey, RuntimeDecryptionError } from "./encryption.ts";
export { DEFAULT_STEP_MAX_RETRIES, executeStep } from "./execute-step.ts";
export { dehydrate, hydrate, type PayloadOptions } from "./payload.ts";
export { SerializationError } from "./serialization-error.ts";
export { SPEC_VERSION } from "./spec-version.ts";
export { type StepContext, stepContext } from "./step-context.ts";
export type { InlineEventDelta, StepExecutionResult, StepExecutorParams } from "./step-execution.ts";
export {
  computeStepLatencyEventData,
  computeStepLatencyTracking,
  runIdCreatedAt,
  type StepLatencyMoment,
  type StepLatencyTracking,
  type StepLatencyView,
} from "./step-latency.ts";
export {
  backstopIdempotencyKey,
  dispatchPendingStep,
  hasPendingStepOwnedByMessage,
  isStepOwnershipActive,
  ownershipLeaseSeconds,
  type PendingStepDispatch,
  type StepOwnership,
  stepLeaseRemainingSeconds,
  stepOwnershipOf,
} from "./step-ownership.ts";
export { registerStep, type StepFunction } from "./step-registry.ts";
export { runStepSingleFlight } from "./step-single-flight.ts";
export {
  getWaitContinuationDispatch,
  NEAR_ELAPSED_WAIT_THRESHOLD_SECONDS,
  WAIT_CONTINUATION_MAX_DELAY_SECONDS,
  type WaitContinuationDispatch,
} from "./wait-continuation.ts";
export type {
  HealthCheckPayload,
  Queue,
  QueueOptions,
  QueuePayload,
  RunInput,
  StepInvokePayload,
  Storage,
  Streamer,
  WorkflowInvokePayload,
  World,
} from "./world.ts";
export type {
  Hook,
  Step,
  StepWithoutData,
  Wait,
  WorkflowRun,
  WorkflowRunStatus,
  WorkflowRunWithoutData,
} from "./world-entities.ts";
export {
  EntityConflictError,
  HookNotFoundError,
  PreconditionFailedError,
  RunExpiredError,
  RunNotSupportedError,
  ThrottleError,
  TooEarlyError,
  WorkflowRunNotFoundError,
  WorkflowWorldError,
} from "./world-errors.ts";
export type {
  AttributeChange,
  AttributeWriter,
  CreateEventParams,
  CreateEventRequest,
  Event,
  EventResult,
  EventType,
  PaginatedResponse,
  PaginationOptions,
  ResolveData,
  RunCreatedEventRequest,
  SerializedData,
  StepEventRequest,
  StepLatencyEventData,
} from "./world-events.ts";
