/**
 * One run of a thread: the function is called once, from its first line, and what became of it is the thread's next checkpoint.
 *
 * Invariants:
 * - T1 The run is over when the function has settled, every step it began has been answered, and nothing that followed from those
 *   answers has begun another one. Only then is it judged, and the context is dead from then on.
 * - T2 A question without an answer goes before an abort, an abort before a drain, a drain before a failure; and a checkpointer that
 *   failed before all of them.
 * - T3 The function runs outside whatever step called it, and its own copies of input and answers are its to alter.
 */
import { runOutsideStep } from "../engine/step-context.ts";
import { createStepGate } from "../engine/step-gate.ts";
import { Releases } from "../engine/walk/releases.ts";
import { ChangeQueue } from "./change-queue.ts";
import { DrainRefusal, Suspension } from "./control-signals.ts";
import { GraphDrainedError, GraphError, namedError } from "./errors.ts";
import type { GraphEvent, InterruptRequest } from "./graph-types.ts";
import { Questions } from "./questions.ts";
import type { StepRecord } from "./recorded-steps.ts";
import type { StepTerms } from "./step-terms.ts";
import type { Store } from "./surroundings.ts";
import { tenantStore } from "./tenant-store.ts";
import { type ChangeFacts, ThreadBook } from "./thread-book.ts";
import type { Opening } from "./thread-opening.ts";
import { ThreadSteps } from "./thread-steps.ts";
import type { StepOptions, WorkflowContext, WorkflowEvent, WorkflowFn, WorkflowRunOptions } from "./types.ts";

export interface RunRequest {
  readonly threadId: string;
  readonly workflow: string;
  readonly fn: WorkflowFn<never, unknown>;
  readonly opening: Opening;
  readonly options: WorkflowRunOptions;
  readonly recording: boolean;
  readonly recordStart: boolean;
  readonly width: number;
  readonly terms: (step?: StepOptions) => StepTerms;
  readonly store: Store | undefined;
  readonly now: () => Date;
  /** Hears the run's events as they come; absent where nobody reads them. */
  readonly onEvent: ((event: WorkflowEvent) => void) | undefined;
}

/** How a run ended: its last event, and how many steps are recorded. */
export interface RunEnd {
  readonly event: Exclude<WorkflowEvent, { type: "step" }>;
  readonly steps: number;
}

type Settled =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

/** What the run says at its end, and how it says it: as its last event, or by an error. */
type Verdict = ChangeFacts & { readonly thrown?: (step: number) => unknown };

export class ThreadRun {
  readonly #request: RunRequest;
  readonly #signal: AbortSignal;
  readonly #book: ThreadBook;
  readonly #queue: ChangeQueue;
  readonly #releases: Releases;
  readonly #steps: ThreadSteps;
  readonly #questions: Questions;
  #settled: Settled | undefined;
  #over = false;
  #atRest: () => void = () => {};

