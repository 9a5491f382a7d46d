/**
 * `workflow(fn)`: an ordinary async function as a thread whose steps are recorded. What a run does is thread-run.ts; here is who calls it.
 */
import { randomBytes } from "node:crypto";
import { EventQueue } from "./event-queue.ts";
import type { GraphCheckpoint, GraphCheckpointer, GraphDescription } from "./graph-types.ts";
import { memoryCheckpointer } from "./memory-checkpointer.ts";
import { migrateCheckpoint } from "./migration.ts";
import { ON_CHECKPOINTER } from "./rebound-workflow.ts";
import { type StepTerms, termsOf } from "./step-terms.ts";
import { admitted, type Entry, open, ownerOf } from "./thread-opening.ts";
import { type RunEnd, ThreadRun } from "./thread-run.ts";
import type {
  StepOptions,
  WorkflowEvent,
  WorkflowFn,
  WorkflowOptions,
  WorkflowResult,
  WorkflowRunOptions,
} from "./types.ts";

const DEFAULT_NAME = "workflow";
/** Step bodies at once in one run, where nothing else is said. */
const DEFAULT_CONCURRENCY = 16;

/**
 * A function whose steps are recorded. Holds no thread in memory: every call reads the checkpointer, so that two of these over one
 * checkpointer are two workers.
 */
export class Workflow<I = unknown, O = unknown> {
  readonly name: string;
  readonly #fn: WorkflowFn<I, O>;
  readonly #options: WorkflowOptions;
  readonly #checkpointer: GraphCheckpointer | false;
  readonly #terms: (step?: StepOptions) => StepTerms;

