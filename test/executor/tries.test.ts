/** When a body may not run at all: too many tries, nobody to run it, an input that cannot be read. */
import { describe, expect, it } from "vitest";
import {
  DEFAULT_STEP_MAX_RETRIES,
  dehydrate,
  EntityConflictError,
  executeStep,
  hydrate,
  PreconditionFailedError,
  RunExpiredError,
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
  watchRejections,
  worldWithStep,
} from "./scene.ts";
import { ScriptedWorld } from "./scripted-world.ts";

watchRejections();

const throwing = (thrown: unknown) => () => {
  throw thrown;
};

describe("the number of tries", () => {
  it(`is one and ${DEFAULT_STEP_MAX_RETRIES} retries where the function does not say`, async () => {
    const world = await worldWithStep();
    const { calls } = counted(throwing(new Error("x")));
    const verdicts: string[] = [];
    for (let i = 0; i < 4; i++) verdicts.push((await executeStep(paramsFor(world))).type);
    expect(verdicts).toEqual(["retry", "retry", "retry", "failed"]);
    expect(calls()).toBe(4);
    expect(await executeStep(paramsFor(world))).toEqual({ type: "skipped" });
    expect(calls()).toBe(4);
  });

  it.each([
    [0, "0 retries"],
    [1, "1 retry"],
    [2, "2 retries"],
  ])("with maxRetries %i ends with the last error as the cause: %s", async (maxRetries, text) => {
    const world = await worldWithStep();
    const thrown = new TypeError("no");
    const { calls } = counted(throwing(thrown), maxRetries);
    for (let i = 0; i < maxRetries; i++) expect((await executeStep(paramsFor(world))).type).toBe("retry");
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
    expect(calls()).toBe(maxRetries + 1);
    const error = (await recordedError(world, "step_failed")) as Error;
    expect(error.message).toBe(`Step "step" failed after ${text}: no`);
    expect([error.name, error.stack, (error.cause as Error).message]).toEqual([
      "FatalError",
      thrown.stack,
      "no",
    ]);
  });

  it("case 1: attempt 5 of a step with 3 retries fails it without a start and without its body", async () => {
    const world = await worldWithStep();
    const { calls } = counted(() => 1, 3);
    expect(await executeStep(paramsFor(world, { authoritativeAttempt: 5 }))).toEqual({ type: "failed" });
    expect(calls()).toBe(0);
    expect(world.types).toEqual(["step_failed"]);
    expect(await recordedError(world, "step_failed")).toMatchObject({
      name: "FatalError",
      message: 'Step "step" exceeded max retries (4 retries)',
    });
  });

  it("case 2: attempt 4 of a step with 3 retries still runs", async () => {
    const world = await worldWithStep();
    const { calls } = counted(() => 1, 3);
    expect((await executeStep(paramsFor(world, { authoritativeAttempt: 4 }))).type).toBe("completed");
    expect(calls()).toBe(1);
    expect(world.asked("step_started").length).toBe(1);
    expect(world.asked("step_failed")).toEqual([]);
  });

  it.each([
    [0, 1, "completed"],
    [0, 2, "failed"],
    [1, 2, "completed"],
    [1, 3, "failed"],
  ])("with maxRetries %i and attempt %i: %s", async (maxRetries, authoritativeAttempt, type) => {
    const world = await worldWithStep();
    counted(() => 1, maxRetries);
    expect((await executeStep(paramsFor(world, { authoritativeAttempt }))).type).toBe(type);
  });

  it("case 35: a step started too often with an error on record fails without its body, the error as the cause", async () => {
    const world = new ScriptedWorld().given({
      stepId: STEP_ID,
      input: await inputOf(),
      attempt: 4,
      error: await dehydrate(new TypeError("the third one")),
    });
    const { calls } = counted(() => 1);
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
    expect(calls()).toBe(0);
    const error = (await recordedError(world, "step_failed")) as Error;
    expect(error.message).toBe('Step "step" exceeded max retries (4 retries)');
    expect((error.cause as Error).message).toBe("the third one");
  });

  it("with an error on record that cannot be read goes without the cause", async () => {
    const world = new ScriptedWorld().given({
      stepId: STEP_ID,
      input: await inputOf(),
      attempt: 4,
      error: "not bytes",
    });
    counted(() => 1);
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
    expect(await recordedError(world, "step_failed")).not.toHaveProperty("cause");
  });

  it.each([[undefined], [null]])(
    "counted too high by starts alone, with an error of %s, does not stop the body",
    async (error) => {
      const world = new ScriptedWorld().given({ stepId: STEP_ID, input: await inputOf(), attempt: 9, error });
      const { calls } = counted(() => 1);
      expect((await executeStep(paramsFor(world))).type).toBe("completed");
      expect(calls()).toBe(1);
    },
  );
});

