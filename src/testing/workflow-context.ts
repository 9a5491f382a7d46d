/**
 * createWorkflowContext: a context without an engine, which notes what a body asks for.
 *
 * It is for tests about what a body does with its answers. Nothing is durable here: no journal, no retries, no second walk, no
 * waiting. What survives a restart is tested with `runWorkflow`.
 */
import { AttemptContext } from "../engine/attempts/attempt-context.ts";
import { checkSchema } from "../engine/schema.ts";
import type {
  Schema,
  SleepOptions,
  StepBody,
  StepOptions,
  WaitForOptions,
  WorkflowContext,
} from "../engine/workflow.ts";
import { VIRTUAL_START } from "./virtual-clock.ts";

export interface WorkflowContextOptions {
  /** Default `"wrun_test"`. */
  readonly runId?: string;
  /** Default `"test"`. */
  readonly workflow?: string;
  /** Whether a step without a given result runs its function; otherwise it answers `undefined`. Default `true`. */
  readonly runSteps?: boolean;
  /** Results by step name. A name that is present is answered with its value, and its function does not run. */
  readonly results?: Readonly<Record<string, unknown>>;
  /** Answers by token. */
  readonly hooks?: Readonly<Record<string, unknown>>;
  /** What `ctx.now()` answers, in epoch milliseconds. Default: always 2026-01-01T00:00:00Z. */
  readonly now?: number | (() => number);
  /** What `ctx.random()` answers. Default: always 0.5. */
  readonly random?: number | (() => number);
  /** What `ctx.uuid()` answers. Default: `"uuid-0"`, `"uuid-1"`, … */
  readonly uuid?: string | (() => string);
}

/** What the body asked for, in the order in which it did. */
export interface WorkflowRecording {
  readonly steps: readonly { readonly name: string; readonly maxAttempts: number | undefined }[];
  readonly slept: readonly {
    readonly label: string;
    readonly until: number | Date;
    readonly correlationId: string | undefined;
  }[];
  readonly waited: readonly string[];
}

const source = <T>(given: T | (() => T) | undefined, byDefault: () => T): (() => T) => {
  if (given === undefined) return byDefault;
  return typeof given === "function" ? (given as () => T) : () => given;
};

const fitting = async (schema: Schema | undefined, value: unknown, what: string): Promise<unknown> => {
  if (schema === undefined) return value;
  const checked = await checkSchema(schema, value);
  if (!checked.ok) throw new Error(`${what} does not fit its schema: ${checked.message}`);
  return checked.value;
};

/** One try, and what `onError` makes of its failure. */
const onceOrRecovered = async (
  name: string,
  key: string,
  fn: StepBody,
  onError: StepOptions["onError"],
): Promise<unknown> => {
  try {
    return await fn(new AttemptContext({ name, key, maxAttempts: 1 }, 1, new AbortController()));
  } catch (error) {
    if (onError === undefined) throw error;
    return onError({ name, key, attempts: 1, error });
  }
};

/**
 * Makes a recording context. Its methods reject where the body's author has to decide something: a `waitFor` without a deadline whose
 * token is not among `hooks`, and a result, output or payload that does not fit the schema it was asked for with.
 *
 * @example
 * ```ts
 * const ctx = createWorkflowContext({ results: { read: "the page" } });
 * await digest.run({ url: "https://example.com" }, ctx);
 * expect(ctx.slept).toEqual([{ label: "settle", until: 10_000, correlationId: undefined }]);
 * ```
 */
export const createWorkflowContext = (
  options: WorkflowContextOptions = {},
): WorkflowContext & WorkflowRecording => {
  const { runId = "wrun_test", workflow = "test", runSteps = true, results = {}, hooks = {} } = options;
  const steps: { name: string; maxAttempts: number | undefined }[] = [];
  const slept: { label: string; until: number | Date; correlationId: string | undefined }[] = [];
  const waited: string[] = [];
  let uuids = 0;
  const now = source(options.now, () => VIRTUAL_START);
  const random = source(options.random, () => 0.5);
  const uuid = source(options.uuid, () => `uuid-${uuids++}`);

  const recording = {
    runId,
    workflow,
    steps,
    slept,
    waited,
    step: async (name: string, fn: StepBody, { maxAttempts, schema, onError }: StepOptions = {}) => {
      const key = `${name}#${steps.filter((step) => step.name === name).length}`;
      steps.push({ name, maxAttempts });
      if (Object.hasOwn(results, name))
        return fitting(schema, results[name], `the result given for step ${JSON.stringify(name)}`);
      if (!runSteps) return undefined;
      const output = await onceOrRecovered(name, key, fn, onError);
      return fitting(schema, output, `the output of step ${JSON.stringify(name)}`);
    },
    sleep: async (label: string, until: number | Date, { correlationId }: SleepOptions = {}) => {
      slept.push({ label, until, correlationId });
    },
    waitFor: async (token: string, { timeoutMs, schema }: WaitForOptions = {}) => {
      waited.push(token);
      if (Object.hasOwn(hooks, token))
        return fitting(schema, hooks[token], `the answer given for ${JSON.stringify(token)}`);
      if (timeoutMs !== undefined) return undefined;
      throw new Error(
        `the body waits for ${JSON.stringify(token)} without a deadline, and no answer is given: add it to createWorkflowContext's hooks`,
      );
    },
    now: async () => now(),
    random: async () => random(),
    uuid: async () => uuid(),
  };
  // The overloads of a context are promises about types that a recording keeps at run time only.
  return recording as unknown as WorkflowContext & WorkflowRecording;
};
