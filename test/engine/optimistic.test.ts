/**
 * Optimistic steps: the body begins beside its claim. What it makes counts only under the claim; everything else of a step stays as it is.
 */
import { describe, expect, test } from "vitest";
import { createMemoryJournal } from "../../src/embedded/memory-journal.ts";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { deferred, JOURNALS, scene, soon, turns } from "./scene.ts";

/** `journal`, whose claims wait for `gate`. */
const slowClaims = (journal: JournalStore, gate: () => Promise<unknown>): JournalStore => ({
  ...journal,
  claimAttempt: async (...args) => {
    await gate();
    return journal.claimAttempt(...args);
  },
});
const OPTIMISTIC = { optimistic: true };
const away = () => new StoreError("away", { _tag: "Unavailable", reason: "away" });

describe.each(JOURNALS)("an optimistic step on %s", (_, makeJournal) => {
  test("begins before its claim is recorded, and is told to the body only after; another step waits", async () => {
    const claim = deferred();
    const ran: string[] = [];
    const { engine, start } = scene(
      async (ctx) => {
        const [early, late] = await Promise.all([
          ctx.step("early", () => ran.push("early"), OPTIMISTIC).then((value) => [ran.push("told"), value]),
          ctx.step("late", () => ran.push("late")),
        ]);
        return { early, late };
      },
      { journal: slowClaims(makeJournal(), () => claim.promise) },
    );
    const runId = await start();
    const delivery = engine.execute(runId);
    await turns();
    expect(ran).toEqual(["early"]);
    claim.resolve();
    expect(await soon(delivery)).toBe("completed");
    expect(ran.toSorted()).toEqual(["early", "late", "told"]);
    expect(await engine.readOutput(runId)).toMatchObject({ early: [expect.any(Number), 1] });
  });

  test("whose claim cannot be recorded is discarded, and run again by the next delivery", async () => {
    let away_ = true;
    const ran: number[] = [];
    const journal = makeJournal();
    const { engine, start } = scene(
      async (ctx) => ({ value: await ctx.step("early", () => ran.push(1), OPTIMISTIC) }),
      {
        journal: slowClaims(journal, async () => {
          if (away_) throw away();
        }),
      },
    );
    const runId = await start();
    await expect(engine.execute(runId)).rejects.toThrow("away");
    expect(ran).toEqual([1]);
    expect(await journal.readSteps(runId)).toEqual([]);
    away_ = false;
    expect(await soon(engine.execute(runId))).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual({ value: 2 });
    expect(await journal.readSteps(runId)).toMatchObject([{ key: "early#0", output: 2, attempts: 1 }]);
  });

  test("that somebody else settled meanwhile is discarded: the run goes on as the journal says", async () => {
    const claim = deferred();
    const journal = makeJournal();
    const { engine, start } = scene(
      async (ctx) => ({ value: await ctx.step("early", () => "mine", OPTIMISTIC) }),
      { journal: slowClaims(journal, () => claim.promise) },
    );
    const runId = await start();
    const delivery = engine.execute(runId);
    await turns();
    await journal.claimAttempt(runId, "early#0", "somebody", 60_000);
    await journal.appendStep(runId, {
      key: "early#0",
      name: "early",
      status: "ok",
      output: "theirs",
      attempts: 1,
      finishedAt: Date.now(),
    });
    claim.resolve();
    await soon(delivery);
    expect(await soon(engine.execute(runId))).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual({ value: "theirs" });
  });

  test("that fails is tried again as ever, under its claim", async () => {
    let tries = 0;
    const journal = makeJournal();
    const { engine, start } = scene(
      async (ctx) => {
        const flaky = await ctx.step(
          "early",
          () => {
            tries += 1;
            if (tries < 3) throw new Error(`try ${tries}`);
            return tries;
          },
          OPTIMISTIC,
        );
        const broken = await ctx
          .step("broken", () => Promise.reject(new Error("no")), { ...OPTIMISTIC, maxAttempts: 2 })
          .catch((error: Error) => error.message);
        return { flaky, broken };
      },
      { journal },
    );
    const runId = await start();
    expect(await soon(engine.execute(runId))).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual({ flaky: 3, broken: "no" });
    expect((await journal.readSteps(runId)).toSorted((a, b) => a.attempts - b.attempts)).toMatchObject([
      { key: "broken#0", status: "failed", attempts: 2 },
      { key: "early#0", status: "ok", attempts: 3 },
    ]);
  });

  test("whose claim cannot be recorded is discarded also where its body ends long after the delivery", async () => {
    const body = deferred<string>();
    const journal = makeJournal();
    const { engine, start } = scene(async (ctx) => ctx.step("early", () => body.promise, OPTIMISTIC), {
      journal: slowClaims(journal, () => Promise.reject(away())),
    });
    const runId = await start();
    await expect(soon(engine.execute(runId))).rejects.toThrow("away");
    body.resolve("late");
    await turns();
    expect(await journal.readSteps(runId)).toEqual([]);
    expect((await engine.getRun(runId))?.status).toBe("running");
  });

  test("records what is inside it only under its claim", async () => {
    const claims: string[] = [];
    const claim = deferred();
    const journal = makeJournal();
    const { engine, start } = scene(
      async (ctx) =>
        ctx.step(
          "outer",
          async () => [claims.length, await ctx.step("inner", () => "in", OPTIMISTIC)],
          OPTIMISTIC,
        ),
      {
        journal: {
          ...journal,
          claimAttempt: async (...args) => {
            if (args[1] === "outer#0") await claim.promise;
            const held = await journal.claimAttempt(...args);
            claims.push(args[1]);
            return held;
          },
        },
      },
    );
    const runId = await start();
    const delivery = engine.execute(runId);
    await turns();
    expect(claims).toEqual([]);
    claim.resolve();
    expect(await soon(delivery)).toBe("completed");
    expect(claims).toEqual(["outer#0", "inner#0"]);
    expect(await engine.readOutput(runId)).toEqual([0, "in"]);
  });
});

test("a step that was claimed before is not begun early: a body that ends its worker is counted", async () => {
  const journal = createMemoryJournal();
  const claim = deferred();
  const ran: string[] = [];
  const { engine, start } = scene(
    async (ctx) => ({ value: await ctx.step("early", () => ran.push("early"), OPTIMISTIC) }),
    { journal: slowClaims(journal, () => claim.promise) },
  );
  const runId = await start();
  await journal.claimAttempt(runId, "early#0", "a worker that died", 60_000);
  const delivery = engine.execute(runId);
  await turns();
  expect(ran).toEqual([]);
  claim.resolve();
  expect(await soon(delivery)).toBe("completed");
});

test("optimistic steps take the appends that others take", async () => {
  const cost = async (options: object): Promise<string[]> => {
    const journal = createMemoryJournal();
    const { engine, start } = scene(
      async (ctx) => {
        for (let at = 0; at < 5; at++) await ctx.step("s", () => at, options);
      },
      { journal },
    );
    const runId = await start();
    await engine.execute(runId);
    const types: string[] = [];
    for await (const { type } of journal.log.readAll()) types.push(type);
    return types;
  };
  expect(await cost(OPTIMISTIC)).toEqual(await cost({}));
});
