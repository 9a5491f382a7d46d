/** Mistakes that engines like this one have made; the others of the list stand where their subject is tested, under the same name. */
import { describe, expect, test } from "vitest";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { FatalError } from "../../src/engine/step-errors.ts";
import { type Body, DAY, deferred, JOURNALS, scene, soon, turns } from "./scene.ts";

const HOUR_LEASE = 3_600_000;

describe.each(JOURNALS)("on %s", (_, makeJournal) => {
  const on = (body: Body, journal: JournalStore = makeJournal()) => scene(body, { journal });

  test("trap 5: a step that settled meanwhile is answered, even where its budget is used up", async () => {
    const own = makeJournal();
    let settled = false;
    const journal: JournalStore = {
      ...own,
      claimAttempt: async (runId, key, holder, leaseMs) => {
        if (!settled) {
          settled = true;
          for (const other of ["w1", "w2", "w3"]) await own.claimAttempt(runId, key, other, leaseMs);
          await own.appendStep(runId, {
            key,
            name: "work",
            status: "ok",
            output: "done",
            attempts: 1,
            finishedAt: Date.now(),
          });
        }
        return own.claimAttempt(runId, key, holder, leaseMs);
      },
    };
    let ran = 0;
    const { engine, run } = on((ctx) => ctx.step("work", () => ++ran), journal);
    const { runId, status } = await run();
    expect([status, await engine.readOutput(runId), ran]).toEqual(["completed", "done", 0]);
  });

  test.each([
    ["a refusal", async (ctx) => ctx.step("s", () => ctx.sleep("nap", 1)).catch(() => 1), "failed"],
    ["a suspension", async (ctx) => ctx.sleep("nap", DAY).catch(() => 1), "running"],
    [
      "a suspension in finally",
      async (ctx) => {
        try {
          await ctx.waitFor("t");
        } finally {
          await ctx.step("never", () => 1);
        }
      },
      "running",
    ],
  ] as [string, Body, string][])(
    "trap 8: a lone catch in the body does not turn %s into completed",
    async (_name, body, status) => {
      const stage = on(body);
      const { runId, status: said } = await stage.run();
      expect(said).toBe(status);
      expect(await stage.engine.readOutput(runId)).toBe(undefined);
    },
  );

  test("trap 10: of a close and a signal at once exactly one stands, and the body follows the one that does", async () => {
    for (let round = 0; round < 20; round += 1) {
      const stage = on((ctx) => ctx.waitFor("t", { timeoutMs: 0 }).then((answer) => answer ?? "closed"));
      const runId = await stage.start();
      const delivery = stage.engine.execute(runId);
      for (let hop = 0; hop < round; hop += 1) await null;
      if (round % 3 === 0) await turns(1);
      const accepted = await stage.engine.signal("t", "answered");
      await soon(delivery);
      await soon(stage.engine.execute(runId));
      expect(await stage.engine.readOutput(runId)).toBe(accepted ? "answered" : "closed");
      const hook = await stage.journal.claimHook(runId, "hook!t#0", "t").catch(() => undefined);
      if (hook !== undefined) expect([hook.delivered, hook.closed]).toEqual([accepted, !accepted]);
    }
  });

  test("trap 11: the engine works on a spread copy of the store, and absent stays apart from null, empty and zero", async () => {
    for (const value of [undefined, null, "", 0, false]) {
      const stage = on(
        async (ctx) => {
          const first = await ctx.step("value", () => value);
          await ctx.waitFor("go");
          return { first };
        },
        { ...makeJournal() },
      );
      const { runId } = await stage.run();
      await stage.engine.signal("go", value);
      expect(await soon(stage.engine.execute(runId))).toBe("completed");
      expect(((await stage.engine.readOutput(runId)) as { first: unknown }).first).toBe(value);
      expect((await stage.journal.readStep(runId, "value#0"))?.output).toBe(value);
    }
  });

  test("trap 12: holders that claim at once never get the same number", async () => {
    const stage = on(() => 1);
    const runId = await stage.start();
    const claims = Array.from({ length: 12 }, (_each, n) =>
      stage.journal.claimAttempt(runId, "k", `w${n}`, HOUR_LEASE),
    );
    expect((await Promise.all(claims)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 12 }, (_each, n) => n + 1),
    );
  });

  test("trap 13: a failure that is replayed is fatal, so that a step around it does not try again", async () => {
    const stage = on(async (ctx) => {
      const bad = () => ctx.step("bad", () => Promise.reject(new TypeError("no")), { maxAttempts: 1 });
      const first = await bad().catch((error) => [FatalError.is(error), error.name, error.message]);
      await ctx.waitFor("go");
      return first;
    });
    const { runId } = await stage.run();
    await stage.engine.signal("go", 1);
    await stage.engine.execute(runId);
    expect(await stage.engine.readOutput(runId)).toEqual([true, "FatalError", "no"]);
    let outer = 0;
    const nested = on((ctx) =>
      ctx.step("outer", () => {
        outer += 1;
        return ctx.step("inner", () => Promise.reject(new Error("no")), { maxAttempts: 1 });
      }),
    );
    expect([(await nested.run()).status, outer]).toEqual(["failed", 1]);
  });

  test("trap 14: a fourth delivery at once of one slow step is refused, though nothing died", async () => {
    const go = deferred();
    const stage = on((ctx) => ctx.step("slow", () => go.promise));
    const runId = await stage.start();
    const walks = Array.from({ length: 4 }, () => stage.engine.execute(runId));
    await turns();
    go.resolve();
    const statuses = await soon(Promise.all(walks));
    expect(statuses).toContain("failed");
    expect(await stage.errorOf(runId)).toContain("3 unfinished attempt(s)");
  });

  test("trap 15: a cancel that races the end of an undeclared workflow's run leaves one end, which stays", async () => {
    const journal = makeJournal();
    const runId = await scene(() => 1, { journal }).start();
    const { engine } = scene(() => 1, { journal, workflows: {} });
    await Promise.all([engine.execute(runId), engine.cancel(runId)]);
    const status = (await engine.getRun(runId))?.status;
    expect(["failed", "cancelled"]).toContain(status);
    await engine.execute(runId);
    expect((await engine.getRun(runId))?.status).toBe(status);
  });

  test("trap 16: a wake-up leaves an elapsed sleep to the delivery that is owed for it", async () => {
    let now = 1_000;
    const real = Date.now;
    Date.now = () => now;
    try {
      const stage = on((ctx) => ctx.sleep("nap", 50).then(() => "rested"));
      const { runId } = await stage.run();
      now += 60;
      expect(await stage.engine.wakeUp(runId)).toBe(0);
      expect(await stage.engine.execute(runId)).toBe("completed");
    } finally {
      Date.now = real;
    }
  });
});

