/** What is asked of one execution of a step, and what it answers. */
import type { EncryptionKey } from "./encryption.ts";
import type { StepLatencyTracking } from "./step-latency.ts";
import type { World } from "./world.ts";
import type { Event, SerializedData } from "./world-events.ts";

/** What `executeStep` is told. */
export interface StepExecutorParams {
  world: World;
  workflowRunId: string;
  /** The deployment that owns the run. */
  workflowDeploymentId?: string;
  workflowName: string;
  /** Epoch milliseconds. */
  workflowStartedAt: number;
  /** The first run of this run's line of ancestors. */
  rootRunId?: string;
  /** Also the correlation id of every event that is written. */
  stepId: string;
  /** The name under which the step's function is registered. */
  stepName: string;
  /** The run's key; default: what the World says, asked for when it is needed and once. */
  encryptionKey?: EncryptionKey;
  /** The run's spec version: payloads are compressed from 5 on. Default: they are not. */
  runSpecVersion?: number;
  /**
   * The step's input. When it is given, the step does not exist yet: its start makes it, and whoever loses that race is told
   * `skipped` and runs nothing.
   */
  lazyStepInput?: SerializedData;
  /** The queue message this runs under, if that message owns the step. */
  ownerMessageId?: string;
  /** Asks the World for the events since this cursor, together with the answer to `step_completed`. */
  inlineDeltaSinceCursor?: string;
  /** Epoch milliseconds of the newest event the caller had seen; goes with the start. A refusal (412) is passed on as it is. */
  stateUpdatedAt?: number;
  /** The body waits for its start, whatever else says otherwise. */
  suppressOptimisticStart?: boolean;
  /** The body does not wait for its start, unless the environment says no. Needs `lazyStepInput`. */
  forceOptimisticStart?: boolean;
  /** Settles when the run exists. A lazy start is sent only then. */
  runReadyBarrier?: Promise<unknown>;
  /** What to measure. */
  latencyTracking?: StepLatencyTracking;
  /** Which attempt this is, by a count that no crash can stop. Beyond the allowed number the body does not run. From 1. */
  authoritativeAttempt?: number;
}

/** The events written since a cursor. With `hasMore` the caller has to list them itself. */
export interface InlineEventDelta {
  events: Event[];
  cursor: string | null;
  hasMore: boolean;
}

/** What became of the execution. The caller decides what follows from it; nothing was enqueued. */
export type StepExecutionResult =
  /** Its result is recorded. */
  | { type: "completed"; hasPendingOps?: boolean; inlineDelta?: InlineEventDelta }
  /** It is recorded as failed for good. */
  | { type: "failed" }
  /** It is to be tried again, in so many seconds. */
  | { type: "retry"; timeoutSeconds: number }
  /** It is somebody else's, or over. */
  | { type: "skipped" }
  /** Its run is over. */
  | { type: "gone" }
  /** The World is overrun: nothing was written; again in so many seconds. */
  | { type: "throttled"; timeoutSeconds: number };
