/** Starting and delivering: what a delivery asks, when it walks, and what its outcome does to the run. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { JournalStore, RunStatus } from "../../src/engine/journal-store.ts";
import { FatalError } from "../../src/engine/step-errors.ts";
import { type Body, DAY, deferred, JOURNALS, scene, soon, turns } from "./scene.ts";

describe.each(JOURNALS)("start, on %s", (_, makeJournal) => {
  const on = (body: Body, options = {}) => scene(body, { journal: makeJournal(), ...options });

  test("records a pending run, asks for one delivery with the id alone, and runs nothing", async () => {
    let ran = 0;
    const { engine, start, dispatched } = on(() => ++ran);
    const runId = await start({ a: 1 });
    expect(runId).toMatch(/^wrun_[0-9a-f]{32}$/);
    expect(await engine.getRun(runId)).toMatchObject({ workflow: "job", status: "pending", input: { a: 1 } });
    expect([dispatched, ran]).toEqual([[[runId]], 0]);
  });

  test.each([[[]], [[{}, {}]]])("takes exactly one input", async (args) => {
    const { engine, dispatched } = on(() => 1);
    await expect(engine.start("job", args)).rejects.toThrow("one input");
    expect(dispatched).toEqual([]);
  });

  test.each(["toString", "__proto__", "jobs"])(
    "refuses the undeclared name %s, and mints nothing",
    async (name) => {
      const { engine, journal, dispatched } = on(() => 1);
      await expect(engine.start(name, [{}])).rejects.toThrow("no workflow declared");
      expect([dispatched, await journal.listRuns(name, 5)]).toEqual([[], []]);
    },
  );

  test("a dispatcher that throws or rejects fails neither the start nor the process", async () => {
    for (const dispatch of [
      () => Promise.reject(new Error("away")),
      () => {
        throw new Error("away");
      },
    ]) {
      const { engine, start } = on(() => 1, { dispatch });
      expect((await engine.getRun(await start()))?.status).toBe("pending");
      await turns(2);
    }
  });

  test("two starts with one id: one resolves, and the record carries its input", async () => {
    const journal = makeJournal();
    const stages = [1, 2].map(() => scene(() => 1, { journal, runId: "same" }));
    const started = await Promise.allSettled(stages.map((stage, n) => stage.start({ n })));
    const won = started.findIndex(({ status }) => status === "fulfilled");
    expect(started.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect((await journal.getRun("same"))?.input).toEqual({ n: won });
  });
});

describe.each(JOURNALS)("a delivery, on %s", (_, makeJournal) => {
  const on = (body: Body, options = {}) => scene(body, { journal: makeJournal(), ...options });

  test("asks its four opening questions together, before any is answered", async () => {
    const own = makeJournal();
    const asked: string[] = [];
    const spied = (name: "getRun" | "readSteps" | "readSleeps" | "setStatus") =>
      ((...args: never[]) => {
        asked.push(name);
        return (own[name] as (...a: never[]) => Promise<unknown>)(...args);
      }) as never;
    const journal: JournalStore = {
      ...own,
      getRun: spied("getRun"),
      readSteps: spied("readSteps"),
      readSleeps: spied("readSleeps"),
      setStatus: spied("setStatus"),
    };
    const { engine, start } = on(() => 1, { journal });
    const runId = await start();
    const delivery = engine.execute(runId);
    expect(asked).toEqual(["getRun", "readSteps", "readSleeps", "setStatus"]);
    await delivery;
  });

  test("of an unknown run answers undefined", async () => {
    expect(await on(() => 1).engine.execute("nobody")).toBe(undefined);
  });

  test("of a run that is over answers its status and does not run the body", async () => {
    let ran = 0;
    const { engine, run, start } = on(() => ++ran);
    const { runId } = await run();
    expect(await engine.execute(runId)).toBe("completed");
    const other = await start();
    await engine.cancel(other);
    expect([await engine.execute(other), ran]).toEqual(["cancelled", 1]);
  });

  test("of a workflow that is no longer declared fails the run, and says so", async () => {
    const journal = makeJournal();
    const runId = await on(() => 1, { journal }).start();
    const { engine, errorOf, log } = scene(() => 1, { journal, workflows: {} });
    expect(await engine.execute(runId)).toBe("failed");
    expect(await errorOf(runId)).toContain("no longer declared");
    expect(log.map(({ level }) => level)).toContain("warn");
  });

  test.each([[null], [7], [[1]], ["text"], [new Date(1)]])(
    "of a run whose input is %j fails it without running the body",
    async (input) => {
      let ran = 0;
      const { engine, errorOf } = on(() => ++ran);
      const runId = await engine.start("job", [input]);
      expect(await engine.execute(runId)).toBe("failed");
      expect(await errorOf(runId)).toContain("plain record");
      expect(ran).toBe(0);
    },
  );

  test("trap 6: the opening move lost to the run's own creation is asked for once more", async () => {
    const own = makeJournal();
    let moves = 0;
    const journal: JournalStore = {
      ...own,
      setStatus: async (runId, next, patch, expect) => {
        if (next === "running") moves += 1;
        return moves === 1 ? false : own.setStatus(runId, next, patch, expect);
      },
    };
    const { run } = on(() => 1, { journal });
    expect([(await run()).status, moves]).toEqual(["completed", 2]);
  });

  test("an opening move lost twice is no walk", async () => {
    const own = makeJournal();
    let ran = 0;
    const journal: JournalStore = {
      ...own,
      setStatus: async (runId, next, patch, expect) =>
        next === "running" ? false : own.setStatus(runId, next, patch, expect),
    };
    const { run } = on(() => ++ran, { journal });
    expect([(await run()).status, ran]).toEqual(["pending", 0]);
  });

  test("the output is kept when the run completed, the message when it failed, and neither is there otherwise", async () => {
    const ok = on(() => ({ n: 1 }));
    const good = await ok.run();
    expect(await ok.engine.getRun(good.runId)).toMatchObject({ status: "completed", output: { n: 1 } });
    const bad = on(() => {
      throw new TypeError("not today");
    });
    const failed = await bad.run();
    const record = await bad.engine.getRun(failed.runId);
    expect([record?.status, record?.error]).toEqual(["failed", { message: "not today" }]);
    expect(record).not.toHaveProperty("output");
    expect(await ok.engine.getRun(good.runId)).not.toHaveProperty("error");
    expect(await bad.engine.readOutput(failed.runId)).toBe(undefined);
  });

  test("the output is checked once, and what the schema makes of it is kept", async () => {
    const { engine, run } = on(() => ({ n: "4", more: 1 }), { output: z.object({ n: z.coerce.number() }) });
    const { runId } = await run();
    expect(await engine.readOutput(runId)).toEqual({ n: 4 });
  });

  test.each([
    ["does not fit", z.object({ n: z.number() })],
    [
      "makes the schema throw",
      {
        "~standard": {
          version: 1,
          vendor: "t",
          validate: () => {
            throw new Error("oops");
          },
        },
      },
    ],
  ])("an output that %s fails the run, and the workflow is named", async (_name, output) => {
    const { run, errorOf } = on(() => ({ n: "x" }), { output });
    const { runId, status } = await run();
    expect(status).toBe("failed");
    expect(await errorOf(runId)).toContain('"job"');
  });

  test("what cannot be recorded as an output fails the run with the path, on our journal", async () => {
    if (_ !== "our journal") return;
    const { run, errorOf } = on(() => ({ items: [{ when: () => 1 }] }));
    const { runId, status } = await run();
    expect([status, await errorOf(runId)]).toEqual([
      "failed",
      expect.stringContaining("output.items[0].when"),
    ]);
  });
});

describe.each(JOURNALS)("cancel and abort, on %s", (_, makeJournal) => {
  const on = (body: Body, options = {}) => scene(body, { journal: makeJournal(), ...options });

  test("cancel ends a live run once, and no other one", async () => {
    const { engine, start, run } = on(() => 1);
    const runId = await start();
    expect([await engine.cancel(runId), await engine.cancel(runId), await engine.cancel("nobody")]).toEqual([
      true,
      false,
      false,
    ]);
    expect(await engine.cancel((await run()).runId)).toBe(false);
  });

  test("cancel in the middle of a step: the delivery answers the status, and no further step starts", async () => {
    const go = deferred();
    const ran: string[] = [];
    const { engine, start } = on(async (ctx) => {
      await ctx.step("first", () => go.promise.then(() => ran.push("first")));
      await ctx.step("second", () => ran.push("second"));
    });
    const runId = await start();
    const delivery = engine.execute(runId);
    await turns();
    expect(await engine.cancel(runId)).toBe(true);
    go.resolve();
    expect(await soon(delivery)).toBe("cancelled");
    await turns();
    expect([ran, (await engine.getRun(runId))?.status]).toEqual([["first"], "cancelled"]);
  });

  test("trap 9: a body that swallows the abort of a cancel and returns does not un-cancel the run", async () => {
    const { engine, start } = on(async (ctx) => {
      await engine.cancel(ctx.runId);
      return ctx.step("late", () => 1).catch(() => "swallowed");
    });
    const runId = await start();
    expect(await soon(engine.execute(runId))).toBe("cancelled");
    expect(await engine.readOutput(runId)).toBe(undefined);
  });

  test("the caller's own abort rejects the delivery with its reason, records nothing, and keeps the charge", async () => {
    const reason = new Error("this worker stops");
    const controller = new AbortController();
    const { engine, journal, start, keys } = on((ctx) =>
      ctx.step("only", () => {
        controller.abort(reason);
        throw reason;
      }),
    );
    const runId = await start();
    await expect(soon(engine.execute(runId, controller.signal))).rejects.toBe(reason);
    expect(await keys(runId)).toEqual([]);
    expect(await journal.claimAttempt(runId, "only#0", "probe", 60_000)).toBe(2);
    expect((await engine.getRun(runId))?.status).toBe("running");
  });

  test("a settled step is answered although the signal is aborted already", async () => {
    const { engine, run } = on(async (ctx) => {
      const value = await ctx.step("before", () => 1);
      await ctx.waitFor("go");
      return value;
    });
    const { runId } = await run();
    await engine.signal("go", 1);
    expect(await engine.execute(runId, AbortSignal.abort(new Error("stop")))).toBe("completed");
  });
});

describe.each(JOURNALS)("overlapping deliveries, on %s", (_, makeJournal) => {
  test("end in one output, one entry a key and one terminal move", async () => {
    const own = makeJournal();
    let moved = 0;
    const journal: JournalStore = {
      ...own,
      setStatus: async (...args) => {
        const did = await own.setStatus(...args);
        if (did && args[1] === "completed") moved += 1;
        return did;
      },
    };
    const { engine, start, keys } = scene(
      async (ctx) => {
        const values: unknown[] = [];
        for (const name of ["a", "b", "c"]) {
          values.push(
            await ctx.step(name, async () => {
              await turns(2);
              return Math.random();
            }),
          );
        }
        return values;
      },
      { journal },
    );
    const runId = await start();
    const statuses: (RunStatus | undefined)[] = await soon(
      Promise.all([1, 2, 3].map(() => engine.execute(runId))),
    );
    expect(statuses).toEqual(["completed", "completed", "completed"]);
    expect([moved, await keys(runId)]).toEqual([1, ["a#0", "b#0", "c#0"]]);
    const entries = await own.readSteps(runId);
    expect(await engine.readOutput(runId)).toEqual(entries.map(({ output }) => output));
  });

  test("a failing body fails once, whoever walks it", async () => {
    const { engine, start, errorOf } = scene(
      (ctx) =>
        ctx.step("bad", () => {
          throw new FatalError("no");
        }),
      { journal: makeJournal() },
    );
    const runId = await start();
    expect(await soon(Promise.all([engine.execute(runId), engine.execute(runId)]))).toEqual([
      "failed",
      "failed",
    ]);
    expect(await errorOf(runId)).toBe("no");
  });

  test("a run asleep is not harmed by deliveries that come too early", async () => {
    const { engine, run, dispatched } = scene((ctx) => ctx.sleep("nap", DAY), { journal: makeJournal() });
    const { runId } = await run();
    await Promise.all([engine.execute(runId), engine.execute(runId)]);
    expect(new Set(dispatched.slice(1).map(([, at]) => at)).size).toBe(1);
  });
});
