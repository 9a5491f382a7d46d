/**
 * What an author of a thread writes and gets: the function, its context, its steps, and what a run says. The types of checkpoints are in
 * graph-types.ts, those of what a run is given from outside in surroundings.ts.
 */
import type {
  GraphCheckpointer,
  GraphEvent,
  GraphStatus,
  InterruptRequest,
  PendingInterrupt,
  RetryPolicy,
  RunControlLike,
} from "./graph-types.ts";
import type { OperationLifecycleLike, Principal, Store } from "./surroundings.ts";

/** How a step's result came about when its body had failed for good. */
export interface StepRecovery {
  /** What the last attempt threw. */
  error: { name: string; message: string };
  /** How many attempts there were. */
  attempts: number;
}

/** What a workflow's checkpoint holds. */
export interface WorkflowState<I = unknown, O = unknown> {
  input: I;
  /** The result of every step that has settled, by its key. A result `undefined` has no `value`. */
  steps: Record<string, { value?: unknown; recovered?: StepRecovery }>;
  /** What the function returned, once it is completed. */
  output?: O;
}

/** What a step's body gets, anew for every attempt. */
export interface StepContext {
  readonly name: string;
  /** What its result is recorded under: the name, `name#2` for the second call of that name, and so on. */
  readonly key: string;
  /** From 1. */
  readonly attempt: number;
  /** Aborted when the run is (with the same reason) or when this attempt exceeds a limit. */
  readonly signal: AbortSignal;
  /** Says that the attempt gets on: its idle limit starts again. Does nothing without one, nor once the attempt is over. */
  heartbeat(): void;
}

/** Limits of one attempt, in milliseconds. Waiting for a place or for the next attempt does not count. */
export interface StepTimeout {
  /** The whole attempt. Default: none. */
  runMs?: number;
  /** Between two heartbeats. Default: none. */
  idleMs?: number;
}

/** What `onError` is told. */
export interface StepFailure {
  name: string;
  key: string;
  /** How many attempts there were. */
  attempts: number;
  /** The last attempt's error. */
  error: unknown;
}

export interface StepOptions<T = unknown> {
  /** Laid over the workflow's policy, field by field. */
  retry?: RetryPolicy;
  /** `timeout.runMs` by another name; this one counts where both are given. */
  timeoutMs?: number;
  /** Laid over the workflow's default, field by field. */
  timeout?: StepTimeout;
  /**
   * Decides what becomes of a step that failed for good. What it returns is the step's result, recorded with `recovered`; what it
   * throws is the step's error. Never asked about an abort, a question or a drain.
   */
  onError?: (failure: StepFailure) => T | Promise<T>;
}

/** What a workflow's function gets beside its input. */
export interface WorkflowContext {
  readonly threadId: string;
  /** There only when the run has one. */
  readonly tenantId?: string;
  /** There only when this run was given one: it is not recorded. */
  readonly principal?: Readonly<Principal>;
  readonly signal: AbortSignal;
  /** There only when the workflow was given one; with a tenant, that tenant's part of it. */
  readonly store?: Store;
  /**
   * Runs `run` and records its result; on every later run of the thread the recorded result is the answer.
   *
   * Rejects with what the body threw (the same object) when it failed for good, with `WorkflowStepTimeoutError` past a limit, with the
   * abort's reason once the run is aborted, with the checkpointer's error when the result could not be recorded, and with
   * `DataCloneError` for a result that structured clone refuses. Every call answers a copy of what was recorded.
   */
  step<T>(name: string, run: (context: StepContext) => Promise<T> | T, options?: StepOptions<T>): Promise<T>;
  /**
   * Asks a person: ends the run as `awaiting_input` by throwing, until there is an answer; then returns it.
   *
   * Throws `GraphError` (`WORKFLOW_NO_CHECKPOINTER`) where nothing is recorded.
   */
  interrupt<T = unknown>(request: InterruptRequest): T;
  /** Sends `data` to `onEvent` as a `custom` event. Nothing is recorded. */
  emit(data: unknown): void;
}

/** A workflow's function. */
export type WorkflowFn<I, O> = (input: I, context: WorkflowContext) => Promise<O> | O;

export interface WorkflowOptions {
  /** Default `workflow`. */
  name?: string;
  /** Default: a `memoryCheckpointer()` of this workflow's own. `false` records nothing: no questions, no resuming. */
  checkpointer?: GraphCheckpointer | false;
  /** Long-term memory for `context.store`. */
  store?: Store;
  /** The weakest retry policy. */
  retry?: RetryPolicy;
  /** What a step does not say itself, field by field. */
  stepDefaults?: Pick<StepOptions, "retry" | "timeout" | "onError">;
  /** Step bodies at once in one run. Default 16, at least 1. A step inside a step runs in its parent's place. */
  maxConcurrency?: number;
  /** Every run is one operation of it. */
  lifecycle?: OperationLifecycleLike;
  /** The clock of what is written down (`createdAt`, `requestedAt`, `drained.at`). No timer follows it. */
  now?: () => Date;
  /**
   * Records a first checkpoint before the function is called, so that a run whose process dies in its first step can be continued.
   * Default `false`: it costs a write, and the checkpoints of n steps then number n + 2.
   */
  recordStart?: boolean;
}

export interface WorkflowRunOptions {
  /**
   * The thread. Default: a new one. `invoke` and `stream` on a thread that exists start it over: nothing recorded is used, and its
   * checkpoints go on numbering. `continue` and the `resume` methods take theirs as an argument and ignore this.
   */
  threadId?: string;
  /** Stops the run: it ends as `interrupted`. */
  signal?: AbortSignal;
  /** Recorded on every checkpoint. */
  metadata?: Record<string, unknown>;
  /** Hears how steps and checkpoints go. What it throws is ignored. */
  onEvent?: (event: GraphEvent) => void;
  /** Stops the run between two steps: it ends with `GraphDrainedError`. */
  control?: RunControlLike;
  /** Whose thread it is. Without one the thread's own tenant stays. */
  tenantId?: string;
  /** Who the run is for. */
  principal?: Principal;
}

/** What a streamed run yields. `step` is the number of checkpoints in the thread. */
export type WorkflowEvent<I = unknown, O = unknown> =
  | {
      /** A step settled, or answered from the record. */
      type: "step";
      step: number;
      name: string;
      key: string;
      /** From the record: no body ran. */
      cached: boolean;
      state: WorkflowState<I, O>;
      status: "running";
    }
  | {
      type: "done";
      step: number;
      state: WorkflowState<I, O>;
      status: "completed";
      output: O;
    }
  | {
      type: "interrupt";
      step: number;
      state: WorkflowState<I, O>;
      /** Waiting for a person, or stopped by its signal. */
      status: "awaiting_input" | "interrupted";
      /** The first of `interrupts`. */
      interrupt?: PendingInterrupt;
      interrupts?: PendingInterrupt[];
    };

export interface WorkflowResult<I = unknown, O = unknown> {
  threadId: string;
  /** `completed`, `awaiting_input` or `interrupted`. */
  status: GraphStatus;
  /** Only when completed. */
  output?: O;
  state: WorkflowState<I, O>;
  /** How many steps are recorded. */
  steps: number;
  /** The first of `interrupts`. */
  interrupt?: PendingInterrupt;
  interrupts?: PendingInterrupt[];
}
