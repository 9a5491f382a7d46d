/** The types of threads fit those of the API they follow, in both directions: code written for either compiles against the other. */
import { describe, expectTypeOf, it } from "vitest";
import type {
  GraphCheckpoint,
  GraphCheckpointer,
  GraphDescription,
  GraphError,
  GraphEvent,
  GraphStatus,
  InterruptRequest,
  OperationLifecycleLike,
  PendingInterrupt,
  Principal,
  RetryPolicy,
  RunControl,
  RunControlLike,
  StepContext,
  StepFailure,
  StepOptions,
  StepRecovery,
  StepTimeout,
  Store,
  StoredGraphCheckpoint,
  Workflow,
  WorkflowContext,
  WorkflowEvent,
  WorkflowFn,
  WorkflowOptions,
  WorkflowResult,
  WorkflowRunOptions,
  WorkflowState,
  WorkflowStepTimeoutError,
} from "../../src/threads/index.ts";
import { workflow } from "../../src/threads/index.ts";

/** The declarations of the API, member by member; what is ours beside them is optional. */
interface Api {
  recovery: { error: { name: string; message: string }; attempts: number };
  state: {
    input: { order: string };
    steps: Record<string, { value?: unknown; recovered?: Api["recovery"] }>;
    output?: number;
  };
  stepContext: {
    readonly name: string;
    readonly key: string;
    readonly attempt: number;
    readonly signal: AbortSignal;
    heartbeat(): void;
  };
  timeout: { runMs?: number; idleMs?: number };
  failure: { name: string; key: string; attempts: number; error: unknown };
  retry: {
    maxAttempts?: number;
    initialIntervalMs?: number;
    backoffFactor?: number;
    maxIntervalMs?: number;
    jitter?: boolean;
    retryOn?(error: unknown, attempt: number): boolean;
  };
  stepOptions: {
    retry?: Api["retry"];
    timeoutMs?: number;
    timeout?: Api["timeout"];
    onError?: (failure: Api["failure"]) => string | Promise<string>;
  };
  question: { reason: string; payload?: unknown };
  pending: {
    reason: string;
    payload?: unknown;
    id: string;
    node: string;
    taskId?: string;
    step: number;
    index: number;
    requestedAt: string;
  };
  status: "running" | "awaiting_input" | "completed" | "failed" | "interrupted";
  context: {
    readonly threadId: string;
    readonly tenantId?: string;
    readonly principal?: Readonly<Principal>;
    readonly signal: AbortSignal;
    readonly store?: Store;
    step<T>(
      name: string,
      run: (context: Api["stepContext"]) => Promise<T> | T,
      options?: Omit<Api["stepOptions"], "onError"> & {
        onError?: (failure: Api["failure"]) => T | Promise<T>;
      },
    ): Promise<T>;
    interrupt<T = unknown>(request: Api["question"]): T;
    emit(data: unknown): void;
  };
  options: {
    name?: string;
    checkpointer?: GraphCheckpointer | false;
    store?: Store;
    retry?: Api["retry"];
    stepDefaults?: {
      retry?: Api["retry"];
      timeout?: Api["timeout"];
      onError?: (failure: Api["failure"]) => unknown;
    };
    maxConcurrency?: number;
    lifecycle?: OperationLifecycleLike;
    now?: () => Date;
  };
  runOptions: {
    threadId?: string;
    signal?: AbortSignal;
    metadata?: Record<string, unknown>;
    onEvent?: (event: GraphEvent) => void;
    control?: { readonly draining: boolean; readonly reason?: string };
    tenantId?: string;
    principal?: Principal;
  };
  event:
    | {
        type: "step";
        step: number;
        name: string;
        key: string;
        cached: boolean;
        state: Api["state"];
        status: "running";
      }
    | { type: "done"; step: number; state: Api["state"]; status: "completed"; output: number }
    | {
        type: "interrupt";
        step: number;
        state: Api["state"];
        status: "awaiting_input" | "interrupted";
        interrupt?: Api["pending"];
        interrupts?: Api["pending"][];
      };
  result: {
    threadId: string;
    status: Api["status"];
    output?: number;
    state: Api["state"];
    steps: number;
    interrupt?: Api["pending"];
    interrupts?: Api["pending"][];
  };
  checkpoint: {
    version: 2;
    id: string;
    threadId: string;
    step: number;
    state: { [channel: string]: unknown };
    next: string[];
    tasks: { id: string; node: string; input?: unknown; timeout?: Api["timeout"] }[];
    completed?: string[];
    gotos?: Record<string, Array<string | { node: string; input?: unknown }>>;
    status: Api["status"];
    interrupts: Api["pending"][];
    resolved?: Record<string, unknown>;
    error?: { name: string; message: string };
    drained?: { reason?: string; at: string };
    createdAt: string;
    metadata?: Record<string, unknown>;
  };
  workflow: {
    readonly name: string;
    invoke(input: { order: string }, runOptions?: Api["runOptions"]): Promise<Api["result"]>;
    stream(input: { order: string }, runOptions?: Api["runOptions"]): AsyncIterable<Api["event"]>;
    resume(threadId: string, value: unknown, runOptions?: Api["runOptions"]): AsyncIterable<Api["event"]>;
    resumeWith(threadId: string, value: unknown, runOptions?: Api["runOptions"]): Promise<Api["result"]>;
    resumeInterrupts(
      threadId: string,
      answers: Record<string, unknown>,
      runOptions?: Api["runOptions"],
    ): AsyncIterable<Api["event"]>;
    continue(threadId: string, runOptions?: Api["runOptions"]): AsyncIterable<Api["event"]>;
    state(threadId: string, step?: number): Promise<Api["checkpoint"] | undefined>;
    history(threadId: string, limit?: number): Promise<Api["checkpoint"][]>;
    describe(): {
      name?: string;
      nodes: { id: string }[];
      edges: { from: string; to: string; conditional?: boolean; label?: string }[];
      dynamic: string[];
    };
  };
  timeoutError: Error & {
    readonly code: string;
    readonly stepName: string;
    readonly timeoutMs: number;
    readonly kind: "run" | "idle";
  };
}