describe.each(JOURNALS)("the step gate, on %s", (_, makeJournal) => {
  test("width 4 and a fan-out of 32: exactly 4 run at once, and all of them run", async () => {
    let running = 0;
    let most = 0;
    const { engine, start } = scene(
      (ctx) =>
        Promise.all(
          Array.from({ length: 32 }, (_each, n) =>
            ctx.step("part", async () => {
              running += 1;
              most = Math.max(most, running);
              await turns(1);
              running -= 1;
              return n;
            }),
          ),
        ),
      { journal: makeJournal(), stepConcurrency: 4 },
    );
    const runId = await start();
    expect(await soon(engine.execute(runId), "the fan-out", 2_000)).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual(Array.from({ length: 32 }, (_each, n) => n));
    expect([most, running]).toEqual([4, 0]);
  });

  test("is one for all runs of an engine, and a nested step needs no place of its own", async () => {
    let running = 0;
    let most = 0;
    const { engine, start } = scene(
      (ctx) =>
        ctx.step("outer", async () => {
          running += 1;
          most = Math.max(most, running);
          await Promise.all([1, 2, 3].map((n) => ctx.step("inner", () => turns(1).then(() => n))));
          running -= 1;
        }),
      { journal: makeJournal(), stepConcurrency: 1 },
    );
    const runs = await Promise.all([start(), start(), start()]);
    const statuses = await soon(Promise.all(runs.map((runId) => engine.execute(runId))), "the runs", 2_000);
    expect([statuses, most]).toEqual([["completed", "completed", "completed"], 1]);
  });
});
