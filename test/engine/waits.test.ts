/** Sleeps, hooks and their windows; how a walk suspends on them, and how they are over. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { type Body, DAY, deferred, HOUR, JOURNALS, scene, soon, turns } from "./scene.ts";

const START = 1_800_000_000_000;
beforeEach(() => vi.useFakeTimers({ toFake: ["Date"], now: START }));
afterEach(() => vi.useRealTimers());

describe.each(JOURNALS)("waits on %s", (_, makeJournal) => {
  const on = (body: Body, journal: JournalStore = makeJournal()) => scene(body, { journal });
  const outcome = async ({ engine }: ReturnType<typeof scene>, runId: string) => {
    const status = await soon(engine.execute(runId));
    return status === "completed" ? engine.readOutput(runId) : status;
  };

  test("a sleep takes its deadline once, at its first reach, and asks to be delivered then", async () => {
    const stage = on((ctx) => ctx.sleep("nap", HOUR).then(() => "rested"));
    const { runId, status } = await stage.run();
    expect([status, stage.dispatched]).toEqual(["running", [[runId], [runId, START + HOUR]]]);
    vi.setSystemTime(START + HOUR - 1);
    expect(await outcome(stage, runId)).toBe("running");
    expect(stage.dispatched.at(-1)).toEqual([runId, START + HOUR]);
    vi.setSystemTime(START + HOUR);
    expect(await outcome(stage, runId)).toBe("rested");
  });

  test.each([
    ["zero", 0],
    ["negative", -5],
    ["a Date that has passed", new Date(START - 1)],
  ])("a deadline that has passed (%s) does not wait, and is recorded all the same", async (_name, until) => {
    const stage = on((ctx) => ctx.sleep("nap", until).then(() => "rested"));
    const { runId, status } = await stage.run();
    expect(status).toBe("completed");
    expect((await stage.journal.readSleeps(runId)).map(({ key }) => key)).toEqual(["sleep!nap#0"]);
  });

  test.each([2 ** 31, 1_000 * 365 * DAY])("a sleep of %i ms parks until then", async (ms) => {
    const stage = on((ctx) => ctx.sleep("nap", ms));
    const { runId } = await stage.run();
    expect(stage.dispatched.at(-1)).toEqual([runId, START + ms]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, new Date(Number.NaN)])(
    "a sleep until %s is refused at the call, in the body",
    async (until) => {
      const stage = on((ctx) => ctx.sleep("nap", until).catch((error: Error) => error.name));
      const { runId } = await stage.run();
      expect(await stage.engine.readOutput(runId)).toBe("InvalidArgumentError");
    },
  );

  test("the correlation id is what wakeUp matches, and is never taken from the label", async () => {
    const stage = on(async (ctx) => {
      await Promise.all([ctx.sleep("a", HOUR, { correlationId: "x" }), ctx.sleep("x", HOUR)]);
      return "both";
    });
    const { runId } = await stage.run();
    expect(await stage.engine.wakeUp(runId, ["x"])).toBe(1);
    expect(await outcome(stage, runId)).toBe("running");
    expect(await stage.engine.wakeUp(runId)).toBe(1);
    expect(await outcome(stage, runId)).toBe("both");
    expect(await stage.engine.wakeUp(runId)).toBe(0);
  });

  test("a wake-up asks for a delivery only when it woke somebody", async () => {
    const stage = on((ctx) => ctx.waitFor("t", { timeoutMs: HOUR }));
    const { runId } = await stage.run();
    const before = stage.dispatched.length;
    expect(await stage.engine.wakeUp(runId)).toBe(0);
    expect(stage.dispatched.length).toBe(before);
  });

  test("a bare wait parks without a deadline, and a signal answers it", async () => {
    const stage = on((ctx) => ctx.waitFor("t"));
    const { runId, status } = await stage.run();
    expect([status, stage.dispatched]).toEqual(["running", [[runId]]]);
    expect(await stage.engine.signal("other", 1)).toBe(false);
    expect(await stage.engine.signal("t", { yes: 1 })).toBe(true);
    expect(stage.dispatched.at(-1)).toEqual([runId]);
    expect(await stage.engine.signal("t", { yes: 2 })).toBe(false);
    expect(await outcome(stage, runId)).toEqual({ yes: 1 });
  });

  test("options without timeoutMs leave the wait unbounded", async () => {
    const stage = on((ctx) => ctx.waitFor("t", { schema: z.number() }));
    await stage.run();
    expect(stage.dispatched).toHaveLength(1);
  });

  test("a window that closes unanswered answers undefined, and takes no signal any more", async () => {
    const stage = on(async (ctx) => [await ctx.waitFor("t", { timeoutMs: HOUR })]);
    const { runId } = await stage.run();
    expect(stage.dispatched.at(-1)).toEqual([runId, START + HOUR]);
    vi.setSystemTime(START + HOUR);
    expect(await outcome(stage, runId)).toEqual([undefined]);
    expect(await stage.engine.signal("t", 1)).toBe(false);
  });

  test("a signal before the walk that would close the window is kept, however late that walk comes", async () => {
    const stage = on((ctx) => ctx.waitFor("t", { timeoutMs: HOUR }));
    const { runId } = await stage.run();
    vi.setSystemTime(START + 2 * HOUR);
    expect(await stage.engine.signal("t", "late")).toBe(true);
    expect(await outcome(stage, runId)).toBe("late");
  });

  test("a signal that comes in just before the closing wins, and the body gets its payload", async () => {
    const own = makeJournal();
    const journal: JournalStore = {
      ...own,
      closeHook: async (runId, key) => {
        await own.deliverHook("t", "just in time");
        return own.closeHook(runId, key);
      },
    };
    const stage = on((ctx) => ctx.waitFor("t", { timeoutMs: 0 }), journal);
    const { runId } = await stage.run();
    expect(await outcome(stage, runId)).not.toBe(undefined);
    expect(await stage.engine.readOutput(runId)).toBe("just in time");
  });

  test("a wake-up never ends a window, bare or aimed", async () => {
    const stage = on((ctx) => ctx.waitFor("t", { timeoutMs: HOUR }));
    const { runId } = await stage.run();
    expect([await stage.engine.wakeUp(runId), await stage.engine.wakeUp(runId, ["t", ""])]).toEqual([0, 0]);
  });

  test("a payload that its schema does not take fails the run, for good, and leaves the hook answered", async () => {
    const stage = on((ctx) => ctx.waitFor("t", { schema: z.number() }).catch(() => "swallowed"));
    const { runId } = await stage.run();
    await stage.engine.signal("t", "no number");
    expect(await outcome(stage, runId)).toBe("failed");
    expect(await stage.errorOf(runId)).toContain('ctx.waitFor("t")');
    expect(await outcome(stage, runId)).toBe("failed");
    expect(await stage.journal.claimHook(runId, "hook!t#0", "t")).toMatchObject({ delivered: true });
  });

  test("the schema's output is what the body gets, and no schema is asked about a window that closed", async () => {
    const schema = z.coerce.number();
    const stage = on(async (ctx) => [
      await ctx.waitFor("never", { timeoutMs: 0, schema: z.never() }),
      await ctx.waitFor("t", { schema }),
    ]);
    const { runId } = await stage.run();
    await stage.engine.signal("t", "5");
    expect(await outcome(stage, runId)).toEqual([undefined, 5]);
  });

  test("a token held by another run fails the one that asks for it, and says who holds it", async () => {
    const journal = makeJournal();
    const [first, second] = [on((ctx) => ctx.waitFor("t"), journal), on((ctx) => ctx.waitFor("t"), journal)];
    const { runId } = await first.run();
    const other = await second.run();
    expect(other.status).toBe("failed");
    expect(await second.errorOf(other.runId)).toMatch(new RegExp(`already held by run "?${runId}`));
  });

  test("another token's record at the key is refused, and both are named", async () => {
    const own = makeJournal();
    const journal: JournalStore = {
      ...own,
      claimHook: async (...args) => ({ ...(await own.claimHook(...args)), token: "held" }),
    };
    const stage = on((ctx) => ctx.waitFor("asked").catch(() => 1), journal);
    const { runId, status } = await stage.run();
    expect(status).toBe("failed");
    const message = await stage.errorOf(runId);
    for (const part of ['ctx.waitFor("asked")', 'ctx.waitFor("held")', "another wait's record"])
      expect(message).toContain(part);
  });
});

describe.each(JOURNALS)("suspension on %s", (_, makeJournal) => {
  const on = (body: Body) => scene(body, { journal: makeJournal() });

  test("no catch, no finally and no later statement of the body runs at a wait", async () => {
    const ran: string[] = [];
    const { run } = on(async (ctx) => {
      try {
        await ctx.sleep("nap", DAY);
        ran.push("after");
      } catch {
        ran.push("catch");
      } finally {
        ran.push("finally");
      }
    });
    expect((await run()).status).toBe("running");
    await turns();
    expect(ran).toEqual([]);
  });

  test("the earliest of the parked deadlines is asked for; a race is over with it, a join waits for the rest", async () => {
    const race = on((ctx) =>
      Promise.race([ctx.sleep("week", 7 * DAY), ctx.sleep("hour", HOUR), ctx.waitFor("t")]),
    );
    const { runId } = await race.run();
    expect(race.dispatched.at(-1)).toEqual([runId, START + HOUR]);
    vi.setSystemTime(START + HOUR);
    expect(await race.engine.execute(runId)).toBe("completed");

    const join = on((ctx) => Promise.all([ctx.sleep("day", DAY), ctx.sleep("hour", HOUR)]));
    const all = await join.run();
    vi.setSystemTime(START + 2 * HOUR);
    expect(await join.engine.execute(all.runId)).toBe("running");
    expect(join.dispatched.at(-1)?.[1]).toBeGreaterThan(START + DAY);
  });

  test("W1, trap 4: a parked wait does not end the walk while a sibling step is in flight", async () => {
    const go = deferred();
    let ran = 0;
    const { engine, start } = on((ctx) =>
      Promise.all([ctx.sleep("nap", HOUR), ctx.step("slow", () => go.promise.then(() => ++ran))]),
    );
    const runId = await start();
    const delivery = engine.execute(runId);
    expect(await Promise.race([delivery, turns(30).then(() => "in flight")])).toBe("in flight");
    go.resolve();
    expect(await soon(delivery)).toBe("running");
    await engine.wakeUp(runId);
    expect(await soon(engine.execute(runId))).toBe("completed");
    expect(ran).toBe(1);
  });

  test("a step that wins against a wait completes the run, and the wait stays recorded and unused", async () => {
    const { engine, journal, run } = on((ctx) =>
      Promise.race([ctx.sleep("nap", HOUR), ctx.step("quick", () => 1)]),
    );
    const { runId, status } = await run();
    expect([status, await engine.readOutput(runId)]).toEqual(["completed", 1]);
    expect((await journal.readSleeps(runId)).map(({ key, woken }) => [key, woken])).toEqual([
      ["sleep!nap#0", false],
    ]);
  });

  test("G2, trap 7: a re-enqueue that fails, fails the delivery", async () => {
    let failing = true;
    const { engine, start } = scene((ctx) => ctx.sleep("nap", HOUR), {
      journal: makeJournal(),
      dispatch: async (_runId, at) => {
        if (at !== undefined && failing) throw new Error("queue away");
      },
    });
    const runId = await start();
    await expect(engine.execute(runId)).rejects.toThrow("queue away");
    failing = false;
    expect(await engine.execute(runId)).toBe("running");
  });
});