type Input = { order: string };

/** Is each assignable to the other? */
type Interchangeable<Ours, Theirs> = [Ours] extends [Theirs]
  ? [Theirs] extends [Ours]
    ? true
    : "theirs does not fit"
  : "ours does not fit";

describe("types of threads", () => {
  it("fit the API's in both directions", () => {
    expectTypeOf<Interchangeable<WorkflowState<Input, number>, Api["state"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<StepContext, Api["stepContext"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<StepTimeout, Api["timeout"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<StepFailure, Api["failure"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<StepRecovery, Api["recovery"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<RetryPolicy, Api["retry"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<StepOptions<string>, Api["stepOptions"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<InterruptRequest, Api["question"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<PendingInterrupt, Api["pending"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<GraphStatus, Api["status"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<WorkflowContext, Api["context"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<WorkflowOptions, Api["options"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<WorkflowRunOptions, Api["runOptions"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<WorkflowEvent<Input, number>, Api["event"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<WorkflowResult<Input, number>, Api["result"]>>().toEqualTypeOf<true>();
    expectTypeOf<Interchangeable<GraphCheckpoint, Api["checkpoint"]>>().toEqualTypeOf<true>();
    expectTypeOf<
      Interchangeable<GraphDescription, ReturnType<Api["workflow"]["describe"]>>
    >().toEqualTypeOf<true>();
    expectTypeOf<
      Interchangeable<Pick<Workflow<Input, number>, keyof Workflow<Input, number>>, Api["workflow"]>
    >().toEqualTypeOf<true>();
    expectTypeOf<
      Interchangeable<
        WorkflowFn<Input, number>,
        (input: Input, context: Api["context"]) => Promise<number> | number
      >
    >().toEqualTypeOf<true>();
    expectTypeOf<
      Interchangeable<Pick<WorkflowStepTimeoutError, keyof WorkflowStepTimeoutError>, Api["timeoutError"]>
    >().toEqualTypeOf<true>();
    expectTypeOf<keyof Workflow>().toEqualTypeOf<keyof Api["workflow"]>();
    expectTypeOf<WorkflowStepTimeoutError>().toExtend<GraphError>();
    expectTypeOf<RunControl>().toExtend<RunControlLike>();
    expectTypeOf<GraphCheckpoint>().toExtend<StoredGraphCheckpoint>();
  });

  it("input, output, steps and answers have the types the function gives them", () => {
    const refund = workflow(async (input: Input, { step, interrupt }) => {
      expectTypeOf(await step("load", () => input.order)).toEqualTypeOf<string>();
      expectTypeOf(
        await step("charge", async ({ attempt }) => attempt, { onError: ({ attempts }) => attempts }),
      ).toEqualTypeOf<number>();
      // @ts-expect-error what onError gives is the step's result
      await step<number>("charge", () => 1, { onError: () => "refunded" });
      expectTypeOf(interrupt({ reason: "?" })).toEqualTypeOf<unknown>();
      return interrupt<boolean>({ reason: "?" });
    });
    expectTypeOf(refund).toEqualTypeOf<Workflow<Input, boolean>>();
    expectTypeOf(refund.invoke).parameter(0).toEqualTypeOf<Input>();
    expectTypeOf(refund.invoke)
      .returns.resolves.toHaveProperty("output")
      .toEqualTypeOf<boolean | undefined>();
    // @ts-expect-error the input has another type
    void (() => refund.stream({ order: 7 }));
  });
});
