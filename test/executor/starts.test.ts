/**
 * Each way to start a step, each way a World can refuse it, and what becomes of the body: a table. A start that is refused writes
 * nothing else, whatever the body did; trouble is passed on as it is.
 */
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  EntityConflictError,
  executeStep,
  PreconditionFailedError,
  RunExpiredError,
  type StepExecutorParams,
  ThrottleError,
  TooEarlyError,
  WorkflowWorldError,
} from "../../src/executor/index.ts";
import {
  counted,
  inputOf,
  later,
  paramsFor,
  recordedError,
  STEP_ID,
  STEP_NAME,
  settle,
  until,
  watchRejections,
} from "./scene.ts";
import { ScriptedWorld } from "./scripted-world.ts";

watchRejections();
afterEach(() => {
  vi.unstubAllEnvs();
});

interface Mode {
  readonly lazy: boolean;
  readonly optimistic: boolean;
  readonly env?: string;
  readonly params?: Partial<StepExecutorParams>;
}

const MODES: Record<string, Mode> = {
  "bare, background": { lazy: false, optimistic: false },
  "bare, owned recovery": { lazy: false, optimistic: false, params: { ownerMessageId: "msg_1" } },
  "lazy, awaited": { lazy: true, optimistic: false, params: { ownerMessageId: "msg_1" } },
  "lazy, optimistic by the environment": { lazy: true, optimistic: true, env: "1" },
  "lazy, optimistic by force": { lazy: true, optimistic: true, params: { forceOptimisticStart: true } },
  "lazy, forced and suppressed": {
    lazy: true,
    optimistic: false,
    env: "1",
    params: { forceOptimisticStart: true, suppressOptimisticStart: true },
  },
  "lazy, forced, the environment says no": {
    lazy: true,
    optimistic: false,
    env: "0",
    params: { forceOptimisticStart: true },
  },
  "lazy, optimistic behind a barrier": {
    lazy: true,
    optimistic: true,
    params: { forceOptimisticStart: true, runReadyBarrier: Promise.resolve() },
  },
};

const REFUSALS: Record<string, { error: Error; verdict?: object }> = {
  "429 with a delay": {
    error: new ThrottleError("slow", { retryAfter: 7 }),
    verdict: { type: "throttled", timeoutSeconds: 7 },
  },
  "429 without a delay": {
    error: new ThrottleError("slow"),
    verdict: { type: "throttled", timeoutSeconds: 1 },
  },
  "429 with a delay of nothing": {
    error: new ThrottleError("slow", { retryAfter: 0 }),
    verdict: { type: "throttled", timeoutSeconds: 1 },
  },
  "410": { error: new RunExpiredError("over"), verdict: { type: "gone" } },
  "409": { error: new EntityConflictError("taken"), verdict: { type: "skipped" } },
  "425 with a delay": {
    error: new TooEarlyError("soon", { retryAfter: 12 }),
    verdict: { type: "retry", timeoutSeconds: 12 },
  },
  "425 without a delay": { error: new TooEarlyError("soon"), verdict: { type: "retry", timeoutSeconds: 1 } },
  "412 (cases 51, 52)": { error: new PreconditionFailedError("stale") },
  "500 (case 41)": { error: new WorkflowWorldError("broken", { status: 500 }) },
  "a socket that hung up": { error: new TypeError("fetch failed") },
};

const BODIES: Record<string, () => unknown> = {
  returns: () => "done",
  throws: () => {
    throw new Error("body");
  },
  "throws for good": () => {
    throw Object.assign(new Error("body"), { fatal: true });
  },
};

const sceneOf = async (mode: Mode): Promise<{ world: ScriptedWorld; params: StepExecutorParams }> => {
  if (mode.env !== undefined) vi.stubEnv("WORKFLOW_OPTIMISTIC_INLINE_START", mode.env);
  const world = new ScriptedWorld();
  const input = await inputOf("argument");
  if (!mode.lazy) world.given({ stepId: STEP_ID, input });
  return {
    world,
    params: paramsFor(world, { ...mode.params, ...(mode.lazy ? { lazyStepInput: input } : {}) }),
  };
};

