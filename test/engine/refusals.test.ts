/** The engine's own verdicts about a walk: what is refused, what it says, and that no body can talk its way out of it. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createMemoryJournal } from "../../src/embedded/memory-journal.ts";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { ATTEMPT_LEASE_MS } from "../../src/engine/walk/attempt.ts";
import { type Body, type Ctx, JOURNALS, scene, soon } from "./scene.ts";

describe.each(JOURNALS)("refused inside a step, on %s", (_, makeJournal) => {
  const forbidden: [string, (ctx: Ctx) => Promise<unknown>, string[]][] = [
    [
      "sleep",
      (ctx) => ctx.sleep("nap", 1),
      [
        'ctx.sleep was called inside ctx.step("napper")',
        "a step body may not wait",
        "Move the wait out of the step",
      ],
    ],
    [
      "waitFor",
      (ctx) => ctx.waitFor("t"),
      ['ctx.waitFor was called inside ctx.step("napper")', "a step body may not wait"],
    ],
    ["now", (ctx) => ctx.now(), ['ctx.now was called inside ctx.step("napper")']],
    ["random", (ctx) => ctx.random(), ['ctx.random was called inside ctx.step("napper")']],
    ["uuid", (ctx) => ctx.uuid(), ['ctx.uuid was called inside ctx.step("napper")']],
  ];

  test.each(forbidden)(
    "%s: the step runs once and fails, and so does the run, whatever the body catches",
    async (_name, call, says) => {
      let ran = 0;
      const { engine, run, errorOf, journal } = scene(
        async (ctx) => {
          await ctx
            .step("napper", () => {
              ran += 1;
              return call(ctx);
            })
            .catch(() => {});
          return "swallowed";
        },
        { journal: makeJournal() },
      );
      const { runId, status } = await run();
      expect([status, ran]).toEqual(["failed", 1]);
      for (const part of says) expect(await errorOf(runId)).toContain(part);
      expect(await journal.readStep(runId, "napper#0")).toMatchObject({ status: "failed" });
      expect(await journal.readSleeps(runId)).toEqual([]);
      expect(await engine.signal("t", 1)).toBe(false);
    },
  );

  test("a step that swallows it itself settles, and the run fails all the same", async () => {
    const { run, errorOf } = scene((ctx) => ctx.step("napper", () => ctx.sleep("nap", 1).catch(() => 1)), {
      journal: makeJournal(),
    });
    const { runId, status } = await run();
    expect([status, await errorOf(runId)]).toEqual(["failed", expect.stringContaining("napper")]);
  });

  test("of nested steps the inner one is named", async () => {
    const { run, errorOf, keys } = scene(
      (ctx) => ctx.step("outer", () => ctx.step("inner", () => ctx.now())).catch(() => {}),
      { journal: makeJournal() },
    );
    const { runId, status } = await run();
    expect([status, await errorOf(runId)]).toEqual(["failed", expect.stringContaining('ctx.step("inner")')]);
    expect((await keys(runId)).sort()).toEqual(["inner#0", "outer#0"]);
  });
});

describe.each(JOURNALS)("unfinished attempts, on %s", (_, makeJournal) => {
  /** A run of one step with charges of walks that died, `ago` milliseconds old. */
  const withCharges = async (count: number, ago: number, maxAttempts?: number) => {
    let now = Date.now() - ago;
    const journal = makeJournal();
    let ran = 0;
    const stage = scene(
      (ctx) => ctx.step("work", () => ++ran, maxAttempts === undefined ? {} : { maxAttempts }),
      { journal },
    );
    const runId = await stage.start();
    const real = Date.now;
    Date.now = () => now;
    for (let n = 0; n < count; n += 1)
      await journal.claimAttempt(runId, "work#0", `dead-${n}`, ATTEMPT_LEASE_MS);
    Date.now = real;
    now = real();
    return { ...stage, runId, ran: () => ran };
  };

  test.each([
    ["two within the hour, default budget", 2, 1_000, undefined, "completed"],
    ["three within the hour, default budget", 3, 1_000, undefined, "failed"],
    ["three older than the hour", 3, ATTEMPT_LEASE_MS + 60_000, undefined, "completed"],
    ["one within the hour, maxAttempts 1", 1, 1_000, 1, "failed"],
    ["one older than the hour, maxAttempts 1", 1, ATTEMPT_LEASE_MS + 60_000, 1, "completed"],
  ] as const)("%s", async (_name, count, ago, maxAttempts, status) => {
    const { engine, runId, ran, errorOf, keys, journal } = await withCharges(count, ago, maxAttempts);
    expect(await engine.execute(runId)).toBe(status);
    expect(ran()).toBe(status === "completed" ? 1 : 0);
    if (status === "completed") return;
    expect(await errorOf(runId)).toContain(`${count} unfinished attempt(s)`);
    expect(await errorOf(runId)).toContain('"work"');
    expect(await keys(runId)).toEqual([]);
    if (_ !== "our journal")
      expect(await journal.claimAttempt(runId, "work#0", "probe", ATTEMPT_LEASE_MS)).toBe(count + 1);
  });

  test("W2: a body that catches it fails all the same", async () => {
    const journal = makeJournal();
    const stage = scene((ctx) => ctx.step("work", () => 1, { maxAttempts: 1 }).catch(() => "swallowed"), {
      journal,
    });
    const runId = await stage.start();
    await journal.claimAttempt(runId, "work#0", "dead", ATTEMPT_LEASE_MS);
    expect(await stage.engine.execute(runId)).toBe("failed");
  });
});

