/**
 * The events of a World: what may be asked of `events.create`, what is stored, and what comes back. Types only, spec version 5;
 * interchangeable with those that `@workflow/world@5.0.0-beta.21` publishes (test/types/world.test.ts holds both directions).
 *
 * Not Runstream's own run events (src/events): a World that stands on Runstream carries these inside its streams.
 */
import type { Hook, Step, Wait, WorkflowRun } from "./world-entities.ts";

/** Bytes with a format prefix (`devl`, `zstd`, `gzip`, `encr`); anything at all in runs of spec version 1. A World never looks inside. */
export type SerializedData = unknown;

/** What `resolveData` may ask for: everything, or everything but the payload. */
export type ResolveData = "none" | "all";

/** Which page of a list. `limit` at most 1,000; the default is the World's. */
export interface PaginationOptions {
  limit?: number;
  cursor?: string;
  sortOrder?: "asc" | "desc";
}

/** A page. `hasMore` with a cursor of `null` breaks the contract. */
export interface PaginatedResponse<T> {
  data: T[];
  cursor: string | null;
  hasMore: boolean;
  pageInfo?:
    | {
        currentLookbackDays: number;
        maxLookbackDays: number;
        currentWindowStart: Date;
        maxWindowStart: Date;
        upgradeAvailable: boolean;
      }
    | undefined;
}

/** How a run began and when its steps did, in milliseconds; a World may drop all of it. */
export interface StepLatencyEventData {
  /** Time to first step: the run's creation until its first body. */
  ttfs?: number | undefined;
  /** Step to step overhead: the end of the step before until this body. */
  stso?: number | undefined;
  /** Steps that were over. */
  stepCount?: number | undefined;
  /** Events in the log. */
  eventCount?: number | undefined;
  /** The answer to `run_started` until the first step's start was sent. */
  rsfs?: number | undefined;
  /** How long the last replay took that scheduled the step. */
  finalSchedulingReplay?: number | undefined;
  /** Which shortcuts the step took. */
  optimizations?: string[] | undefined;
}

/** Who wrote an `attr_set`. */
export type AttributeWriter = { type: "workflow" } | { type: "step"; stepId: string; attempt: number };

/** One change of a run's attributes; `null` removes the key. */
export interface AttributeChange {
  key: string;
  value: string | null;
}

interface RunCreation {
  input: SerializedData;
  deploymentId: string;
  workflowName: string;
  executionContext?: Record<string, unknown> | undefined;
  attributes?: Record<string, string> | undefined;
  allowReservedAttributes?: true | undefined;
}

interface Request<Type extends string, Data> {
  eventType: Type;
  correlationId?: string | undefined;
  specVersion?: number | undefined;
  eventData: Data;
}

interface RequestWithOptionalData<Type extends string, Data> {
  eventType: Type;
  correlationId?: string | undefined;
  specVersion?: number | undefined;
  eventData?: Data | undefined;
}

/** Of an entity: the correlation id is the entity's own id and never missing. */
type Correlated<R extends { correlationId?: string | undefined }> = Omit<R, "correlationId"> & {
  correlationId: string;
};

/** Asks for a new run; the one request that may come without a run id. */
export type RunCreatedEventRequest = Request<"run_created", RunCreation>;

type HookConflict = Correlated<
  Request<"hook_conflict", { token: string; conflictingRunId?: string | undefined }>
>;

/** Every request but `run_created`. */
export type CreateEventRequest =
  | RequestWithOptionalData<"run_started", { [K in keyof RunCreation]?: RunCreation[K] | undefined }>
  | Request<"run_completed", { output?: SerializedData }>
  | Request<"run_failed", { error: SerializedData; errorCode?: string | undefined }>
  | RequestWithOptionalData<"run_cancelled", { cancelReason?: string | undefined }>
  | Request<
      "attr_set",
      { changes: AttributeChange[]; writer: AttributeWriter; allowReservedAttributes?: true | undefined }
    >
  | StepEventRequest
  | Correlated<
      Request<
        "hook_created",
        {
          token: string;
          metadata?: SerializedData;
          isWebhook?: boolean | undefined;
          isSystem?: boolean | undefined;
        }
      >
    >
  | Correlated<Request<"hook_received", { token?: string | undefined; payload: SerializedData }>>
  | Correlated<RequestWithOptionalData<"hook_disposed", { token?: string | undefined }>>
  | Correlated<Request<"wait_created", { resumeAt: Date }>>
  | Correlated<RequestWithOptionalData<"wait_completed", { resumeAt?: Date | undefined }>>;

/** The requests of a step: all that the executor writes. */
export type StepEventRequest =
  | Correlated<
      Request<"step_created", { stepName: string; workflowName?: string | undefined; input: SerializedData }>
    >
  | Correlated<
      RequestWithOptionalData<
        "step_started",
        {
          stepName?: string | undefined;
          attempt?: number | undefined;
          workflowName?: string | undefined;
          input?: SerializedData;
          ownerMessageId?: string | undefined;
        }
      >
    >
  | Correlated<
      Request<
        "step_completed",
        StepLatencyEventData & {
          stepName?: string | undefined;
          workflowName?: string | undefined;
          result: SerializedData;
        }
      >
    >
  | Correlated<
      Request<"step_failed", StepLatencyEventData & { stepName?: string | undefined; error: SerializedData }>
    >
  | Correlated<
      Request<
        "step_retrying",
        { stepName?: string | undefined; error: SerializedData; retryAfter?: Date | undefined }
      >
    >;

type Stored<R> = R extends unknown
  ? R & { runId: string; eventId: string; createdAt: Date; occurredAt?: Date | undefined }
  : never;

/** An event as it is stored. `hook_conflict` is the one that only a World writes. */
export type Event = Stored<RunCreatedEventRequest | CreateEventRequest | HookConflict>;

/** The type of an event. */
export type EventType = Event["eventType"];

/** What a caller may add to `events.create`. */
export interface CreateEventParams {
  v1Compat?: boolean;
  resolveData?: ResolveData;
  /** Ties the request to a platform's own logs. */
  requestId?: string;
  /** Epoch milliseconds of the newest event the caller knows; a World that guards answers 412 when there is a newer one from outside. */
  stateUpdatedAt?: number;
  /** When it happened, by the caller's clock. */
  occurredAt?: Date;
  /** Asks for the events written strictly after this cursor, this one included. */
  sinceCursor?: string;
  /** On `run_started`: the caller will not look at the preloaded events. */
  skipPreload?: boolean;
}

/** What `events.create` answers: the event, the entity it touched, and perhaps events that the caller has not seen. */
export interface EventResult {
  event?: Event;
  run?: WorkflowRun;
  step?: Step;
  hook?: Hook;
  wait?: Wait;
  events?: Event[];
  cursor?: string | null;
  hasMore?: boolean;
  /** `true` only for the start that made its step. */
  stepCreated?: boolean;
}