describe.each(Object.entries(MODES))("%s", (_, mode) => {
  describe.each(Object.entries(BODIES))("whose body %s", (__, body) => {
    it.each(Object.entries(REFUSALS))("refused with %s: nothing else is written", async (___, refusal) => {
      const { world, params } = await sceneOf(mode);
      const { calls } = counted(body);
      world.refuse("step_started", refusal.error);
      const executing = executeStep(params);
      if (refusal.verdict === undefined) await expect(executing).rejects.toBe(refusal.error);
      else expect(await executing).toEqual(refusal.verdict);
      expect(world.types).toEqual(["step_started"]);
      expect(calls()).toBe(mode.optimistic ? 1 : 0);
    });

    it("accepted: the outcome follows the start", async () => {
      const { world, params } = await sceneOf(mode);
      const { calls } = counted(body);
      const outcome =
        body === BODIES.returns ? "step_completed" : body === BODIES.throws ? "step_retrying" : "step_failed";
      const verdict = { step_completed: "completed", step_retrying: "retry", step_failed: "failed" }[outcome];
      expect((await executeStep(params)).type).toBe(verdict);
      expect(world.types).toEqual(["step_started", outcome]);
      expect(calls()).toBe(1);
    });
  });

  it("asks for the start in its own form", async () => {
    const { world, params } = await sceneOf(mode);
    counted(() => "done");
    await executeStep(params);
    const [start] = world.asked("step_started");
    const owner = params.ownerMessageId === undefined ? {} : { ownerMessageId: params.ownerMessageId };
    expect(start!.request).toEqual({
      eventType: "step_started",
      specVersion: 5,
      correlationId: STEP_ID,
      eventData: mode.lazy
        ? { stepName: STEP_NAME, workflowName: "workflow", input: params.lazyStepInput, ...owner }
        : { stepName: STEP_NAME, ...owner },
    });
    expect(start!.argumentCount).toBe(2);
  });

  it("case 3: the view that the caller decided on goes with the one start, and with nothing else", async () => {
    const { world, params } = await sceneOf(mode);
    counted(() => "done");
    await executeStep({ ...params, stateUpdatedAt: 12_345 });
    expect(world.calls.map(({ type, params: given }) => [type, given])).toEqual([
      ["step_started", { stateUpdatedAt: 12_345 }],
      ["step_completed", undefined],
    ]);
  });

  it(`${mode.optimistic ? "runs the body before" : "waits with the body until"} the start is accepted`, async () => {
    const { world, params } = await sceneOf(mode);
    const { calls } = counted(() => "done");
    const accepted = later<undefined>();
    world.on("step_started", () => accepted.promise);
    const executing = executeStep(params);
    await until(() => world.types.length === 1);
    for (let turn = 0; turn < 5; turn++) await settle();
    expect(calls()).toBe(mode.optimistic ? 1 : 0);
    expect(world.types).toEqual(["step_started"]);
    accepted.resolve(undefined);
    expect((await executing).type).toBe("completed");
  });
});