  /** Throws `DataCloneError` for input or answers that cannot be copied. */
  constructor(request: RunRequest) {
    const { opening, threadId, workflow, options, width, terms, now } = request;
    this.#request = request;
    this.#signal = options.signal ?? new AbortController().signal;
    const book = new ThreadBook({ ...opening, threadId, workflow, now });
    this.#book = book;
    this.#queue = new ChangeQueue(opening.writer, opening.step, ({ step, status }) =>
      this.#emit({ type: "checkpoint", step, status, next: status === "completed" ? [] : [workflow] }),
    );
    this.#releases = new Releases(() => {
      if (this.#settled !== undefined && this.#steps.running === 0) this.#atRest();
    });
    this.#questions = new Questions({ workflow, answers: book.answers, asked: book.asked });
    const { onEvent } = request;
    this.#steps = new ThreadSteps({
      book,
      queue: this.#queue,
      releases: this.#releases,
      gate: createStepGate(width),
      signal: this.#signal,
      control: options.control,
      terms,
      emit: (event) => this.#emit(event),
      onStep: ({ prefix, ...facts }) =>
        onEvent?.({ type: "step", ...facts, state: book.shown(prefix), status: "running" }),
    });
  }

  /** Rejects with the function's error (the same object), with `GraphDrainedError`, or with the checkpointer's error. */
  async end(): Promise<RunEnd> {
    const context = this.#context();
    if (this.#request.recordStart && this.#request.opening.from === "invoke") {
      await this.#queue.add(this.#book.change({ status: "running" }));
    }
    const settled = await this.#call(context);
    this.#over = true;
    this.#releases.freeze();
    if (this.#queue.failure !== undefined) throw this.#queue.failure.error;
    const { thrown, ...facts } = this.#judge(settled);
    const change = this.#book.change(facts);
    await this.#queue.add(change);
    if (thrown !== undefined) throw thrown(change.step);
    const event = this.#lastEvent(change.step, facts);
    this.#request.onEvent?.(event);
    return { event, steps: this.#book.count };
  }

  #call(context: WorkflowContext): Promise<Settled> {
    return new Promise((resolve) => {
      const settle = (settled: Settled): void => {
        this.#settled = settled;
        this.#atRest = () => resolve(settled);
        this.#releases.begin();
      };
      const input = structuredClone(this.#book.input) as never;
      runOutsideStep(async () => this.#request.fn(input, context)).then(
        (value) => settle({ ok: true, value }),
        (error: unknown) => settle({ ok: false, error }),
      );
    });
  }

  /** T2 */
  #judge(settled: Settled): Verdict {
    const interrupts = this.#questions.waiting;
    if (interrupts.length > 0 && (settled.ok || settled.error instanceof Suspension)) {
      return { status: "awaiting_input", interrupts, asked: this.#questions.identities };
    }
    if (this.#signal.aborted) return { status: "interrupted" };
    if (!settled.ok) return this.#judgeError(settled.error);
    try {
      const { value } = settled;
      const output = value === undefined ? {} : { value: structuredClone(value) };
      return { status: "completed", output };
    } catch (error) {
      return failure(error);
    }
  }

  #judgeError(error: unknown): Verdict {
    if (!this.#steps.drained || this.#isFailure(error)) return failure(error);
    const reason = this.#request.options.control?.reason;
    const why = reason === undefined || reason === "" ? undefined : reason;
    const at = this.#request.now().toISOString();
    return {
      status: "interrupted",
      drained: { ...(why !== undefined && { reason: why }), at },
      thrown: (step) => new GraphDrainedError(this.#request.threadId, step, why),
    };
  }

  /** In a drained run: is this a step's own failure, or made of one, and not what the drain brought about? */
  #isFailure(error: unknown): boolean {
    let failed = false;
    for (let cause = error, depth = 0; cause !== undefined && depth < 16; depth += 1) {
      if (cause instanceof DrainRefusal) return false;
      failed ||= this.#steps.failedWith(cause);
      cause = cause instanceof Error ? cause.cause : undefined;
    }
    return failed;
  }

  #lastEvent(step: number, { status, interrupts, output }: ChangeFacts): RunEnd["event"] {
    const prefix = this.#book.prefix();
    if (status === "completed") {
      const shown: StepRecord = structuredClone(output ?? {});
      const state = this.#book.shown(prefix, shown);
      return { type: "done", step, state, status, output: shown.value };
    }
    const state = this.#book.shown(prefix);
    if (status !== "awaiting_input" || interrupts === undefined) {
      return { type: "interrupt", step, state, status: "interrupted" };
    }
    const [interrupt, ...others] = structuredClone(interrupts);
    if (interrupt === undefined) return { type: "interrupt", step, state, status };
    return { type: "interrupt", step, state, status, interrupt, interrupts: [interrupt, ...others] };
  }

  #context(): WorkflowContext {
    const { threadId, options, store, opening } = this.#request;
    const { tenantId } = opening;
    const { principal } = options;
    const memory = store !== undefined && tenantId !== undefined ? tenantStore(store, tenantId) : store;
    return {
      threadId,
      signal: this.#signal,
      step: (name, run, stepOptions) => this.#step(name, run, stepOptions) as Promise<never>,
      interrupt: (request) => this.#interrupt(request) as never,
      emit: (data) => {
        if (this.#over) return;
        const { workflow } = this.#request;
        this.#emit({ type: "custom", step: this.#queue.written, taskId: workflow, node: workflow, data });
      },
      ...(tenantId !== undefined && { tenantId }),
      ...(principal !== undefined && { principal }),
      ...(memory !== undefined && { store: memory }),
    };
  }

  #step(
    name: unknown,
    run: Parameters<ThreadSteps["step"]>[1],
    options: StepOptions | undefined,
  ): Promise<unknown> {
    const refused = this.#over
      ? this.#ended(`step ${JSON.stringify(name)}`)
      : typeof name === "string"
        ? undefined
        : new TypeError(
            `A step of thread ${JSON.stringify(this.#request.threadId)} has no name: step() takes a text first, and was given a value of type ${typeof name}.`,
          );
    if (refused === undefined) return this.#steps.step(name as string, run, options);
    const rejected = Promise.reject(refused);
    rejected.catch(() => {});
    return rejected;
  }

  #interrupt(request: InterruptRequest): unknown {
    const { workflow, recording, now } = this.#request;
    if (this.#over) throw this.#ended("a question");
    if (!recording) {
      throw new GraphError(
        `Workflow ${JSON.stringify(workflow)} was created with checkpointer: false and cannot interrupt. Give it a checkpointer.`,
        "WORKFLOW_NO_CHECKPOINTER",
      );
    }
    const question = this.#questions.question(request);
    const { id, index } = question;
    if (this.#questions.isAnswered(id)) return this.#questions.answer(id);
    const requestedAt = now().toISOString();
    const step = this.#queue.written;
    const asked = structuredClone(request);
    this.#questions.wait(question, { ...asked, id, node: workflow, step, index, requestedAt });
    const suspension = new Suspension(id);
    this.#steps.suspend(suspension);
    throw suspension;
  }

  #ended(what: string): GraphError {
    const { threadId } = this.#request;
    return new GraphError(
      `The run of thread ${JSON.stringify(threadId)} is over; ${what} comes too late. Await everything the function begins.`,
      "WORKFLOW_RUN_ENDED",
    );
  }

  /** A listener's failure is not the run's. */
  #emit(event: GraphEvent): void {
    const { onEvent } = this.#request.options;
    if (onEvent === undefined) return;
    try {
      const heard: unknown = onEvent(event);
      if (heard instanceof Promise) heard.catch(() => {});
    } catch {}
  }
}

const failure = (error: unknown): Verdict => ({
  status: "failed",
  error: namedError(error),
  thrown: () => error,
});