describe("the journal's bound", () => {
  const withEntries = async (count: number, body: Body) => {
    const own = JOURNALS[1]?.[1]() as JournalStore;
    const stage = scene(body, { journal: own });
    const runId = await stage.start();
    for (let n = 0; n < count; n += 1) {
      const read = n % 2 === 0;
      await own.appendStep(runId, {
        key: read ? `now!${n / 2}` : `s#${n}`,
        name: "s",
        status: "ok",
        attempts: 1,
        finishedAt: 1,
      });
    }
    return { ...stage, runId };
  };

  test("8,000 entries, reads included: a warning, and the walk goes on", async () => {
    const { engine, runId, log } = await withEntries(8_000, () => "walked");
    expect(await engine.execute(runId)).toBe("completed");
    const [line] = log;
    expect(line).toMatchObject({
      level: "warn",
      fields: { runId, workflow: "job", steps: 8_000, ceiling: 10_000 },
    });
  });

  test("7,999: nothing is said", async () => {
    const { engine, runId, log } = await withEntries(7_999, () => "walked");
    await engine.execute(runId);
    expect(log).toEqual([]);
  });

  test("10,000: the body is not run, and the run fails with the count, the ceiling and the remedy", async () => {
    let ran = 0;
    const { engine, runId, errorOf } = await withEntries(10_000, () => ++ran);
    expect([await engine.execute(runId), ran]).toEqual(["failed", 0]);
    expect(await errorOf(runId)).toMatch(/10000.*smaller runs/);
  });
});

describe("a body that asks for more than a run may settle", () => {
  test("is refused at the 10,001st entry, in the walk that asks", async () => {
    let ran = 0;
    const { run, errorOf, keys } = scene(
      async (ctx) => {
        await Promise.all(Array.from({ length: 10_000 }, () => ctx.step("s", () => ++ran)));
        await ctx.now();
      },
      { journal: createMemoryJournal(), stepConcurrency: 10_000 },
    );
    const { runId, status } = await run();
    expect([status, ran]).toEqual(["failed", 10_000]);
    expect(await errorOf(runId)).toMatch(/now!0.*10000.*smaller runs/);
    expect(await keys(runId)).toHaveLength(10_000);
  });
});

describe.each(JOURNALS)("a recorded result that its schema does not take, on %s", (_, makeJournal) => {
  const resume = async (before: unknown, after: unknown) => {
    const journal = makeJournal();
    const body =
      (schema: unknown): Body =>
      async (ctx) => {
        const value = await ctx.step("parse", () => "4", { schema }).catch(() => "swallowed");
        await ctx.waitFor("go");
        return value;
      };
    const first = scene(body(before), { journal });
    const { runId } = await first.run();
    await first.engine.signal("go", 1);
    const second = scene(body(after), { journal });
    return {
      status: await soon(second.engine.execute(runId)),
      error: await second.errorOf(runId),
      keys: await second.keys(runId),
    };
  };

  test("is refused, naming step and key, that it SUCCEEDED; nothing is recorded about it", async () => {
    const { status, error, keys } = await resume(z.string(), z.number());
    expect(status).toBe("failed");
    for (const part of ['"parse"', "parse#0", "SUCCEEDED"]) expect(error).toContain(part);
    expect(keys).toEqual(["parse#0"]);
  });

  test("a schema that throws is a failed check", async () => {
    const throwing = {
      "~standard": {
        version: 1,
        vendor: "t",
        validate: () => {
          throw new Error("oops");
        },
      },
    };
    expect((await resume(z.string(), throwing)).error).toContain("the schema itself threw");
  });

  test("A5: inside another step it settles nothing of that step, whatever its body makes of it", async () => {
    const never = z.string().transform((text) => text.length);
    const { run, errorOf, keys } = scene(
      async (ctx) =>
        ctx.step("outer", () => ctx.step("inner", () => "four", { schema: never }).catch(() => "swallowed")),
      { journal: makeJournal() },
    );
    const { runId, status } = await run();
    expect(status).toBe("failed");
    expect(await errorOf(runId)).toContain("SUCCEEDED");
    expect(await keys(runId)).toEqual(["inner#0"]);
  });
});
