/**
 * What an author writes: a workflow is a declaration around an ordinary async function, and the context is what that function
 * may ask of the engine. Identity is the key under which the declaration is registered, not a name of its own.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { AttemptLimits } from "./attempts/attempt.ts";
import type { StepAttempt } from "./attempts/attempt-context.ts";
import type { RetryPolicy } from "./attempts/retry-policy.ts";

/** Any Standard Schema: zod, valibot, arktype, effect, … */
export type Schema = StandardSchemaV1;

/** What a body receives: the schema's output, or a plain record where none is declared. */
export type InputOf<P extends Schema> =
  unknown extends StandardSchemaV1.InferOutput<P> ? Record<string, unknown> : StandardSchemaV1.InferOutput<P>;

/** A declared workflow. Make one with {@link workflow}. */
export interface WorkflowDef<P extends Schema = Schema, R = unknown> {
  readonly description?: string;
  /** Checked when a run is started; the run stores, and the body gets, what the schema makes of the input. */
  readonly input?: P;
  /** Checked once when the body returns; a run whose output does not fit fails. */
  readonly output?: Schema;
  /** Input properties that hold the id of an upload. Served in listings; the engine does nothing with them. */
  readonly uploads?: readonly string[];
  run(input: InputOf<P>, ctx: WorkflowContext): Promise<R> | R;
}

/** A declaration whose types are not known here: what registries hold. */
// biome-ignore lint/suspicious/noExplicitAny: a registry holds workflows of every input and output; `unknown` would refuse them all.
export type AnyWorkflowDef = WorkflowDef<any, any>;

/** Declares a workflow. It returns what it is given; its use is that TypeScript then knows the input and the output. */
export const workflow = <P extends Schema, R>(def: WorkflowDef<P, R>): WorkflowDef<P, R> => def;

/** Accepts string literals only, so that a step's identity cannot depend on data by accident. */
export type Literal<S extends string> = string extends S ? never : S;

/** A step's body; it may ignore what it is told about its try. */
export type StepBody<T = unknown> = (attempt: StepAttempt) => T | Promise<T>;

/** What `onError` is told about a step that failed for good. */
export interface StepFailure {
  readonly name: string;
  readonly key: string;
  /** Tries in this walk. */
  readonly attempts: number;
  /** What the last try threw; a `StepTimeoutError` where it exceeded a limit. */
  readonly error: unknown;
}

export interface StepOptions<S extends Schema = Schema, T = unknown> {
  /** Tries in one walk, the first included. Default 3. `retry.maxAttempts` by another name; this one counts where both are given. */
  readonly maxAttempts?: number;
  /**
   * How long to wait between two tries, and after which errors. Default: no wait but a `RetryableError`'s. With a policy its other
   * defaults hold; the engine never waits longer than 30 seconds, and never repeats after a `FatalError`.
   */
  readonly retry?: RetryPolicy;
  /** Limits of one try, in milliseconds: the whole of it, and between two heartbeats. A try that exceeds one has failed. Default: none. */
  readonly timeout?: AttemptLimits;
  /**
   * Decides what becomes of a step that failed for good: what it returns is recorded as the step's result, what it throws is its error.
   * It runs inside the step. Never asked about an abort, a refusal or store trouble.
   */
  readonly onError?: (failure: StepFailure) => T | Promise<T>;
  /** Checked before the result is recorded, and again when it is read back; the step's result is the schema's output. */
  readonly schema?: S;
  /**
   * Begins the body while its claim, and what the workflow was told before, are still on their way into the log. For bodies that may run
   * without a trace of it and run again: what they do is cheap, or does no harm twice. Where the claim is lost the outcome is discarded.
   * Holds for the first try of the first walk that comes to the step; a step inside a step is never optimistic. Default `false`.
   */
  readonly optimistic?: boolean;
}

export interface SleepOptions {
  /** What `wakeUp(runId, { correlationIds })` matches. Never taken from the label. */
  readonly correlationId?: string;
}

export interface WaitForOptions<S extends Schema = Schema> {
  /** How long the window stays open, in milliseconds from the first reach. Without it the wait has no deadline. */
  readonly timeoutMs?: number;
  /** Checks the payload of the signal; a payload that does not fit fails the run. */
  readonly schema?: S;
}

/** The engine, as a body sees it: everything that must be the same on every replay goes through here. */
export interface WorkflowContext {
  readonly runId: string;
  /** The key under which the workflow is declared. */
  readonly workflow: string;

  /**
   * Runs `fn` once and remembers its result; later walks answer from the log without running it.
   *
   * A failed try is tried again up to `maxAttempts` (default 3) times: at once, or after a `RetryableError`'s delay; a `FatalError`
   * ends the tries. A step that failed for good throws a `FatalError` with the same message on every walk. `options` say more.
   */
  step<const N extends string, S extends Schema>(
    name: Literal<N>,
    fn: StepBody,
    options: StepOptions<S> & { readonly schema: S },
  ): Promise<StandardSchemaV1.InferOutput<S>>;
  step<const N extends string, T>(
    name: Literal<N>,
    fn: StepBody<T>,
    options?: StepOptions<Schema, T>,
  ): Promise<T>;

  /** Waits durably: a number is milliseconds from the first reach, a Date an instant. A deadline in the past does not wait. */
  sleep<const N extends string>(
    label: Literal<N>,
    until: number | Date,
    options?: SleepOptions,
  ): Promise<void>;

  /** Waits until somebody signals `token`, which one live wait at a time may hold, in all runs. */
  waitFor<S extends Schema>(
    token: string,
    options: { readonly timeoutMs: number; readonly schema: S },
  ): Promise<StandardSchemaV1.InferOutput<S> | undefined>;
  waitFor<S extends Schema>(
    token: string,
    options: { readonly schema: S; readonly timeoutMs?: undefined },
  ): Promise<StandardSchemaV1.InferOutput<S>>;
  /** Answers `undefined` when the window closes unanswered. */
  waitFor<T = unknown>(token: string, options: { readonly timeoutMs: number }): Promise<T | undefined>;
  waitFor<T = unknown>(token: string): Promise<T>;

  /** The time in epoch milliseconds, read once and remembered. */
  now(): Promise<number>;
  /** A number in [0, 1), drawn once and remembered. */
  random(): Promise<number>;
  /** A UUID, made once and remembered. */
  uuid(): Promise<string>;
}
