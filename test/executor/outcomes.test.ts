/** How an attempt ends: what is written for what the body did, and what a World may say to it. */
import { describe, expect, it, vi } from "vitest";
import {
  EntityConflictError,
  executeStep,
  FatalError,
  hydrate,
  PreconditionFailedError,
  RetryableError,
  RunExpiredError,
  type StepExecutionResult,
  type StepExecutorParams,
  ThrottleError,
  TooEarlyError,
  WorkflowWorldError,
} from "../../src/executor/index.ts";
import {
  counted,
  inputOf,
  paramsFor,
  recordedError,
  STEP_ID,
  STEP_NAME,
  watchRejections,
  worldWithStep,
} from "./scene.ts";
import { ScriptedWorld } from "./scripted-world.ts";

watchRejections();

type Writing = "step_completed" | "step_failed" | "step_retrying";

interface Ending {
  readonly writes: Writing;
  /** The name of a 410's verdict here; `undefined` where 410 is trouble like any other. */
  readonly gone: boolean;
  readonly body: () => unknown;
  readonly before?: { attempt: number; error?: unknown };
  readonly params?: Partial<StepExecutorParams>;
  readonly registered?: false;
}

const throwing = (thrown: unknown) => () => {
  throw thrown;
};

const ENDINGS: Record<string, Ending> = {
  success: { writes: "step_completed", gone: true, body: () => 1 },
  "a failure with tries left": { writes: "step_retrying", gone: false, body: throwing(new Error("x")) },
  "the last failure": {
    writes: "step_failed",
    gone: false,
    body: throwing(new Error("x")),
    before: { attempt: 3 },
  },
  "a fatal failure": { writes: "step_failed", gone: false, body: throwing(new FatalError("x")) },
  "the ceiling before the start": {
    writes: "step_failed",
    gone: true,
    body: () => 1,
    params: { authoritativeAttempt: 5 },
  },
  "the guard after the start": {
    writes: "step_failed",
    gone: false,
    body: () => 1,
    before: { attempt: 4, error: "stored" },
  },
  "a step that nobody registered": { writes: "step_failed", gone: false, body: () => 1, registered: false },
};

const ANSWERS: [string, Error, (ending: Ending) => StepExecutionResult | undefined][] = [
  ["409 (cases 33 to 36, 40)", new EntityConflictError("over"), () => ({ type: "skipped" })],
  ["410", new RunExpiredError("over"), ({ gone }) => (gone ? { type: "gone" } : undefined)],
  ["412", new PreconditionFailedError("stale"), () => undefined],
  ["425", new TooEarlyError("soon", { retryAfter: 3 }), () => undefined],
  ["429", new ThrottleError("slow", { retryAfter: 3 }), () => undefined],
  ["500 (case 37)", new WorkflowWorldError("broken", { status: 500 }), () => undefined],
];

const sceneOf = async (
  ending: Ending,
): Promise<{ world: ScriptedWorld; params: StepExecutorParams; calls: () => number }> => {
  const world = new ScriptedWorld().given({ stepId: STEP_ID, input: await inputOf(), ...ending.before });
  const { calls } = counted(ending.body);
  const unregistered = ending.registered === false ? { stepName: "nobody" } : {};
  return { world, params: paramsFor(world, { ...ending.params, ...unregistered }), calls };
};

describe.each(Object.entries(ENDINGS))("%s", (_, ending) => {
  it("is written", async () => {
    const { world, params } = await sceneOf(ending);
    const type = { step_completed: "completed", step_failed: "failed", step_retrying: "retry" }[
      ending.writes
    ];
    expect((await executeStep(params)).type).toBe(type);
    expect(world.types.at(-1)).toBe(ending.writes);
    const { request } = world.asked(ending.writes)[0]!;
    expect(request).toMatchObject({ specVersion: 5, correlationId: STEP_ID });
    expect((request.eventData as { stepName: string }).stepName).toBe(params.stepName);
  });

  it.each(ANSWERS)("and the World says %s to it", async (_status, error, meaning) => {
    const { world, params } = await sceneOf(ending);
    world.refuse(ending.writes, error);
    const verdict = meaning(ending);
    if (verdict === undefined) await expect(executeStep(params)).rejects.toBe(error);
    else expect(await executeStep(params)).toEqual(verdict);
    expect(world.types.filter((type) => type !== "step_started")).toEqual([ending.writes]);
  });
});