  static {
    // Kept out of the type, which is public.
    Object.defineProperty(Workflow.prototype, ON_CHECKPOINTER, {
      value(this: Workflow, checkpointer: GraphCheckpointer): Workflow {
        return new Workflow(this.#fn, { ...this.#options, checkpointer });
      },
    });
  }

  constructor(fn: WorkflowFn<I, O>, options: WorkflowOptions = {}) {
    this.#fn = fn;
    this.#options = options;
    this.name = options.name ?? DEFAULT_NAME;
    this.#checkpointer = options.checkpointer ?? memoryCheckpointer();
    this.#terms = termsOf(options);
  }

  /**
   * Runs the function on a thread from nothing, to its end or its first question.
   *
   * A thread that exists is started over: see `WorkflowRunOptions.threadId`. Rejects with what the function throws; with
   * `GraphDrainedError`, `GraphError`, `TypeError` (tenant and principal differ), `TenantIdError`, `DataCloneError` (an input or output
   * that structured clone refuses), and with what the lifecycle or the checkpointer throws.
   */
  invoke(input: I, runOptions: WorkflowRunOptions = {}): Promise<WorkflowResult<I, O>> {
    return this.#result(threadOf(runOptions), { from: "invoke", input }, runOptions);
  }

  /**
   * The same, as a stream of what happens. It runs whether or not anybody reads, and goes on when the reader leaves; use
   * `WorkflowRunOptions.signal` to stop it. An error comes after the events before it, and never as an exception of the call.
   */
  stream(input: I, runOptions: WorkflowRunOptions = {}): AsyncIterable<WorkflowEvent<I, O>> {
    return this.#events(threadOf(runOptions), { from: "invoke", input }, runOptions);
  }

  /** Answers the thread's first question and runs on. Fails with `GraphThreadNotFoundError` and `GraphNotInterruptedError`. */
  resume(
    threadId: string,
    value: unknown,
    runOptions: WorkflowRunOptions = {},
  ): AsyncIterable<WorkflowEvent<I, O>> {
    return this.#events(threadId, answerFirst(value), runOptions);
  }

  /** The same, with the result. */
  resumeWith(
    threadId: string,
    value: unknown,
    runOptions: WorkflowRunOptions = {},
  ): Promise<WorkflowResult<I, O>> {
    return this.#result(threadId, answerFirst(value), runOptions);
  }

  /** Answers questions by their ids, any of them, and runs on. An id that asks nothing is kept and ignored. */
  resumeInterrupts(
    threadId: string,
    answers: Record<string, unknown>,
    runOptions: WorkflowRunOptions = {},
  ): AsyncIterable<WorkflowEvent<I, O>> {
    return this.#events(threadId, { from: "resume", answers: () => answers }, runOptions);
  }

  /** Runs a thread on from its latest checkpoint, whatever its status. Fails with `GraphThreadNotFoundError`. */
  continue(threadId: string, runOptions: WorkflowRunOptions = {}): AsyncIterable<WorkflowEvent<I, O>> {
    return this.#events(threadId, { from: "continue" }, runOptions);
  }

  /** The thread's latest checkpoint, or the one with exactly this number. Does not ask whose thread it is. */
  async state(threadId: string, step?: number): Promise<GraphCheckpoint | undefined> {
    if (this.#checkpointer === false) return undefined;
    const stored = await this.#checkpointer.get(threadId, step);
    return stored === undefined ? undefined : migrateCheckpoint(stored);
  }

  /** The thread's checkpoints, the newest first; how many by default is the checkpointer's choice. Does not ask whose thread it is. */
  async history(threadId: string, limit?: number): Promise<GraphCheckpoint[]> {
    if (this.#checkpointer === false) return [];
    const stored = await (limit === undefined
      ? this.#checkpointer.history(threadId)
      : this.#checkpointer.history(threadId, limit));
    return stored.map((checkpoint) => migrateCheckpoint(checkpoint));
  }

  /** The workflow as a graph of one node. */
  describe(): GraphDescription {
    const { name } = this;
    return {
      name,
      nodes: [{ id: name }],
      edges: [
        { from: "__start__", to: name },
        { from: name, to: "__end__" },
      ],
      dynamic: [],
    };
  }

  async #result(
    threadId: string,
    entry: Entry,
    runOptions: WorkflowRunOptions,
  ): Promise<WorkflowResult<I, O>> {
    const { event, steps } = await this.#run(threadId, entry, runOptions, undefined);
    const { type, status } = event;
    const result: WorkflowResult<I, O> = {
      threadId,
      status,
      get state() {
        return event.state as WorkflowResult<I, O>["state"];
      },
      steps,
    };
    if (type === "done") result.output = event.output as O;
    else if (event.interrupt !== undefined && event.interrupts !== undefined) {
      result.interrupt = event.interrupt;
      result.interrupts = event.interrupts;
    }
    return result;
  }

  #events(
    threadId: string,
    entry: Entry,
    runOptions: WorkflowRunOptions,
  ): AsyncIterable<WorkflowEvent<I, O>> {
    const queue = new EventQueue<WorkflowEvent<I, O>>();
    const push = (event: WorkflowEvent): void => queue.push(event as WorkflowEvent<I, O>);
    this.#run(threadId, entry, runOptions, push).then(
      () => queue.end(),
      (error: unknown) => queue.fail(error),
    );
    return queue;
  }

  async #run(
    threadId: string,
    entry: Entry,
    options: WorkflowRunOptions,
    onEvent: ((event: WorkflowEvent) => void) | undefined,
  ): Promise<RunEnd> {
    const owner = ownerOf(options);
    const workflow = this.name;
    const { lifecycle, store, recordStart = false, now = () => new Date() } = this.#options;
    const checkpointer = this.#checkpointer;
    return admitted(lifecycle, { workflow, threadId, owner, signal: options.signal }, async () => {
      const { metadata } = options;
      const opening = await open({ checkpointer, workflow, threadId, entry, owner, metadata });
      const run = new ThreadRun({
        threadId,
        workflow,
        fn: this.#fn as WorkflowFn<never, unknown>,
        opening,
        options,
        recording: checkpointer !== false,
        recordStart,
        width: widthOf(this.#options.maxConcurrency),
        terms: this.#terms,
        store,
        now,
        onEvent,
      });
      return run.end();
    });
  }
}

/** Makes a workflow of a function. */
export const workflow = <I = unknown, O = unknown>(
  fn: WorkflowFn<I, O>,
  options?: WorkflowOptions,
): Workflow<I, O> => new Workflow(fn, options);

const threadOf = ({ threadId }: WorkflowRunOptions): string => threadId ?? newThreadId();

const newThreadId = (): string => {
  const random = BigInt(`0x${randomBytes(8).toString("hex")}`).toString(36);
  return `thread-${random}${Date.now().toString(36)}`;
};

const answerFirst = (value: unknown): Entry => ({
  from: "resume",
  answers: ([first]) => (first === undefined ? {} : { [first.id]: value }),
});

const widthOf = (asked = DEFAULT_CONCURRENCY): number => {
  if (Number.isNaN(asked)) return DEFAULT_CONCURRENCY;
  return Math.min(Math.max(Math.floor(asked), 1), Number.MAX_SAFE_INTEGER);
};
