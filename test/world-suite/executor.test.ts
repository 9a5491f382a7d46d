/**
 * Runstream's executor and the SDK's, given the same step over the same World: the same events, the same verdict, the body run as often.
 *
 * Two differences are wanted, and left out here: the words of messages, and a thrown value that cannot be stored, which makes the SDK's
 * executor reject for ever and Runstream's store what can be stored of it.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, expectTypeOf, it, vi } from "vitest";
import * as runstream from "../../src/executor/index.ts";
import { STEP_ID } from "../executor/scene.ts";
import { type Call, ScriptedWorld } from "../executor/scripted-world.ts";
import type * as sdk from "./node_modules/@workflow/core/dist/runtime/step-executor.js";
import type * as sdkLatency from "./node_modules/@workflow/core/dist/runtime/step-latency.js";

type Execute = (params: runstream.StepExecutorParams) => Promise<runstream.StepExecutionResult>;

const core = (file: string): Promise<unknown> =>
  import(pathToFileURL(join(import.meta.dirname, "node_modules/@workflow/core/dist/runtime", file)).href);
const { executeStep } = (await core("step-executor.js")) as { executeStep: Execute };
const { setWorld } = (await core("world.js")) as { setWorld(world: unknown): void };

beforeAll(() => {
  for (const method of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, method).mockImplementation(() => undefined);
  }
});

const REFUSALS: Record<string, () => Error> = {
  "409": () => new runstream.EntityConflictError("m"),
  "410": () => new runstream.RunExpiredError("m"),
  "412": () => new runstream.PreconditionFailedError("m"),
  "425": () => new runstream.TooEarlyError("m"),
  "425 with a delay": () => new runstream.TooEarlyError("m", { retryAfter: 12 }),
  "429": () => new runstream.ThrottleError("m"),
  "429 with a delay": () => new runstream.ThrottleError("m", { retryAfter: 7 }),
  "500": () => new runstream.WorkflowWorldError("m", { status: 500 }),
  "a socket that hung up": () => new TypeError("fetch failed"),
};

interface Mode extends Partial<runstream.StepExecutorParams> {
  readonly lazy?: true;
  readonly barrier?: () => Promise<unknown>;
}

const MODES: Record<string, Mode> = {
  bare: {},
  "owned recovery": { ownerMessageId: "m1" },
  lazy: { lazy: true, ownerMessageId: "m1" },
  optimistic: { lazy: true, forceOptimisticStart: true },
  "optimistic behind a barrier": { lazy: true, forceOptimisticStart: true, barrier: () => Promise.resolve() },
  "lazy behind a barrier": { lazy: true, barrier: () => Promise.resolve() },
};

const throws = (thrown: unknown) => () => {
  throw thrown;
};

const BODIES: Record<string, () => unknown> = {
  "a result": () => ({ a: 1 }),
  nothing: () => undefined,
  "an error": throws(new Error("body")),
  "a text thrown": throws("text"),
  "null thrown": throws(null),
  "a fatal error": throws(new runstream.FatalError("f")),
  "an error that says fatal": throws(Object.assign(new Error("b"), { fatal: true })),
  "a retry in the past": throws(new runstream.RetryableError("r", { retryAfter: new Date(0) })),
  "an abort": throws(new DOMException("left", "AbortError")),
  "a run that is over": throws(new runstream.RunExpiredError("over")),
  "a conflict of its own": throws(new runstream.EntityConflictError("mine")),
};

interface Case {
  readonly mode: Mode;
  readonly body: () => unknown;
  readonly start?: () => Error;
  readonly outcome?: () => Error;
  readonly attempt?: number;
  readonly failedBefore?: boolean;
  readonly maxRetries?: number;
  readonly stepName?: string;
}

const written = async ({ type, request, params }: Call): Promise<unknown> => {
  const data = { ...(request.eventData as Record<string, unknown>) };
  for (const field of ["input", "result", "error"]) {
    if (data[field] === undefined) continue;
    const value = await runstream.hydrate(data[field]);
    data[field] =
      value instanceof Error ? [value.name, value.cause instanceof Error, typeof value.stack] : value;
  }
  return [type, data, params, request.specVersion, request.correlationId];
};

const told = async (execute: Execute, given: Case): Promise<unknown> => {
  const world = new ScriptedWorld();
  setWorld(world);
  const { lazy, barrier, ...mode } = given.mode;
  const input = await runstream.dehydrate({ args: ["x"], thisVal: undefined, closureVars: undefined });
  if (lazy !== true) {
    const error =
      given.failedBefore === true ? { error: await runstream.dehydrate(new Error("before")) } : {};
    world.given({ stepId: STEP_ID, input, attempt: given.attempt ?? 0, ...error });
  }
  let runs = 0;
  const options = given.maxRetries === undefined ? {} : { maxRetries: given.maxRetries };
  const body = async () => {
    runs++;
    return given.body();
  };
  runstream.registerStep("step", body, options);
  const { start, outcome } = given;
  if (start !== undefined) world.refuse("step_started", start());
  if (outcome !== undefined) {
    for (const type of ["step_completed", "step_failed", "step_retrying"]) world.refuse(type, outcome());
  }
  const verdict = await execute({
    world,
    workflowRunId: "wrun_1",
    workflowName: "workflow",
    workflowStartedAt: 0,
    stepId: STEP_ID,
    stepName: given.stepName ?? "step",
    ...mode,
    ...(lazy === true ? { lazyStepInput: input } : {}),
    ...(barrier === undefined ? {} : { runReadyBarrier: barrier() }),
  }).then(
    (result) => (result.type === "completed" ? [result.type, result.hasPendingOps === true] : result),
    (error: Error) => ["rejects", error.name],
  );
  return { verdict, runs, calls: await Promise.all(world.calls.map(written)) };
};

const same = async (given: Case): Promise<void> => {
  expect(await told(runstream.executeStep, given)).toEqual(await told(executeStep, given));
};

describe("the types of the executor", () => {
  /** Message ids are branded by the SDK and not here; a World is taken as the SDK declares it. */
  type Params = Omit<runstream.StepExecutorParams, "world"> & Pick<sdk.StepExecutorParams, "world">;

  it("fit those of the SDK, in both directions", () => {
    expectTypeOf<typeof runstream.executeStep>().toExtend<typeof sdk.executeStep>();
    expectTypeOf<typeof sdk.executeStep>().toExtend<(params: Params) => ReturnType<Execute>>();
    expectTypeOf<runstream.StepExecutionResult>().toExtend<sdk.StepExecutionResult>();
    expectTypeOf<sdk.StepExecutionResult>().toExtend<runstream.StepExecutionResult>();
    expectTypeOf<sdk.StepExecutorParams>().toExtend<runstream.StepExecutorParams>();
    expectTypeOf<Params>().toExtend<sdk.StepExecutorParams>();
  });

  it("of its measurements do too", () => {
    type View = Parameters<typeof sdkLatency.computeStepLatencyTracking>[0];
    expectTypeOf<View>().toExtend<runstream.StepLatencyView>();
    expectTypeOf<sdkLatency.StepLatencyTracking>().toExtend<runstream.StepLatencyTracking>();
    expectTypeOf<runstream.StepLatencyTracking>().toExtend<sdkLatency.StepLatencyTracking>();
    expectTypeOf<sdkLatency.StepLatencyEventData>().toExtend<runstream.StepLatencyEventData>();
  });
});

