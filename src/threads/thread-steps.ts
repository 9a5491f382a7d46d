/**
 * The steps of one run: what is recorded answers, the rest runs once and is recorded.
 *
 * Invariants:
 * - S1 A step's promise settles only after its checkpoint is written, and results reach the function in the order in which they were
 *   recorded: on this run and on every later one (law L1). What a step's body asks for is answered at once, outside that order.
 * - S2 No body begins once the run is aborted, drained or unable to write; it is asked at the call and again when its place is free.
 * - S3 What stops a run (S2, a question) passes through a step's body whatever the body makes of it: nothing is recorded then, no
 *   attempt is used up, `onError` is not asked.
 * - S4 A promise that nobody looks at never counts as unhandled.
 */
import { runAttempt } from "../engine/attempts/attempt.ts";
import { AttemptContext } from "../engine/attempts/attempt-context.ts";
import { makeAttempts } from "../engine/attempts/attempt-loop.ts";
import { currentStep, runAsStep, type StepSlot } from "../engine/step-context.ts";
import type { StepGate } from "../engine/step-gate.ts";
import type { Releases } from "../engine/walk/releases.ts";
import type { ChangeQueue } from "./change-queue.ts";
import { DrainRefusal, Suspension } from "./control-signals.ts";
import { errorText, namedError, WorkflowStepTimeoutError } from "./errors.ts";
import type { GraphEvent, RunControlLike } from "./graph-types.ts";
import type { StepRecord, StepsPrefix } from "./recorded-steps.ts";
import { StepKeys } from "./step-keys.ts";
import { nextAttemptMs, type StepTerms } from "./step-terms.ts";
import type { ThreadBook } from "./thread-book.ts";
import type { StepContext, StepOptions, StepRecovery } from "./types.ts";

export interface StepsOptions {
  readonly book: ThreadBook;
  readonly queue: ChangeQueue;
  readonly releases: Releases;
  readonly gate: StepGate;
  readonly signal: AbortSignal;
  readonly control: RunControlLike | undefined;
  readonly terms: (step?: StepOptions) => StepTerms;
  readonly emit: (event: GraphEvent) => void;
  readonly onStep: (facts: {
    readonly name: string;
    readonly key: string;
    readonly cached: boolean;
    readonly step: number;
    readonly prefix: StepsPrefix;
  }) => void;
}

type Body = (context: StepContext) => unknown;

interface Call {
  readonly name: string;
  readonly key: string;
  readonly body: Body;
  readonly terms: StepTerms;
  /** The step whose body made this call. */
  readonly outer: Call | undefined;
  /** The place in the gate that the body runs in, once it has one. */
  slot: StepSlot | undefined;
  /** What stopped the run while this step's body was under way. */
  stopped: { readonly by: unknown } | undefined;
}

type Settle = { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void };

const ignore = (): void => {};

export class ThreadSteps {
  readonly #options: StepsOptions;
  readonly #keys = new StepKeys();
  readonly #calls = new Map<string, Call>();
  readonly #failures = new Set<unknown>();
  #running = 0;
  #drained = false;

  constructor(options: StepsOptions) {
    this.#options = options;
  }

  /** Steps that have been asked for and have not been answered. */
  get running(): number {
    return this.#running;
  }

  /** Was a step refused because of a drain? */
  get drained(): boolean {
    return this.#drained;
  }

  /** Did a step of this run fail with this very error? */
  failedWith(error: unknown): boolean {
    return this.#failures.has(error);
  }

