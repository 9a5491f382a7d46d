/** What a body leaves alone: promises nobody awaits must neither end the process nor keep anything. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { type Body, type Ctx, DAY, deferred, JOURNALS, scene, soon, turns } from "./scene.ts";

let unhandled: unknown[] = [];
const remember = (error: unknown): void => {
  unhandled.push(error);
};
beforeEach(() => {
  unhandled = [];
  process.on("unhandledRejection", remember);
});
afterEach(async () => {
  await turns();
  process.off("unhandledRejection", remember);
  expect(unhandled).toEqual([]);
});

/** A branch that is begun early and awaited late, as authors do: its own promise has no handler until then. */
const beginEarlyAwaitLate: Body = async (ctx) => {
  const branch = async (name: string) => {
    await ctx.step(name, () => turns(1));
    return ctx.step(`${name} again`, () => name);
  };
  const early = branch("early");
  const late = await branch("late");
  return [await early, late];
};

describe.each(JOURNALS)("on %s", (_, makeJournal) => {
  test.each(["claimAttempt", "appendStep"] as const)(
    "a store that fails in %s ends the delivery, not the process",
    async (method) => {
      const own = makeJournal();
      let away = true;
      const journal: JournalStore = {
        ...own,
        [method]: async (...args: never[]) => {
          if (away) throw new Error("away");
          return (own[method] as (...a: never[]) => Promise<unknown>)(...args);
        },
      };
      const { engine, start } = scene(beginEarlyAwaitLate, { journal });
      const runId = await start();
      await expect(soon(engine.execute(runId))).rejects.toThrow("away");
      await turns();
      away = false;
      expect(await soon(engine.execute(runId))).toBe("completed");
    },
  );

  test("a cancel in the middle of two branches ends the delivery, not the process", async () => {
    const { engine, start } = scene(
      async (ctx) => {
        const branch = async (name: string) => {
          await ctx.step(name, () => turns(2));
          await ctx.step(`${name} again`, () => name);
        };
        const early = branch("early");
        await branch("late");
        await early;
      },
      { journal: makeJournal() },
    );
    const runId = await start();
    const delivery = engine.execute(runId);
    await turns(1);
    await engine.cancel(runId);
    expect(await soon(delivery)).toBe("cancelled");
  });

  test("a caller's abort in the middle of two branches that are awaited together rejects once", async () => {
    const stop = new AbortController();
    const { engine, start } = scene(
      (ctx) =>
        Promise.all(
          ["left", "right"].map(async (name) => {
            await ctx.step(name, () => turns(1));
            return ctx.step(`${name} again`, () => name);
          }),
        ),
      { journal: makeJournal() },
    );
    const delivery = engine.execute(await start(), stop.signal);
    await turns(1);
    stop.abort(new Error("stop"));
    await expect(soon(delivery)).rejects.toThrow("stop");
  });

  test("a step that fails in a branch nobody awaits any more, after the body has ended, is no failure of the process", async () => {
    const go = deferred();
    const { start, engine, errorOf } = scene(
      async (ctx) => {
        const early = (async () =>
          ctx.step("early", () => go.promise.then(() => Promise.reject(new Error("early"))), {
            maxAttempts: 1,
          }))();
        await ctx.step("late", () => Promise.reject(new Error("late")), { maxAttempts: 1 });
        await early;
      },
      { journal: makeJournal() },
    );
    const runId = await start();
    expect([await soon(engine.execute(runId)), await errorOf(runId)]).toEqual(["failed", "late"]);
    go.resolve();
  });

  test("context promises that nobody awaits: failed steps, refused waits, bad deadlines", async () => {
    const { run } = scene(
      async (ctx: Ctx) => {
        void ctx.step("bad", () => Promise.reject(new Error("no")), { maxAttempts: 1 });
        void ctx.sleep("nan", Number.NaN);
        void ctx.waitFor("t");
        await ctx.step("good", () => turns(2));
        return "done";
      },
      { journal: makeJournal() },
    );
    expect((await run()).status).toBe("completed");
  });

  test("a conflict of tokens that nobody awaits fails the run, and is no failure of the process", async () => {
    const { run, errorOf } = scene(
      async (ctx: Ctx) => {
        void ctx.waitFor("t");
        void ctx.waitFor("t");
        await ctx.step("good", () => turns(2));
        return "done";
      },
      { journal: makeJournal() },
    );
    const { runId, status } = await run();
    expect([status, await errorOf(runId)]).toEqual(["failed", expect.stringContaining("already held by")]);
  });

  test("a branch nobody awaits runs to the end of what it has begun, and records what happened", async () => {
    const go = deferred();
    const ran: string[] = [];
    const { engine, run, keys } = scene(
      async (ctx) => {
        void (async () => {
          await ctx.step("begun", () => go.promise.then(() => ran.push("begun")));
          await ctx.step("after", () => ran.push("after"));
          throw new Error("nobody hears this");
        })();
        await ctx.step("main", () => 1);
        return "done";
      },
      { journal: makeJournal() },
    );
    const { runId, status } = await run();
    expect(status).toBe("completed");
    go.resolve();
    await turns();
    expect(ran).toEqual(["begun"]);
    expect(await keys(runId)).toContain("main#0");
    expect(await engine.readOutput(runId)).toBe("done");
  });

  test("a gate's place is given back by every step, also of walks that were given up", async () => {
    const { engine, start } = scene(
      async (ctx) => {
        const first = ctx.step("first", () => turns(1));
        await Promise.race([ctx.waitFor("t"), ctx.step("second", () => first)]);
        return "done";
      },
      { journal: makeJournal(), stepConcurrency: 2 },
    );
    for (let round = 0; round < 10; round += 1) {
      const runId = await start();
      const delivery = engine.execute(runId);
      await turns(1);
      await engine.signal("t", 1);
      expect(await soon(delivery, `round ${round}`)).toBe("completed");
    }
  });

  test("a suspended body holds nothing: thousands of parked runs cost no timer and no open session", async () => {
    const { engine, start, dispatched } = scene(
      (ctx) => Promise.race([ctx.sleep("nap", DAY), ctx.waitFor(ctx.runId)]),
      {
        journal: makeJournal(),
      },
    );
    const runs = await Promise.all(Array.from({ length: 1_500 }, () => start()));
    const timers = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    for (const runId of runs) await engine.execute(runId);
    expect(process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length).toBe(timers);
    expect(dispatched.length).toBe(3_000);
  });
});