describe.each(Object.entries(MODES))("a step that is started %s", (_, mode) => {
  it.each(Object.keys(BODIES))("and whose body ends with %s", (name) => same({ mode, body: BODIES[name]! }));

  describe.each(["a result", "an error", "a fatal error"])("with a body that ends with %s", (name) => {
    const body = BODIES[name]!;
    it.each(Object.keys(REFUSALS))("and whose start is refused with %s", (refusal) =>
      same({ mode, body, start: REFUSALS[refusal]! }),
    );
    it.each(Object.keys(REFUSALS))("and whose outcome is refused with %s", (refusal) =>
      same({ mode, body, outcome: REFUSALS[refusal]! }),
    );
  });

  it.each(Object.keys(REFUSALS))("and that nobody registered, its failure refused with %s", (refusal) =>
    same({ mode, body: () => 1, stepName: "nobody", outcome: REFUSALS[refusal]! }),
  );
  it.each(Object.keys(REFUSALS))("and that nobody registered, its start refused with %s", (refusal) =>
    same({ mode, body: () => 1, stepName: "nobody", start: REFUSALS[refusal]! }),
  );
});

describe.each([[0], [1], [3]])("a step with %i retries", (maxRetries) => {
  it.each(Object.keys(BODIES))("at each of its attempts and beyond, ending with %s", async (name) => {
    for (const attempt of [0, maxRetries, maxRetries + 1]) {
      for (const failedBefore of [false, true]) {
        await same({ mode: {}, body: BODIES[name]!, attempt, failedBefore, maxRetries });
      }
    }
  });
});
