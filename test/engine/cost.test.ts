/** What a run costs in appends: the number a durable store turns into milliseconds. */
import { describe, expect, test } from "vitest";
import { createFaultLog } from "./fault-log.ts";
import { workerOn } from "./log-order-replay.ts";
import { type Body, DAY, type SceneOptions, scene } from "./scene.ts";

const costly = (body: Body, options: SceneOptions = {}) => {
  const log = createFaultLog();
  return { ...scene(body, { journal: workerOn(log, () => Date.now()), ...options }), log };
};

const sequential =
  (steps: number): Body =>
  async (ctx) => {
    for (let n = 0; n < steps; n += 1) await ctx.step("tick", () => ({ n }));
    return "done";
  };

describe("appends of a run, its creation and its end included", () => {
  test.each([0, 1, 2, 10, 100])("%i steps in a row: N + 2 at most", async (steps) => {
    const { log, run } = costly(sequential(steps));
    expect((await run()).status).toBe("completed");
    expect(log.appends.length).toBeLessThanOrEqual(steps + 2);
  });

  test("no step: creation, and the end together with the start", async () => {
    const { log, run } = costly(() => "done");
    await run();
    expect(log.appends.map(({ types }) => types)).toEqual([["RunCreated"], ["RunStarted", "RunCompleted"]]);
  });

  test("a settled step rides with the next claim, the last one with the end", async () => {
    const { log, run } = costly(sequential(2));
    await run();
    expect(log.appends.map(({ types }) => types)).toEqual([
      ["RunCreated"],
      ["RunStarted", "AttemptClaimed"],
      ["StepSettled", "AttemptClaimed"],
      ["StepSettled", "RunCompleted"],
    ]);
  });

  test("100 parallel steps with places for all: 4 at most", async () => {
    const { log, run } = costly(
      (ctx) => Promise.all(Array.from({ length: 100 }, (_, n) => ctx.step("tick", () => n))),
      { stepConcurrency: 128 },
    );
    expect((await run()).status).toBe("completed");
    expect(log.appends.length).toBeLessThanOrEqual(4);
  });

  test("a step that failed and is tried again at once: no more than one that did not", async () => {
    let tries = 0;
    const { log, run } = costly((ctx) =>
      ctx.step("flaky", () => {
        tries += 1;
        if (tries < 3) throw new Error("not yet");
        return tries;
      }),
    );
    await run();
    expect(log.appends.length).toBeLessThanOrEqual(3);
  });

  test("three determinism reads in a row: two, and the end", async () => {
    const { log, run } = costly(async (ctx) => [await ctx.now(), await ctx.random(), await ctx.uuid()]);
    await run();
    expect(log.appends.length).toBeLessThanOrEqual(5);
  });
});

describe("appends of a wake", () => {
  test("by a signal: the signal, and the next claim", async () => {
    const { log, engine, run } = costly(async (ctx) => {
      await ctx.waitFor("go");
      return ctx.step("after", () => log.appends.length);
    });
    const { runId } = await run();
    const before = log.appends.length;
    await engine.signal("go", 1);
    await engine.execute(runId);
    expect(((await engine.readOutput(runId)) as number) - before).toBeLessThanOrEqual(2);
  });

  test("by wakeUp: the wake, and the next claim", async () => {
    const { log, engine, run } = costly(async (ctx) => {
      await ctx.sleep("nap", DAY);
      return ctx.step("after", () => log.appends.length);
    });
    const { runId } = await run();
    const before = log.appends.length;
    await engine.wakeUp(runId);
    await engine.execute(runId);
    expect(((await engine.readOutput(runId)) as number) - before).toBeLessThanOrEqual(2);
  });

  test("a delivery that finds nothing to do appends nothing", async () => {
    const { log, engine, run } = costly(async (ctx) => {
      await ctx.step("before", () => 1);
      await Promise.all([ctx.sleep("nap", DAY), ctx.waitFor("go", { timeoutMs: DAY })]);
    });
    const { runId } = await run();
    const before = log.appends.length;
    for (let again = 0; again < 3; again += 1) expect(await engine.execute(runId)).toBe("running");
    expect(log.appends.length).toBe(before);
  });
});
