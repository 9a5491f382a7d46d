/**
 * Walks that the stream overtakes while a step is in flight: they come to rest, are done again, and nothing of them is left behind.
 */
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createMemoryJournal } from "../../src/embedded/memory-journal.ts";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { workerOn } from "./log-order-replay.ts";
import { type Body, DAY, deferred, JOURNALS, scene, soon, turns } from "./scene.ts";

describe.each(JOURNALS)("a signal in the middle of a live step, on %s", (_, makeJournal) => {
  test("W3: lets the step finish with the steps inside it, once, and then answers the wait", async () => {
    const go = deferred();
    const ran: string[] = [];
    const { engine, start } = scene(
      async (ctx) => {
        const [answer, outer] = await Promise.all([
          ctx.waitFor<string>("approve"),
          ctx.step("outer", async () => {
            ran.push("outer");
            await go.promise;
            const first = await ctx.step("first", () => ran.push("first"));
            return [first, await ctx.step("second", () => ran.push("second"))];
          }),
        ]);
        return { answer, outer };
      },
      { journal: makeJournal() },
    );
    const runId = await start();
    const delivery = engine.execute(runId);
    await turns();
    expect(await engine.signal("approve", "yes")).toBe(true);
    go.resolve();
    await soon(delivery, "the delivery that the signal met");
    expect(await soon(engine.execute(runId))).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual({ answer: "yes", outer: [2, 3] });
    expect(ran).toEqual(["outer", "first", "second"]);
  });

  test("does not strand a step whose body awaits another step's promise", async () => {
    const go = deferred();
    const { engine, start } = scene(
      async (ctx) => {
        const first = ctx.step("first", () => go.promise.then(() => 1));
        const [answer, second] = await Promise.all([
          ctx.waitFor<string>("approve"),
          ctx.step("second", async () => (await first) + 1),
        ]);
        return { answer, second };
      },
      { journal: makeJournal() },
    );
    const runId = await start();
    const delivery = engine.execute(runId);
    await turns();
    await engine.signal("approve", "yes");
    go.resolve();
    await soon(delivery, "the delivery that the signal met");
    expect(await soon(engine.execute(runId))).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual({ answer: "yes", second: 2 });
  });

  test("W3: begins nothing more in that walk: the step after it runs once, in the walk that knows the signal", async () => {
    const go = deferred();
    const ran: string[] = [];
    const { engine, start } = scene(
      async (ctx) => {
        const winner = await Promise.race([
          ctx.waitFor("approve").then(() => "signal"),
          ctx.step("slow", () => go.promise.then(() => ran.push("slow"))).then(() => "step"),
        ]);
        return ctx.step(`after-${winner}`, () => ran.push(`after-${winner}`));
      },
      { journal: makeJournal() },
    );
    const runId = await start();
    const delivery = engine.execute(runId);
    await turns();
    await engine.signal("approve", "yes");
    go.resolve();
    await soon(delivery, "the delivery that the signal met");
    await soon(engine.execute(runId));
    expect(ran).toHaveLength(2);
    expect(ran[0]).toBe("slow");
  });
});

const WRAPPED = [
  "readSteps",
  "readStep",
  "readSleeps",
  "getRun",
  "setStatus",
  "claimAttempt",
  "releaseAttempt",
  "claimSleep",
  "claimHook",
  "closeHook",
  "appendStep",
] as const;

const wrapped = (own: JournalStore, name: keyof JournalStore): JournalStore => {
  const method = own[name] as unknown as (...args: unknown[]) => unknown;
  return { ...own, [name]: async (...args: unknown[]) => method(...args) };
};

describe("our journal with one of its functions replaced ends the same run the same way", () => {
  const every = scene.bind(undefined, async (ctx) => {
    const first = await ctx.step("first", () => 1);
    const answer = await ctx.waitFor("answer");
    await ctx.sleep("past", -5);
    const unanswered = await ctx.waitFor("never", { timeoutMs: 0 });
    return [first, answer, unanswered, await ctx.step("last", () => 2)];
  });
  const endsWell = async (journal: JournalStore): Promise<void> => {
    const { engine, run } = every({ journal });
    const { runId } = await run();
    await engine.signal("answer", 5);
    expect(await soon(engine.execute(runId), "the walk")).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual([1, 5, undefined, 2]);
  };

  test.each(WRAPPED)("%s", (name) => endsWell(wrapped(createMemoryJournal(), name)));

  test("without settlements", async () => {
    const { settlements: _, ...rest } = createMemoryJournal();
    await endsWell(rest);
  });

  test("a snapshot that is behind does not make the walk go round: the stored entry answers", async () => {
    const own = createMemoryJournal();
    const { engine, start } = scene((ctx) => ctx.step("late", () => "of this walk"), {
      journal: { ...own, readSteps: async () => [] },
    });
    const runId = await start();
    const entry = { key: "late#0", name: "late", status: "ok", attempts: 1, finishedAt: 1 } as const;
    await own.appendStep(runId, { ...entry, output: "of another" });
    expect(await soon(engine.execute(runId), "the walk")).toBe("completed");
    expect(await engine.readOutput(runId)).toBe("of another");
  });
});

describe.each(JOURNALS)("a walk that is over begins nothing, on %s", (_, makeJournal) => {
  test("W3: a body that goes on by a timer of its own after the walk suspended runs no step of the old walk", async () => {
    const timer = deferred();
    const ran: string[] = [];
    const { engine, run } = scene(
      async (ctx) => {
        const pause = ctx.sleep("pause", DAY);
        await timer.promise;
        await ctx.step("after", () => ran.push("after"));
        await pause;
        return "done";
      },
      { journal: makeJournal() },
    );
    const { runId, status } = await run();
    expect(status).toBe("running");
    timer.resolve();
    await turns();
    expect(ran).toEqual([]);
    await engine.wakeUp(runId);
    expect(await soon(engine.execute(runId))).toBe("completed");
    expect(ran).toEqual(["after"]);
  });

  test("a step left alone by a body that returned is not begun any more when its turn in the gate comes", async () => {
    const go = deferred();
    const ran: string[] = [];
    const { run } = scene(
      async (ctx) => {
        void ctx.step("first", () => go.promise.then(() => ran.push("first")));
        void ctx.step("second", () => ran.push("second"));
        return "done";
      },
      { journal: makeJournal(), stepConcurrency: 1 },
    );
    expect((await run()).status).toBe("completed");
    go.resolve();
    await turns();
    expect(ran).toEqual(["first"]);
  });
});

describe("what a step's own recording brings along", () => {
  test("is not that step's matter: a signal that the walk hears of by it, and that does not fit, does not fail it", async () => {
    const log = createMemoryLog();
    const go = deferred();
    const options = { runId: "run" };
    const body: Body = (ctx) =>
      Promise.allSettled([
        ctx.waitFor("approve", { schema: z.number() }),
        ctx.step("outer", async () => {
          await go.promise;
          return ctx.step("inner", () => "fine");
        }),
      ]);
    const here = scene(body, { ...options, journal: workerOn(log, Date.now) });
    const elsewhere = scene(body, { ...options, journal: workerOn(log, Date.now) });
    await here.start();
    const delivery = here.engine.execute("run");
    await turns();
    expect(await elsewhere.engine.signal("approve", "no number")).toBe(true);
    go.resolve();
    expect(await soon(delivery)).toBe("failed");
    expect(await here.errorOf("run")).toContain("approve");
    const outer = (await here.journal.readSteps("run")).find(({ name }) => name === "outer");
    expect(outer).toMatchObject({ status: "ok", output: "fine" });
  });
});
