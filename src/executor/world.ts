/**
 * The World port: the storage, the queue and the streams that a workflow of the Workflow SDK runs on, at spec version 5. Types only.
 *
 * The executor asks a World for little (`events.create`, `hooks.getByToken`, `streams`, `getEncryptionKeyForRun`), but takes a whole
 * one, so that what fits `@workflow/world@5.0.0-beta.21` fits here and the other way round. `World` has one parameter: the published
 * type brands message ids with a private symbol, which no other package can spell.
 *
 * The rules a World holds are in docs/how-to/workflow-sdk.md.
 */
import type {
  Hook,
  Step,
  StepWithoutData,
  WorkflowRun,
  WorkflowRunStatus,
  WorkflowRunWithoutData,
} from "./world-entities.ts";
import type {
  AttributeChange,
  CreateEventParams,
  CreateEventRequest,
  Event,
  EventResult,
  PaginatedResponse,
  PaginationOptions,
  ResolveData,
  RunCreatedEventRequest,
} from "./world-events.ts";

/** Answers of `get` and `list`, with and without payloads, as the published overloads give them. */
interface Resolving {
  resolveData?: ResolveData;
}
type WithoutData<P> = P & { resolveData: "none" };
type WithData<P> = P & { resolveData?: "all" };

interface ListRuns extends Resolving {
  workflowName?: string;
  status?: WorkflowRunStatus;
  pagination?: PaginationOptions;
}
interface ListOfRun extends Resolving {
  runId: string;
  pagination?: PaginationOptions;
}
interface ListHooks extends Resolving {
  runId?: string;
  pagination?: PaginationOptions;
}
interface ListByCorrelation extends Resolving {
  correlationId: string;
  pagination?: PaginationOptions;
}

/** Runs, steps, events and hooks. Nothing but `events.create` changes an entity; errors are told apart by `name` (world-errors.ts). */
export interface Storage {
  runs: {
    get(id: string, params: WithoutData<Resolving>): Promise<WorkflowRunWithoutData>;
    get(id: string, params?: WithData<Resolving>): Promise<WorkflowRun>;
    get(id: string, params?: Resolving): Promise<WorkflowRun | WorkflowRunWithoutData>;
    list(params: WithoutData<ListRuns>): Promise<PaginatedResponse<WorkflowRunWithoutData>>;
    list(params?: WithData<ListRuns>): Promise<PaginatedResponse<WorkflowRun>>;
    list(params?: ListRuns): Promise<PaginatedResponse<WorkflowRun | WorkflowRunWithoutData>>;
    experimentalSetAttributes?(
      runId: string,
      changes: AttributeChange[],
      options?: { allowReservedAttributes?: boolean },
    ): Promise<{ attributes: Record<string, string> }>;
  };
  steps: {
    get(runId: string, stepId: string, params: WithoutData<Resolving>): Promise<StepWithoutData>;
    get(runId: string, stepId: string, params?: WithData<Resolving>): Promise<Step>;
    get(runId: string, stepId: string, params?: Resolving): Promise<Step | StepWithoutData>;
    list(params: WithoutData<ListOfRun>): Promise<PaginatedResponse<StepWithoutData>>;
    list(params: WithData<ListOfRun>): Promise<PaginatedResponse<Step>>;
    list(params: ListOfRun): Promise<PaginatedResponse<Step | StepWithoutData>>;
  };
  events: {
    create(
      runId: string | null,
      data: RunCreatedEventRequest,
      params?: CreateEventParams,
    ): Promise<EventResult>;
    create(runId: string, data: CreateEventRequest, params?: CreateEventParams): Promise<EventResult>;
    get(runId: string, eventId: string, params?: Resolving): Promise<Event>;
    /** Ascending by default; a cursor on every page that is not empty. */
    list(params: ListOfRun): Promise<PaginatedResponse<Event>>;
    listByCorrelationId(params: ListByCorrelation): Promise<PaginatedResponse<Event>>;
  };
  hooks: {
    get(hookId: string, params?: Resolving): Promise<Hook>;
    getByToken(token: string, params?: Resolving): Promise<Hook>;
    list(params: ListHooks): Promise<PaginatedResponse<Hook>>;
  };
}