describe("a start", () => {
  it("that the World accepts without the step is a broken contract", async () => {
    const world = new ScriptedWorld().on("step_started", () => ({}));
    const { calls } = counted(() => "done");
    await expect(executeStep(paramsFor(world))).rejects.toThrow(
      /step_1 of run wrun_1.*did not answer the step/,
    );
    expect(calls()).toBe(0);
  });

  it("whose step has no time of start counts as a failed attempt", async () => {
    const world = new ScriptedWorld().given({ stepId: STEP_ID, input: await inputOf() });
    world.on("step_started", () => ({ step: { ...world.entities.get(STEP_ID)!, attempt: 1 } }));
    const { calls } = counted(() => "done");
    expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: 1 });
    expect(await recordedError(world, "step_retrying")).toMatchObject({ name: "TypeError" });
    expect(calls()).toBe(0);
  });

  it.each([
    ["optimistic", { forceOptimisticStart: true }],
    ["awaited", {}],
  ])("case 45: behind a barrier, %s, is sent only when the run exists", async (_, how) => {
    const world = new ScriptedWorld();
    const { calls } = counted(() => "done");
    const barrier = later<void>();
    const executing = executeStep(
      paramsFor(world, { lazyStepInput: await inputOf(), runReadyBarrier: barrier.promise, ...how }),
    );
    for (let turn = 0; turn < 5; turn++) await settle();
    expect(world.types).toEqual([]);
    expect(calls()).toBe("forceOptimisticStart" in how ? 1 : 0);
    barrier.resolve();
    expect((await executing).type).toBe("completed");
    expect(world.types).toEqual(["step_started", "step_completed"]);
  });

  it.each([
    ["optimistic", { forceOptimisticStart: true }],
    ["awaited", {}],
  ])("behind a barrier that fails, %s, is refused by that error, and nothing is written", async (_, how) => {
    const world = new ScriptedWorld();
    counted(() => "done");
    const run = async (error: Error) =>
      executeStep(
        paramsFor(world, { lazyStepInput: await inputOf(), runReadyBarrier: Promise.reject(error), ...how }),
      );
    expect(await run(new RunExpiredError("over"))).toEqual({ type: "gone" });
    await expect(run(new TypeError("no network"))).rejects.toThrow("no network");
    expect(world.types).toEqual([]);
  });

  it("of a step that exists does not look at a barrier, and one that fails bothers nobody", async () => {
    const world = new ScriptedWorld().given({ stepId: STEP_ID, input: await inputOf() });
    counted(() => "done");
    const runReadyBarrier = Promise.reject(new Error("no run"));
    expect((await executeStep(paramsFor(world, { runReadyBarrier }))).type).toBe("completed");
  });

  it("of a step without input is never optimistic", async () => {
    vi.stubEnv("WORKFLOW_OPTIMISTIC_INLINE_START", "1");
    const world = new ScriptedWorld().given({ stepId: STEP_ID, input: await inputOf() });
    const { calls } = counted(() => "done");
    world.refuse("step_started", new EntityConflictError("taken"));
    expect(await executeStep(paramsFor(world, { forceOptimisticStart: true }))).toEqual({ type: "skipped" });
    expect(calls()).toBe(0);
  });

  it.each([
    ["1", true],
    ["true", true],
    ["TRUE", true],
    ["0", false],
    ["false", false],
    ["", false],
    ["yes", false],
    [undefined, false],
  ])("with WORKFLOW_OPTIMISTIC_INLINE_START=%s and no force is optimistic: %s", async (value, expected) => {
    vi.stubEnv("WORKFLOW_OPTIMISTIC_INLINE_START", value);
    const world = new ScriptedWorld().refuse("step_started", new EntityConflictError("taken"));
    const { calls } = counted(() => "done");
    await executeStep(paramsFor(world, { lazyStepInput: await inputOf() }));
    expect(calls()).toBe(expected ? 1 : 0);
  });

  it.each([
    ["", true],
    ["yes", true],
    [undefined, true],
    ["0", false],
    ["false", false],
  ])("with WORKFLOW_OPTIMISTIC_INLINE_START=%s and force is optimistic: %s", async (value, expected) => {
    vi.stubEnv("WORKFLOW_OPTIMISTIC_INLINE_START", value);
    const world = new ScriptedWorld().refuse("step_started", new EntityConflictError("taken"));
    const { calls } = counted(() => "done");
    await executeStep(paramsFor(world, { lazyStepInput: await inputOf(), forceOptimisticStart: true }));
    expect(calls()).toBe(expected ? 1 : 0);
  });
});
