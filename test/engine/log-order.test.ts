/** L1 in cases somebody thought of; the cases nobody did are in log-order-property.test.ts. */
import { describe, expect, test } from "vitest";
import { createMemoryJournal } from "../../src/embedded/memory-journal.ts";
import { streamOf } from "./log-order-replay.ts";
import { DAY, JOURNALS, scene, turns } from "./scene.ts";

describe("what a body may still do decides whether its walk suspends", () => {
  test.each(Array.from({ length: 12 }, (_, hops) => hops))(
    "a wait that parks while a recorded result is being handed over does not end the walk (%i hops)",
    async (hops) => {
      const journal = createMemoryJournal();
      const { engine, run } = scene(
        async (ctx) => {
          const chain = async () => {
            for (const name of ["a", "b", "c", "d"]) {
              await ctx.step(name, () => name);
              for (let hop = 0; hop < hops; hop += 1) await null;
            }
            return "chain";
          };
          const first = await Promise.race([
            ctx.waitFor("never", { timeoutMs: DAY }).then(() => "signal"),
            chain(),
          ]);
          await ctx.waitFor("end");
          return first;
        },
        { journal },
      );
      const { runId } = await run();
      await engine.signal("end", null);
      expect(await engine.execute(runId)).toBe("completed");
      expect(await engine.readOutput(runId)).toBe("chain");
    },
  );
});

describe("two results in one turn", () => {
  test("the one recorded first wins, live and on every replay, though the other's body began first", async () => {
    const journal = createMemoryJournal();
    const winners: string[] = [];
    const { engine, run } = scene(
      async (ctx) => {
        const winner = await Promise.race([
          ctx
            .step("slower", async () => {
              await null;
              await null;
              return 1;
            })
            .then(() => "slower"),
          ctx.step("faster", () => 2).then(() => "faster"),
        ]);
        winners.push(winner);
        await ctx.waitFor("end");
        return winner;
      },
      { journal },
    );
    const { runId } = await run();
    const order = (await streamOf(journal.log, runId))
      .filter(({ type }) => type === "StepSettled")
      .map(({ data }) => data.name);
    await engine.execute(runId);
    await engine.execute(runId);
    expect(winners).toEqual([order[0], order[0], order[0]]);
  });
});

describe("signals in the middle", () => {
  test("a signal recorded before a step settles wins the race against it, though the step's result was known first", async () => {
    const journal = createMemoryJournal();
    const told: string[] = [];
    const { engine, start } = scene(
      async (ctx) => {
        const winner = await Promise.race([
          ctx.waitFor("stop").then(() => "signal"),
          ctx.step("work", () => engine.signal("stop", 1)).then(() => "step"),
        ]);
        told.push(winner);
        return ctx.step(`then-${winner}`, () => winner);
      },
      { journal },
    );
    const runId = await start();
    expect(await engine.execute(runId)).toBe("completed");
    expect(await engine.readOutput(runId)).toBe("signal");
    const types = (await streamOf(journal.log, runId)).map(({ type }) => type);
    expect(types.indexOf("HookDelivered")).toBeLessThan(types.indexOf("StepSettled"));
    expect(told.at(-1)).toBe("signal");
  });

  test("waits that fall due together are over in the order of their deadlines, not of asking", async () => {
    let now = 1_000;
    const { engine, run } = scene(
      (ctx) => Promise.race([300, 100, 200].map((ms) => ctx.sleep(`for-${ms}`, ms).then(() => ms))),
      { clock: () => now, journal: createMemoryJournal({ clock: () => now }) },
    );
    const { runId } = await run();
    now += 1_000;
    expect(await engine.execute(runId)).toBe("completed");
    expect(await engine.readOutput(runId)).toBe(100);
  });

  test("a settled step answers after a wait that was over before it, in the walk that finds both", async () => {
    let now = 1_000;
    const { engine, run } = scene(
      async (ctx) => {
        const both = [ctx.step("step", () => 1).then(() => "step"), ctx.sleep("nap", 50).then(() => "nap")];
        const order: string[] = [];
        await Promise.all(both.map(async (one) => order.push(await one)));
        return order;
      },
      { clock: () => now, journal: createMemoryJournal({ clock: () => now }) },
    );
    const { runId } = await run();
    now += 100;
    await engine.execute(runId);
    expect(await engine.readOutput(runId)).toEqual(["step", "nap"]);
  });
});

describe.each(JOURNALS)("on %s", (_, makeJournal) => {
  test("all, any and allSettled over steps, waits and reads complete over as many deliveries as it takes", async () => {
    const { engine, run } = scene(
      async (ctx) => {
        const settled = await Promise.allSettled([
          ctx.step("ok", () => 1),
          ctx.step(
            "bad",
            () => {
              throw new Error("no");
            },
            { maxAttempts: 1 },
          ),
        ]);
        const any = await Promise.any([ctx.waitFor("never"), ctx.step("quick", () => "quick")]);
        const all = await Promise.all([ctx.waitFor("first"), ctx.waitFor("second"), ctx.sleep("nap", DAY)]);
        return { any, all, settled: settled.map(({ status }) => status) };
      },
      { journal: makeJournal() },
    );
    const { runId } = await run();
    for (const token of ["second", "first"]) {
      await engine.signal(token, token);
      expect(await engine.execute(runId)).toBe("running");
    }
    await engine.wakeUp(runId);
    expect(await engine.execute(runId)).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual({
      any: "quick",
      all: ["first", "second", undefined],
      settled: ["fulfilled", "rejected"],
    });
    await turns();
  });
});
