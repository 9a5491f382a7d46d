/** What surrounds a body: what it can ask, what it leaves running, and what has to be over before its outcome is written. */
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  executeStep,
  hydrate,
  importEncryptionKey,
  RunExpiredError,
  type StepContext,
  stepContext,
} from "../../src/executor/index.ts";
import { OPERATIONS_WINDOW_MS } from "../../src/executor/pending-operations.ts";
import {
  counted,
  inputOf,
  later,
  paramsFor,
  STEP_ID,
  settle,
  until,
  watchRejections,
  worldWithStep,
} from "./scene.ts";
import { ScriptedWorld } from "./scripted-world.ts";

watchRejections();
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

const named = (name: string): Error => Object.assign(new Error("gone"), { name });

describe("the context of a body", () => {
  const contextIn = async (
    params: Parameters<typeof paramsFor>[1] = {},
    world?: ScriptedWorld,
  ): Promise<StepContext> => {
    let seen: StepContext | undefined;
    counted(async () => {
      await settle();
      seen = stepContext();
    });
    await executeStep(paramsFor(world ?? (await worldWithStep()), params));
    return seen!;
  };

  it("names the step, its attempt, its run and where the deployment answers", async () => {
    vi.stubEnv("VERCEL_URL", undefined);
    vi.stubEnv("PORT", undefined);
    const world = new ScriptedWorld().given({
      stepId: STEP_ID,
      input: await inputOf(),
      attempt: 1,
      startedAt: new Date(5_000),
    });
    const context = await contextIn(
      { workflowStartedAt: 1_000, workflowDeploymentId: "dpl_1", rootRunId: "wrun_0" },
      world,
    );
    expect(context.stepMetadata).toEqual({
      stepName: "step",
      stepId: STEP_ID,
      stepStartedAt: new Date(5_000),
      attempt: 2,
    });
    expect(context.workflowMetadata).toEqual({
      workflowName: "workflow",
      workflowRunId: "wrun_1",
      workflowStartedAt: new Date(1_000),
      url: "http://localhost:3000",
      features: { encryption: false },
    });
    expect([context.workflowDeploymentId, context.rootRunId]).toEqual(["dpl_1", "wrun_0"]);
    expect(context).not.toHaveProperty("encryptionKey");
    expect(context).not.toHaveProperty("closureVars");
  });

  it.each([
    [{ VERCEL_URL: "app.example", PORT: "8080" }, "https://app.example"],
    [{ VERCEL_URL: "", PORT: "8080" }, "http://localhost:8080"],
    [{ VERCEL_URL: undefined, PORT: "" }, "http://localhost:3000"],
  ])("under %o answers at %s", async (variables, url) => {
    for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
    expect((await contextIn()).workflowMetadata.url).toBe(url);
  });

  it("has the key of an encrypted run", async () => {
    const key = await importEncryptionKey(new Uint8Array(32));
    const context = await contextIn({ encryptionKey: key });
    expect(context.encryptionKey).toBe(key);
    expect(context.workflowMetadata.features).toEqual({ encryption: true });
  });

  it("has the barrier only where the body overlaps its start", async () => {
    const barrier = Promise.resolve();
    const lazy = { lazyStepInput: await inputOf(), runReadyBarrier: barrier };
    const overlapping = await contextIn({ ...lazy, forceOptimisticStart: true }, new ScriptedWorld());
    expect(overlapping.runReadyBarrier).toBe(barrier);
    expect(await contextIn(lazy, new ScriptedWorld())).not.toHaveProperty("runReadyBarrier");
  });

  it("has the variables that the step closed over", async () => {
    const { dehydrate } = await import("../../src/executor/index.ts");
    const input = await dehydrate({ args: [], closureVars: { rate: 3 } });
    const context = await contextIn({}, new ScriptedWorld().given({ stepId: STEP_ID, input }));
    expect(context.closureVars).toEqual({ rate: 3 });
  });

  it("is gone outside", () => {
    expect(stepContext()).toBeUndefined();
  });
});