describe("a result", () => {
  it("is stored with the names of step and workflow, and nothing else is asked", async () => {
    const world = await worldWithStep(2, 3);
    counted((a: number, b: number) => ({ sum: a + b, at: new Date(5) }));
    expect(await executeStep(paramsFor(world))).toEqual({ type: "completed", hasPendingOps: false });
    const { request, argumentCount } = world.asked("step_completed")[0]!;
    const { result, ...names } = request.eventData as Record<string, unknown>;
    expect(names).toEqual({ stepName: STEP_NAME, workflowName: "workflow" });
    expect(await hydrate(result)).toEqual({ sum: 5, at: new Date(5) });
    expect(argumentCount).toBe(2);
    expect(world.hooksByToken.size).toBe(0);
  });

  it.each([
    ["both fields", { events: [], cursor: "c2", hasMore: true }, { events: [], cursor: "c2", hasMore: true }],
    ["no word of more", { events: [], cursor: "c2" }, { events: [], cursor: "c2", hasMore: false }],
    ["a cursor of null", { events: [], cursor: null }, { events: [], cursor: null, hasMore: false }],
    ["no cursor", { events: [] }, undefined],
    ["no events", { cursor: "c2" }, undefined],
    ["neither", {}, undefined],
  ])("asked with a cursor, and answered with %s", async (_, reply, inlineDelta) => {
    const world = await worldWithStep();
    counted(() => 1);
    world.on("step_completed", () => reply);
    const verdict = await executeStep(paramsFor(world, { inlineDeltaSinceCursor: "c1" }));
    expect(world.asked("step_completed")[0]!.params).toEqual({ sinceCursor: "c1" });
    expect(verdict).toEqual({
      type: "completed",
      hasPendingOps: false,
      ...(inlineDelta === undefined ? {} : { inlineDelta }),
    });
  });

  it("without a cursor ignores events that a World sends all the same", async () => {
    const world = await worldWithStep();
    counted(() => 1);
    world.on("step_completed", () => ({ events: [], cursor: "c2" }));
    expect(await executeStep(paramsFor(world))).toEqual({ type: "completed", hasPendingOps: false });
  });

  it("of a failed step is never asked for with a cursor", async () => {
    const world = await worldWithStep();
    counted(throwing(new FatalError("no")));
    await executeStep(paramsFor(world, { inlineDeltaSinceCursor: "c1" }));
    expect(world.asked("step_failed")[0]!.argumentCount).toBe(2);
  });

  it("that cannot be stored fails the step at its first attempt, and says where", async () => {
    const world = await worldWithStep();
    const { calls } = counted(() => ({ items: [{ when: () => 1 }] }));
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
    expect(world.types).toEqual(["step_started", "step_failed"]);
    const error = (await recordedError(world, "step_failed")) as Error;
    expect(error.name).toBe("SerializationError");
    expect(error.message).toContain('The result of step "step" cannot be stored at items[0].when');
    expect(calls()).toBe(1);
  });
});

