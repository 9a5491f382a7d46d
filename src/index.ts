/** The public face of Runstream: declaring workflows, running them durably on one machine, and asking about runs. */
export type {
  RunOutcome,
  RunSnapshot,
  RunstreamClient,
  StartOptions,
} from "./embedded/client.ts";
export {
  createInProcessWorkflowEngine,
  type InProcessEngine,
  type InProcessEngineOptions,
} from "./embedded/in-process-engine.ts";
export { createMemoryJournal } from "./embedded/memory-journal.ts";
export { RequestError, type RequestReason } from "./embedded/request-error.ts";
export { openRunstream, type Runstream, type RunstreamOptions } from "./embedded/runstream.ts";
export {
  type KeyUse,
  type PayloadKey,
  type PayloadKeys,
  type PayloadOptions,
  sealedLog,
} from "./embedded/sealed-log.ts";
export type { AttemptLimits } from "./engine/attempts/attempt.ts";
export type { StepAttempt } from "./engine/attempts/attempt-context.ts";
export type { RetryPolicy } from "./engine/attempts/retry-policy.ts";
export { StepTimeoutError } from "./engine/attempts/step-timeout-error.ts";
export { InvalidArgumentError } from "./engine/invalid-argument-error.ts";
export { createJournal, type JournalOptions, type LogJournal } from "./engine/journal/create-journal.ts";
export { JournalConflictError } from "./engine/journal-conflict-error.ts";
export type {
  HookRecord,
  JournalStore,
  ResumableRun,
  RunRecord,
  RunStatus,
  Settlement,
  SleepEntry,
  SleepRecord,
  StepEntry,
} from "./engine/journal-store.ts";
export { consoleLogger, type Logger, silentLogger } from "./engine/logger.ts";
export { createMemoryStreams, type ProgressStreams } from "./engine/progress-streams.ts";
export { Refusal, type RefusalKind } from "./engine/refusals.ts";
export { RejectionError, type RejectionReason } from "./engine/rejection-error.ts";
export { stepInfo, stepSignal } from "./engine/step-context.ts";
export {
  DEFAULT_RETRY_DELAY_MS,
  FatalError,
  RetryableError,
  throwFatalStepError,
  toStepError,
} from "./engine/step-errors.ts";
export { stepFetchOrFail } from "./engine/step-fetch.ts";
export {
  type SleepOptions,
  type StepBody,
  type StepFailure,
  type StepOptions,
  type WaitForOptions,
  type WorkflowContext,
  type WorkflowDef,
  workflow,
} from "./engine/workflow.ts";
export {
  createWorkflowEngine,
  type WorkflowEngine,
  type WorkflowEngineOptions,
} from "./engine/workflow-engine.ts";
export type { HistoryEvent, RunEvent, ThreadEvent } from "./events/catalogue.ts";
export { decodeRunEvent, decodeThreadEvent } from "./events/codec.ts";
export {
  type AppendError,
  type Appended,
  type CaughtUp,
  type Consumed,
  type ConsumeOptions,
  comparePositions,
  type EventData,
  type EventFilter,
  type EventLog,
  type ExpectedRevision,
  type Position,
  type ReadAllOptions,
  type ReadOptions,
  type RecordedEvent,
  type SubscribeOptions,
} from "./events/event-log.ts";
export { decodePayload, type Payload, PayloadError } from "./events/payload.ts";
export { SealedPayload, type SealedState } from "./events/sealed-value.ts";
export { StoreError } from "./events/store-error.ts";
export { runIdOf, runStream } from "./events/stream-names.ts";
export { describeEvent, formatDuration } from "./projections/event-line.ts";
export { type HistoryEntry, readHistory, stateAt } from "./projections/history.ts";
export { InvalidCursorError } from "./projections/invalid-cursor-error.ts";
export { latencyOf, type RunLatency, type StepToStep } from "./projections/latency.ts";
export { openRunIndex, type RunIndex } from "./projections/run-index.ts";
export type { ListQuery, RunPage, RunSummary } from "./projections/run-index-queries.ts";
export { type RunReport, runReport } from "./projections/run-report.ts";
export type { ListedStatus, RunKind, RunState } from "./projections/run-state.ts";
export { type Timeline, timelineBuilder, timelineOf } from "./projections/timeline.ts";