describe("a step that nobody registered", () => {
  it("case 39: fails, and says that it is not registered", async () => {
    const world = await worldWithStep();
    expect(await executeStep(paramsFor(world, { stepName: "nobody" }))).toEqual({ type: "failed" });
    expect(world.types).toEqual(["step_failed"]);
    const error = (await recordedError(world, "step_failed")) as Error;
    expect(error.name).toBe("FatalError");
    expect(error.message).toMatch(/Step "nobody" is not registered/);
  });

  it("case 39: so does one whose registration is no function", async () => {
    const registered = (globalThis as unknown as Record<symbol, Map<string, unknown>>)[
      Symbol.for("@workflow/core//registeredSteps")
    ]!;
    registered.set("odd", { call: "me" });
    const world = await worldWithStep();
    expect(await executeStep(paramsFor(world, { stepName: "odd" }))).toEqual({ type: "failed" });
    registered.delete("odd");
  });

  it("case 5: that does not exist yet is made first, stamped with its owner", async () => {
    const world = new ScriptedWorld();
    const lazyStepInput = await inputOf();
    const verdict = await executeStep(
      paramsFor(world, { stepName: "nobody", lazyStepInput, ownerMessageId: "msg_1", stateUpdatedAt: 7 }),
    );
    expect(verdict).toEqual({ type: "failed" });
    expect(world.types).toEqual(["step_started", "step_failed"]);
    const [start] = world.asked("step_started");
    expect(start!.request.eventData).toEqual({
      stepName: "nobody",
      workflowName: "workflow",
      input: lazyStepInput,
      ownerMessageId: "msg_1",
    });
    expect(start!.params).toEqual({ stateUpdatedAt: 7 });
  });

  it.each([
    ["409", new EntityConflictError("there"), { type: "skipped" }],
    ["410", new RunExpiredError("over"), { type: "gone" }],
    ["412", new PreconditionFailedError("stale"), undefined],
    ["425", new TooEarlyError("soon"), undefined],
    ["429", new ThrottleError("slow", { retryAfter: 4 }), undefined],
    ["500", new WorkflowWorldError("broken"), undefined],
  ])("and whose making is refused with %s", async (_, error, verdict) => {
    const world = new ScriptedWorld().refuse("step_started", error);
    const executing = executeStep(paramsFor(world, { stepName: "nobody", lazyStepInput: await inputOf() }));
    if (verdict === undefined) await expect(executing).rejects.toBe(error);
    else expect(await executing).toEqual(verdict);
    expect(world.types).toEqual(["step_started"]);
  });

  it("does not mind a barrier that fails: the start itself will tell", async () => {
    const world = new ScriptedWorld();
    const verdict = await executeStep(
      paramsFor(world, {
        stepName: "nobody",
        lazyStepInput: await inputOf(),
        runReadyBarrier: Promise.reject(new Error("no run")),
      }),
    );
    expect(verdict).toEqual({ type: "failed" });
  });

  it("is made only when the run exists", async () => {
    const world = new ScriptedWorld();
    const barrier = later<void>();
    const executing = executeStep(
      paramsFor(world, {
        stepName: "nobody",
        lazyStepInput: await inputOf(),
        runReadyBarrier: barrier.promise,
      }),
    );
    for (let turn = 0; turn < 5; turn++) await settle();
    expect(world.types).toEqual([]);
    barrier.resolve();
    await executing;
    expect(world.types).toEqual(["step_started", "step_failed"]);
  });

  it("is told before its tries are counted", async () => {
    const world = await worldWithStep();
    await executeStep(paramsFor(world, { stepName: "nobody", authoritativeAttempt: 99 }));
    expect(await recordedError(world, "step_failed")).toMatchObject({
      message: expect.stringContaining("not registered"),
    });
  });
});

describe("an input", () => {
  it("case 9: that could not be stored fails the step without its body and without a retry", async () => {
    const placeholder = { args: ["[arguments]"], closureVars: [], __workflowUnserializableStepInput: true };
    const world = new ScriptedWorld().given({ stepId: STEP_ID, input: await dehydrate(placeholder) });
    const { calls } = counted(() => 1);
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
    expect(calls()).toBe(0);
    expect(world.asked("step_retrying")).toEqual([]);
    expect(await recordedError(world, "step_failed")).toMatchObject({
      name: "SerializationError",
      message: expect.stringMatching(/step "step" \(step_1 of run wrun_1\) could not be stored/),
    });
  });

  it("case 10: an argument that only looks like that mark is an argument", async () => {
    const world = await worldWithStep("[arguments]", { __workflowUnserializableStepInput: true });
    const { calls } = counted((text: string) => text);
    expect((await executeStep(paramsFor(world))).type).toBe("completed");
    expect(calls()).toBe(1);
  });

  it.each([
    ["that is no bytes", "text"],
    ["of an unknown format", Buffer.from("zzzz[1]")],
    ["that is cut off", Buffer.from("devl[[1")],
    ["without a list of arguments", Buffer.from('devl[{"args":1},5]')],
    ["that is shorter than a prefix", Buffer.from("de")],
  ])("%s is an ordinary failure, and the body never runs", async (_, input) => {
    const world = new ScriptedWorld().given({ stepId: STEP_ID, input });
    const { calls } = counted(() => 1, 1);
    expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: 1 });
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
    expect(calls()).toBe(0);
  });

  it("reaches the body with its this", async () => {
    const world = new ScriptedWorld().given({
      stepId: STEP_ID,
      input: await dehydrate({ args: [1], thisVal: { factor: 3 } }),
    });
    const { registerStep } = await import("../../src/executor/index.ts");
    registerStep(STEP_NAME, async function (this: { factor: number }, n: number) {
      return this.factor * n;
    });
    await executeStep(paramsFor(world));
    const { result } = world.asked("step_completed")[0]!.request.eventData as { result: unknown };
    expect(await hydrate(result)).toBe(3);
  });
});