describe("a failure", () => {
  it.each([
    ["an Error", new TypeError("no")],
    ["a text", "no"],
    ["a number", 404],
    ["nothing", undefined],
    ["an object", { reason: "no", at: new Date(5) }],
  ])("of %s is stored as it is", async (_, thrown) => {
    const world = await worldWithStep();
    counted(throwing(thrown));
    expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: 1 });
    expect(await recordedError(world, "step_retrying")).toEqual(thrown);
    expect(world.asked("step_retrying")[0]!.request.eventData).not.toHaveProperty("retryAfter");
  });

  it("keeps its class, its cause and its plain properties", async () => {
    const world = await worldWithStep();
    const cause = new RangeError("deep");
    counted(throwing(Object.assign(new TypeError("no", { cause }), { code: "E_NO", status: 404 })));
    await executeStep(paramsFor(world));
    const error = (await recordedError(world, "step_retrying")) as TypeError & {
      code: string;
      status: number;
    };
    expect(error).toBeInstanceOf(TypeError);
    expect([error.code, error.status, (error.cause as Error).message]).toEqual(["E_NO", 404, "deep"]);
    expect(error.cause).toBeInstanceOf(RangeError);
  });

  it("whose value cannot be stored is stored by name, message and stack", async () => {
    const world = await worldWithStep();
    counted(throwing(new TypeError("no", { cause: () => 1 })));
    expect((await executeStep(paramsFor(world))).type).toBe("retry");
    const error = (await recordedError(world, "step_retrying")) as Error;
    expect([error.name, error.message, "cause" in error]).toEqual(["TypeError", "no", false]);
    expect(error.stack).toContain("outcomes.test.ts");
  });

  it("of a function, or of something that throws when it is looked at, is stored as text", async () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("do not look");
        },
      },
    );
    for (const thrown of [() => 1, Symbol("s"), hostile]) {
      const world = await worldWithStep();
      counted(throwing(thrown));
      expect((await executeStep(paramsFor(world))).type).toBe("retry");
      expect(await recordedError(world, "step_retrying")).toBeInstanceOf(Error);
    }
  });

  it.each([
    ["in 2 seconds", 2_000, 2],
    ["in 1.2 seconds", 1_200, 2],
    ["at once", 0, 1],
    ["in the past", -5_000, 1],
    ["in a minute", 60_000, 60],
  ])("that asks to be tried again %s", async (_, ms, seconds) => {
    vi.useFakeTimers({ now: 1_000_000, toFake: ["Date"] });
    try {
      const world = await worldWithStep();
      counted(() => {
        throw new RetryableError("later", { retryAfter: ms });
      });
      expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: seconds });
      const { request } = world.asked("step_retrying")[0]!;
      expect(request.eventData).toMatchObject({ retryAfter: new Date(1_000_000 + ms) });
    } finally {
      vi.useRealTimers();
    }
  });

  it("that asks for no valid instant is tried again in a second", async () => {
    const world = await worldWithStep();
    counted(
      throwing(Object.assign(new Error("x"), { name: "RetryableError", retryAfter: new Date(Number.NaN) })),
    );
    expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: 1 });
    expect(world.asked("step_retrying")[0]!.request.eventData).not.toHaveProperty("retryAfter");
  });

  it.each([
    ["our FatalError", new FatalError("no")],
    [
      "anybody's FatalError, by its name",
      Object.assign(new Error("no"), { name: "FatalError", fatal: true }),
    ],
    ["an error that says fatal", Object.assign(new Error("no"), { fatal: true })],
    ["an object that says fatal", { fatal: true }],
  ])("of %s ends the step at once", async (_, thrown) => {
    const world = await worldWithStep();
    counted(throwing(thrown));
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
    expect(world.types).toEqual(["step_started", "step_failed"]);
    expect(await recordedError(world, "step_failed")).toEqual(thrown);
  });

  it.each([
    ["a DOMException", new DOMException("The user left", "AbortError")],
    ["an Error", Object.assign(new Error("The user left"), { name: "AbortError" })],
  ])("of an abort, %s, is final, and says so", async (_, thrown) => {
    const world = await worldWithStep();
    counted(throwing(thrown));
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
    const error = (await recordedError(world, "step_failed")) as Error;
    expect([error.name, error.message]).toEqual(["FatalError", "Aborted: The user left"]);
    expect(error.stack).toBe(thrown.stack);
  });

  it("because the run is over writes nothing", async () => {
    const world = await worldWithStep();
    counted(throwing(new RunExpiredError("the run was cancelled")));
    expect(await executeStep(paramsFor(world))).toEqual({ type: "gone" });
    expect(world.types).toEqual(["step_started"]);
  });

  it("of any other error of a World's in the body is the body's own", async () => {
    const world = await worldWithStep();
    counted(throwing(new EntityConflictError("somebody's else")));
    expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: 1 });
  });
});