describe("operations that a body leaves running", () => {
  it("and that are over are no longer pending", async () => {
    const world = await worldWithStep();
    counted(() => {
      stepContext()!.ops.push(settle(), Promise.resolve());
    });
    expect(await executeStep(paramsFor(world))).toEqual({ type: "completed", hasPendingOps: false });
  });

  it(`are waited for during ${OPERATIONS_WINDOW_MS} ms, and then reported as pending`, async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const world = await worldWithStep();
    const never = later<void>();
    counted(() => {
      stepContext()!.ops.push(never.promise);
    });
    const executing = executeStep(paramsFor(world));
    await until(() => vi.getTimerCount() === 1);
    await vi.advanceTimersByTimeAsync(OPERATIONS_WINDOW_MS - 1);
    expect(world.types).toEqual(["step_started"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await executing).toEqual({ type: "completed", hasPendingOps: true });
    never.resolve();
  });

  it("leave no timer behind when they are over first", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const world = await worldWithStep();
    counted(() => {
      stepContext()!.ops.push(Promise.resolve());
    });
    await executeStep(paramsFor(world));
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([["AbortError"], ["ResponseAborted"]])(
    "and end with %s are over: the reader has gone",
    async (name) => {
      const world = await worldWithStep();
      counted(() => {
        stepContext()!.ops.push(Promise.reject(named(name)));
      });
      expect(await executeStep(paramsFor(world))).toEqual({ type: "completed", hasPendingOps: false });
    },
  );

  it("and fail in time are a failure of the attempt", async () => {
    const world = await worldWithStep();
    counted(async () => {
      stepContext()!.ops.push(Promise.reject(new Error("the stream broke")));
      await settle();
      await settle();
    });
    expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: 1 });
    const { error } = world.asked("step_retrying")[0]!.request.eventData as { error: unknown };
    expect(await hydrate(error)).toMatchObject({ message: "the stream broke" });
  });

  it("and fail too late are logged, and nothing else", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const lines: string[] = [];
    const stderr = vi.spyOn(process.stderr, "write").mockImplementation((line) => {
      lines.push(String(line));
      return true;
    });
    const world = await worldWithStep();
    const op = later<void>();
    counted(() => {
      stepContext()!.ops.push(op.promise);
    });
    const executing = executeStep(paramsFor(world));
    await until(() => vi.getTimerCount() === 1);
    await vi.advanceTimersByTimeAsync(OPERATIONS_WINDOW_MS);
    expect(await executing).toEqual({ type: "completed", hasPendingOps: true });
    op.reject(new Error("the stream broke"));
    await settle();
    stderr.mockRestore();
    expect(lines.length).toBe(1);
    expect(lines[0]).toContain("step_1");
  });

  it("are not waited for when the body fails", async () => {
    const world = await worldWithStep();
    counted(() => {
      stepContext()!.ops.push(new Promise(() => undefined), Promise.reject(new Error("ignored")));
      throw new Error("body");
    });
    expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: 1 });
  });

  it("are handed to the platform as a promise that never rejects", async () => {
    const handed: Promise<unknown>[] = [];
    const holder = globalThis as unknown as Record<symbol, unknown>;
    const symbol = Symbol.for("@vercel/request-context");
    holder[symbol] = { get: () => ({ waitUntil: (promise: Promise<unknown>) => handed.push(promise) }) };
    try {
      const world = await worldWithStep();
      counted(() => {
        stepContext()!.ops.push(Promise.reject(new Error("broken")));
      });
      await executeStep(paramsFor(world));
    } finally {
      delete holder[symbol];
    }
    expect(handed.length).toBe(1);
    await expect(handed[0]).resolves.toBe(false);
  });
});

describe("operations that the outcome depends on", () => {
  it.each([
    ["success", () => 1, "step_completed"],
    ["a failure", () => Promise.reject(new Error("x")), "step_retrying"],
  ])("are over before the event of %s, however long they take", async (_, body, outcome) => {
    const world = await worldWithStep();
    const op = later<void>();
    counted(() => {
      stepContext()!.preCompletionOps.push(op.promise);
      return body();
    });
    const executing = executeStep(paramsFor(world));
    for (let turn = 0; turn < 20; turn++) await settle();
    expect(world.types).toEqual(["step_started"]);
    op.resolve();
    await executing;
    expect(world.types).toEqual(["step_started", outcome]);
  });

  it("may fail: their order is all that counts", async () => {
    const world = await worldWithStep();
    counted(() => {
      stepContext()!.preCompletionOps.push(Promise.reject(new Error("x")));
    });
    expect((await executeStep(paramsFor(world))).type).toBe("completed");
  });

  it("are not waited for when the start was refused", async () => {
    const world = new ScriptedWorld().refuse("step_started", new RunExpiredError("over"));
    counted(() => {
      stepContext()!.preCompletionOps.push(new Promise(() => undefined));
    });
    const params = paramsFor(world, { lazyStepInput: await inputOf(), forceOptimisticStart: true });
    expect(await executeStep(params)).toEqual({ type: "gone" });
  });
});
