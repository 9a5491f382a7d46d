/** The engine that needs nothing but this process: its own timers, its boot sweep, and fake clocks that must not strand it. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { createInProcessWorkflowEngine } from "../../src/embedded/in-process-engine.ts";
import type { AnyWorkflowDef } from "../../src/engine/workflow.ts";
import { type Ctx, DAY, HOUR, JOURNALS, recordingLogger } from "./scene.ts";

afterEach(() => vi.useRealTimers());

const job = (body: (ctx: Ctx) => unknown): Record<string, AnyWorkflowDef> => ({
  job: { run: (_input: unknown, ctx: unknown) => body(ctx as Ctx) } as AnyWorkflowDef,
});

/** Waits for a condition by looking, without a clock that the test would have to move. */
const until = async (condition: () => Promise<boolean>): Promise<void> => {
  for (let look = 0; look < 2_000; look += 1) {
    if (await condition()) return;
    await new Promise((next) => setImmediate(next));
  }
  throw new Error("it did not happen");
};

describe.each(JOURNALS)("on %s", (_, makeJournal) => {
  test("with fake timers, days pass in one test: sleep, signal, window and result", async () => {
    vi.useFakeTimers({ now: 1_800_000_000_000 });
    const engine = createInProcessWorkflowEngine({
      workflows: job(async (ctx) => {
        await ctx.sleep("long", 40 * DAY);
        const answer = await ctx.waitFor("approve");
        const nobody = await ctx.waitFor("never", { timeoutMs: HOUR });
        return { answer, nobody, at: await ctx.step("last", () => Date.now()) };
      }),
      journal: makeJournal(),
    });
    const runId = await engine.start("job", [{}]);
    await vi.advanceTimersByTimeAsync(40 * DAY - 1_000);
    expect(await engine.signal("approve", "early")).toBe(false);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await engine.signal("approve", "yes")).toBe(true);
    await vi.advanceTimersByTimeAsync(HOUR + 1_000);
    expect(await engine.getRun(runId)).toMatchObject({
      status: "completed",
      output: { answer: "yes", nobody: undefined },
    });
    expect(vi.getTimerCount()).toBe(0);
    engine.stop();
  });

  test("a signal in the middle of a walk is answered by one more walk", async () => {
    const engine = createInProcessWorkflowEngine({
      workflows: job(async (ctx) => {
        const answer = ctx.waitFor("t");
        await ctx.step("tell", () => engine.signal("t", "from inside"));
        return answer;
      }),
      journal: makeJournal(),
    });
    const runId = await engine.start("job", [{}]);
    await until(
      async () =>
        (await engine.getRun(runId))?.status !== "running" &&
        (await engine.getRun(runId))?.status !== "pending",
    );
    expect(await engine.readOutput(runId)).toBe("from inside");
    engine.stop();
  });

  test("what an earlier engine left asleep and what it left undelivered is found at boot", async () => {
    vi.useFakeTimers({ now: 1_800_000_000_000 });
    const journal = makeJournal();
    const workflows = job(async (ctx) => {
      await ctx.sleep("nap", HOUR);
      return "rested";
    });
    const before = createInProcessWorkflowEngine({ workflows, journal });
    const asleep = await before.start("job", [{}]);
    await vi.advanceTimersByTimeAsync(10);
    before.stop();
    const undelivered = await before.start("job", [{}]);
    await vi.advanceTimersByTimeAsync(2 * HOUR);
    expect((await before.getRun(asleep))?.status).toBe("running");
    expect((await before.getRun(undelivered))?.status).toBe("pending");
    const logger = recordingLogger();
    const after = createInProcessWorkflowEngine({ workflows, journal, logger });
    await vi.advanceTimersByTimeAsync(2 * HOUR);
    expect((await after.getRun(asleep))?.output).toBe("rested");
    expect((await after.getRun(undelivered))?.output).toBe("rested");
    expect(logger.lines).toContainEqual({
      level: "info",
      message: "Workflow runs recovered at boot",
      fields: { runs: 2, overdue: 2 },
    });
    after.stop();
  });

  test("an injected dispatcher replaces the timers, and the boot sweep with them", async () => {
    const own = makeJournal();
    let swept = 0;
    const asked: unknown[][] = [];
    const journal = {
      ...own,
      resumableRuns: async () => {
        swept += 1;
        return [];
      },
    };
    const engine = createInProcessWorkflowEngine({
      workflows: job(() => 1),
      journal,
      dispatch: (...args) => {
        asked.push(args);
      },
    });
    const runId = await engine.start("job", [{}]);
    await new Promise((next) => setImmediate(next));
    expect([asked, swept]).toEqual([[[runId]], 0]);
  });
});

test("it makes a journal and streams of its own where none are given", async () => {
  const engine = createInProcessWorkflowEngine({
    workflows: job((ctx) => ctx.step("only", () => ctx.runId)),
  });
  const runId = await engine.start("job", [{}]);
  await until(async () => (await engine.getRun(runId))?.status === "completed");
  expect(await engine.readOutput(runId)).toBe(runId);
  expect((await engine.listRuns("job", 5)).map((record) => record.runId)).toEqual([runId]);
  expect(await engine.streamTail(runId)).toBe(-1);
  engine.stop();
});