  step(name: string, body: Body, options: StepOptions | undefined): Promise<unknown> {
    const key = this.#keys.next(name);
    const outer = this.#outerCall();
    const { book, releases } = this.#options;
    const known = book.recorded.get(key);
    const answer = new Promise<unknown>((resolve, reject) => {
      if (known === undefined) {
        const terms = this.#options.terms(options);
        return this.#run(
          { name, key, body, terms, outer, slot: undefined, stopped: undefined },
          { resolve, reject },
        );
      }
      this.#options.onStep({ name, key, cached: true, step: this.#written, prefix: book.prefix() });
      const hand = (): void => resolve(structuredClone(known.record.value));
      if (outer === undefined) releases.recorded(known.place, hand);
      else hand();
    });
    answer.catch(ignore);
    return answer;
  }

  /** A question that ends the run was asked; the step whose body asked it is not recorded. */
  suspend(suspension: Suspension): void {
    const call = this.#outerCall();
    if (call !== undefined) call.stopped ??= { by: suspension };
  }

  get #written(): number {
    return this.#options.queue.written;
  }

  #outerCall(): Call | undefined {
    const step = currentStep();
    return step === undefined ? undefined : this.#calls.get(step.key);
  }

  #run(call: Call, settle: Settle): void {
    const refused = this.#refusal(call);
    this.#running += 1;
    if (refused !== undefined) return this.#fail(call, settle, refused.by);
    this.#calls.set(call.key, call);
    this.#options.gate
      .run((slot) => {
        call.slot = slot;
        return this.#attempts(call);
      })
      .then((record) => this.#record(call, record, settle))
      .catch((error: unknown) => this.#fail(call, settle, error));
  }

  /** Why no body begins any more. */
  #refusal({ key }: Call): { readonly by: unknown } | undefined {
    const { signal, control, queue } = this.#options;
    if (queue.failure !== undefined) return { by: queue.failure.error };
    if (signal.aborted) return { by: signal.reason };
    if (control?.draining !== true) return undefined;
    this.#drained = true;
    return { by: new DrainRefusal(key) };
  }

  async #attempts(call: Call): Promise<StepRecord> {
    const refused = this.#refusal(call);
    if (refused !== undefined) throw refused.by;
    const { key, name, terms } = call;
    const { signal, emit } = this.#options;
    const node = { step: this.#written, taskId: key, node: name };
    const made = await makeAttempts<unknown>({
      signal,
      make: (attempt) => {
        emit({ type: "task_start", ...node, attempt });
        return this.#attempt(call, attempt);
      },
      passesThrough: (error) =>
        signal.aborted ||
        call.stopped !== undefined ||
        error instanceof Suspension ||
        error instanceof DrainRefusal,
      next: (failure) => nextAttemptMs(terms.retry, failure, Date.now()),
      onRetry: ({ error, attempt }) =>
        emit({ type: "task_retry", ...node, attempt, error: errorText(error) }),
    });
    const result = made.ok ? made.value : await this.#recover(call, node, made);
    if (call.stopped !== undefined) throw call.stopped.by;
    emit({ type: "task_end", ...node, update: result });
    const recovered = made.ok ? undefined : { error: namedError(made.error), attempts: made.attempts };
    return recordOf(result, recovered);
  }

  #attempt(call: Call, number: number): ReturnType<typeof runAttempt> {
    const { name, body, terms } = call;
    return runAttempt(
      (attempt) => {
        const context = contextOf(call, number, attempt);
        return runAsStep(context, () => body(context), call.slot);
      },
      {
        signal: this.#options.signal,
        limits: terms.limits,
        exceeded: (kind, ms) => new WorkflowStepTimeoutError(name, ms, kind),
      },
    ).then((outcome) => {
      if (call.stopped !== undefined) throw call.stopped.by;
      return outcome;
    });
  }

  /** What `onError` makes of a step that failed for good. Throws the step's error. */
  async #recover(
    call: Call,
    node: { readonly step: number; readonly taskId: string; readonly node: string },
    { error, attempts }: { readonly error: unknown; readonly attempts: number },
  ): Promise<unknown> {
    const { name, key, terms } = call;
    const { onError } = terms;
    if (onError === undefined) throw error;
    const failed = { type: "task_failed", ...node, attempts, error: errorText(error) } as const;
    try {
      const context = contextOf(call, attempts, this.#options);
      const result = await runAsStep(context, () => onError({ name, key, attempts, error }), call.slot);
      if (call.stopped !== undefined) throw call.stopped.by;
      this.#options.emit({ ...failed, recovered: true });
      return result;
    } catch (thrown) {
      this.#options.emit({ ...failed, recovered: false });
      throw thrown;
    }
  }

  async #record(call: Call, record: StepRecord, { resolve }: Settle): Promise<void> {
    const { name, key, outer } = call;
    const { book, queue, releases, onStep } = this.#options;
    const place = outer === undefined ? releases.reserve() : undefined;
    try {
      const change = book.settle({ name, key, record });
      const prefix = book.prefix();
      await queue.add(change);
      onStep({ name, key, cached: false, step: change.step, prefix });
    } catch (error) {
      place?.drop();
      throw error;
    }
    this.#answer(call, place, () => resolve(structuredClone(record.value)));
  }

  #fail(call: Call, { reject }: Settle, error: unknown): void {
    const { outer } = call;
    const { signal, queue, releases } = this.#options;
    const stops =
      error instanceof Suspension ||
      error instanceof DrainRefusal ||
      (signal.aborted && error === signal.reason) ||
      (queue.failure !== undefined && error === queue.failure.error);
    if (!stops) this.#failures.add(error);
    else if (outer !== undefined) outer.stopped ??= { by: error };
    this.#answer(call, outer === undefined ? releases.reserve() : undefined, () => reject(error));
  }

  #answer(call: Call, place: ReturnType<Releases["reserve"]> | undefined, hand: () => void): void {
    this.#calls.delete(call.key);
    const settle = (): void => {
      this.#running -= 1;
      hand();
    };
    if (place === undefined) settle();
    else place.fill(settle);
  }
}

/** What is recorded of a result: a copy. Throws `DataCloneError`. */
const recordOf = (result: unknown, recovered: StepRecovery | undefined): StepRecord => ({
  ...(result !== undefined && { value: structuredClone(result) }),
  ...(recovered !== undefined && { recovered }),
});

const contextOf = (
  { name, key, terms }: Call,
  attempt: number,
  source: ConstructorParameters<typeof AttemptContext>[2],
): AttemptContext => new AttemptContext({ name, key, maxAttempts: terms.retry.maxAttempts }, attempt, source);