/** What a first message carries so that a run can still be created when its `run_created` was lost. */
export interface RunInput {
  input: unknown;
  deploymentId: string;
  workflowName: string;
  specVersion: number;
  executionContext?: Record<string, unknown> | undefined;
  attributes?: Record<string, string> | undefined;
  allowReservedAttributes?: true | undefined;
}

/** Asks for a walk of a run, or, with `stepId` and `stepName`, for one step in the background. */
export interface WorkflowInvokePayload {
  runId: string;
  traceCarrier?: Record<string, string> | undefined;
  requestedAt?: Date | undefined;
  replayDivergence?: { eventId: string; count: number } | undefined;
  serverErrorRetryCount?: number | undefined;
  stepId?: string | undefined;
  stepName?: string | undefined;
  runInput?: RunInput | undefined;
}

/** A step's message in the older form. */
export interface StepInvokePayload {
  workflowName: string;
  workflowRunId: string;
  workflowStartedAt: number;
  stepId: string;
  traceCarrier?: Record<string, string> | undefined;
  requestedAt?: Date | undefined;
}

/** A message that only asks whether anybody is there. */
export interface HealthCheckPayload {
  __healthCheck: true;
  correlationId: string;
}

/** What a queue carries. It may hold a `Uint8Array`, which must survive the way. */
export type QueuePayload = WorkflowInvokePayload | StepInvokePayload | HealthCheckPayload;

/** How to deliver a message. */
export interface QueueOptions {
  deploymentId?: string;
  /** While a message with this key is pending or in flight a second one is dropped; afterwards the key is free again. */
  idempotencyKey?: string;
  headers?: Record<string, string>;
  delaySeconds?: number;
  specVersion?: number;
  region?: string;
}

/** An at-least-once queue with delays. */
export interface Queue<MessageId extends string = string> {
  getDeploymentId(): Promise<string>;
  queue(
    queueName: string,
    message: QueuePayload,
    options?: QueueOptions,
  ): Promise<{ messageId: MessageId | null }>;
  /** `attempt` starts at 1; `messageId` is the same at every delivery of a message. An answer with `timeoutSeconds` asks for it again. */
  createQueueHandler(
    queueNamePrefix: string,
    handler: (
      message: unknown,
      meta: { attempt: number; queueName: string; messageId: MessageId; requestId?: string },
    ) => Promise<void | { timeoutSeconds: number }>,
  ): (request: globalThis.Request) => Promise<Response>;
}

/** Streams of chunks, each addressed by run and name; chunks keep the order in which they were written. */
export interface Streamer {
  /** How long a writer may gather chunks, in milliseconds. */
  streamFlushIntervalMs?: number;
  streams: {
    write(runId: string, name: string, chunk: string | Uint8Array): Promise<void>;
    writeMulti?(runId: string, name: string, chunks: (string | Uint8Array)[]): Promise<void>;
    close(runId: string, name: string): Promise<void>;
    /** Live: what there is from `startIndex` on, then what comes until the stream is closed. A negative index counts from the end. */
    get(runId: string, name: string, startIndex?: number): Promise<ReadableStream<Uint8Array>>;
    list(runId: string): Promise<string[]>;
    getChunks(
      runId: string,
      name: string,
      options?: { limit?: number; cursor?: string },
    ): Promise<{
      data: { index: number; data: Uint8Array }[];
      cursor: string | null;
      hasMore: boolean;
      done: boolean;
    }>;
    /** `tailIndex` is -1 while there is no chunk. */
    getInfo(runId: string, name: string): Promise<{ tailIndex: number; done: boolean }>;
  };
}

type Described = Record<string, string | null> | null;

/** Where workflows run. `specVersion` must be 5. */
export interface World<MessageId extends string = string> extends Queue<MessageId>, Streamer, Storage {
  specVersion: number;
  processExitTriggersQueueRedelivery?: boolean;
  start?(): Promise<void>;
  close?(): Promise<void>;
  resolveLatestDeploymentId?(): Promise<string>;
  /** The 32 bytes that encrypt this run's payloads; `undefined` leaves them as they are. */
  getEncryptionKeyForRun?(run: WorkflowRun): Promise<Uint8Array | undefined>;
  getEncryptionKeyForRun?(runId: string, context?: Record<string, unknown>): Promise<Uint8Array | undefined>;
  /** A bare ULID. */
  createRunId?(options?: Readonly<Record<string, unknown>>): string;
  describeRun?(run: Readonly<Record<string, unknown>>): Described | Promise<Described>;
}
