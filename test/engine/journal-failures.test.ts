/** A store that cannot be reached, at every call of every method: the delivery rejects, the run is what it was, and the next one goes on. */
import { describe, expect, test } from "vitest";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { createFaultLog, UNAVAILABLE } from "./fault-log.ts";
import { workerOn } from "./log-order-replay.ts";
import { type Body, JOURNALS, scene, soon } from "./scene.ts";

const METHODS = [
  "getRun",
  "setStatus",
  "readSteps",
  "readSleeps",
  "readStep",
  "claimAttempt",
  "releaseAttempt",
  "claimSleep",
  "claimHook",
  "closeHook",
  "appendStep",
] as const;
type Method = (typeof METHODS)[number];

const GONE = new Error("the store cannot be reached");

/** `own`, which counts its calls and fails the one that `failing` names. */
const flaky = (own: JournalStore, failing?: { readonly method: Method; readonly call: number }) => {
  const calls = new Map<Method, number>();
  const journal = { ...own };
  for (const method of METHODS) {
    journal[method] = (async (...args: never[]) => {
      const call = calls.get(method) ?? 0;
      calls.set(method, call + 1);
      if (failing?.method === method && failing.call === call) throw GONE;
      return (own[method] as (...a: never[]) => Promise<unknown>)(...args);
    }) as never;
  }
  return { journal, calls };
};

/** Everything a body may ask for. `ran` counts the bodies of its steps. */
const everything =
  (ran: Map<string, number>): Body =>
  async (ctx) => {
    const paid = (name: string, value: unknown) => () => {
      ran.set(name, (ran.get(name) ?? 0) + 1);
      return value;
    };
    try {
      const first = await ctx.step("first", paid("first", 1));
      const drawn = await ctx.random();
      await ctx.sleep("past", -1);
      const both = await Promise.all([
        ctx.step("left", paid("left", 2)),
        ctx.step("right", paid("right", 3)),
      ]);
      const nobody = await ctx.waitFor(`${ctx.runId}-window`, { timeoutMs: -1 });
      const outer = await ctx.step("outer", async () => [
        paid("outer", 4)(),
        await ctx.step("inner", paid("inner", 5)),
      ]);
      return { first, drawn: drawn < 1, both, nobody, outer };
    } catch {
      return "swallowed";
    }
  };

const OUTPUT = { first: 1, drawn: true, both: [2, 3], nobody: undefined, outer: [4, 5] };

describe.each(JOURNALS)("on %s", (_, makeJournal) => {
  test("each method, at each of its calls", async () => {
    const clean = flaky(makeJournal());
    await scene(everything(new Map()), { journal: clean.journal }).run();
    let failed = 0;
    for (const method of METHODS) {
      for (let call = 0; call < (clean.calls.get(method) ?? 0); call += 1) {
        const ran = new Map<string, number>();
        const { journal } = flaky(makeJournal(), { method, call });
        const { engine, start } = scene(everything(ran), { journal });
        const runId = await start();
        const where = `${method}, call ${call}`;
        await expect(soon(engine.execute(runId), where), where).rejects.toBe(GONE);
        failed += 1;
        const record = await engine.getRun(runId).catch(() => engine.getRun(runId));
        expect([where, ["pending", "running"].includes(record?.status ?? ""), record?.error]).toEqual([
          where,
          true,
          undefined,
        ]);
        for (const [name, times] of ran) expect([where, name, times]).toEqual([where, name, 1]);
        expect(await soon(engine.execute(runId), where)).toBe("completed");
        expect(await engine.readOutput(runId)).toEqual(OUTPUT);
      }
    }
    expect(failed).toBeGreaterThanOrEqual(20);
  });

  test("A3, trap 1: a store that fails to record a paid result does not run the body again", async () => {
    const ran = new Map<string, number>();
    const { journal } = flaky(makeJournal(), { method: "appendStep", call: 0 });
    const { engine, start } = scene(everything(ran), { journal });
    await expect(engine.execute(await start())).rejects.toBe(GONE);
    expect([...ran]).toEqual([["first", 1]]);
  });
});

describe.each(["refuse", "written", "lost"] as const)("our journal on a log that fails (%s)", (kind) => {
  test("at each append: the run comes to the same end, and an unknown outcome runs no body twice", async () => {
    const clean = createFaultLog();
    await scene(everything(new Map()), { journal: workerOn(clean, () => Date.now()), runId: "run" }).run();
    const total = clean.appends.length;
    expect(total).toBeGreaterThan(8);
    for (let position = 1; position < total; position += 1) {
      const log = createFaultLog();
      const ran = new Map<string, number>();
      const { engine, start } = scene(everything(ran), {
        journal: workerOn(log, () => Date.now()),
        runId: "run",
      });
      await start();
      let failed = false;
      log.fault = () => {
        if (failed || log.appends.length !== position + 1) return undefined;
        failed = true;
        return kind === "refuse" ? { refuse: UNAVAILABLE } : { unknown: kind };
      };
      const first = soon(engine.execute("run"), `append ${position}`);
      if (kind === "refuse") await expect(first).rejects.toMatchObject({ name: "StoreError" });
      else expect(await first).toBe("completed");
      expect(failed).toBe(true);
      expect(await soon(engine.execute("run"))).toBe("completed");
      expect(await engine.readOutput("run")).toEqual(OUTPUT);
      const most = kind === "refuse" ? 2 : 1;
      for (const [name, times] of ran)
        expect([position, name, times <= most]).toEqual([position, name, true]);
    }
  });
});
