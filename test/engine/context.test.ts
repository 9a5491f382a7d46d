/** What the context does: keys and counters, steps, reads. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { stepInfo } from "../../src/engine/step-context.ts";
import { FatalError, RetryableError } from "../../src/engine/step-errors.ts";
import { type Body, DAY, JOURNALS, scene } from "./scene.ts";

describe.each(JOURNALS)("the context on %s", (_, makeJournal) => {
  const on = (body: Body) => scene(body, { journal: makeJournal() });

  test("knows its run and the key under which its workflow is declared", async () => {
    const { engine, run } = on((ctx) => [ctx.runId, ctx.workflow]);
    const { runId } = await run();
    expect(await engine.readOutput(runId)).toEqual([runId, "job"]);
  });

  test("counts steps by name, sleeps by label, hooks by token, and reads by kind, apart from each other", async () => {
    const { journal, run, keys } = on(async (ctx) => {
      for (const name of ["cooldown", "other", "cooldown", "now", "sleep"]) await ctx.step(name, () => name);
      await ctx.sleep("cooldown", -1);
      await ctx.sleep("cooldown", -1);
      await ctx.now();
      await ctx.now();
      await ctx.random();
      await ctx.waitFor("cooldown", { timeoutMs: -1 });
    });
    const { runId, status } = await run();
    expect(status).toBe("completed");
    expect((await keys(runId)).sort()).toEqual(
      ["cooldown#0", "cooldown#1", "now!0", "now!1", "now#0", "other#0", "random!0", "sleep#0"].sort(),
    );
    expect((await journal.readSleeps(runId)).map(({ key, kind }) => [key, kind])).toEqual([
      ["hookTimeout!cooldown#0", "hookTimeout"],
      ["sleep!cooldown#0", "sleep"],
      ["sleep!cooldown#1", "sleep"],
    ]);
  });

  test("takes a fan-out's keys from the order of the source, not of finishing", async () => {
    const { engine, run } = on((ctx) =>
      Promise.all(
        [3, 1, 2].map((turns) =>
          ctx.step("part", async () => {
            for (let turn = 0; turn < turns; turn += 1) await new Promise((next) => setImmediate(next));
            return stepInfo()?.key;
          }),
        ),
      ),
    );
    const { runId } = await run();
    expect(await engine.readOutput(runId)).toEqual(["part#0", "part#1", "part#2"]);
  });

  test("starts its counters anew in every walk", async () => {
    const { engine, run, keys } = on(async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.sleep("nap", DAY);
      await ctx.step("a", () => 2);
    });
    const { runId } = await run();
    await engine.execute(runId);
    await engine.wakeUp(runId);
    await engine.execute(runId);
    expect(await keys(runId)).toEqual(["a#0", "a#1"]);
  });

  test("any text may name a step, a sleep and a token", async () => {
    const names = ["a#7", "b!0", "", "__proto__", "ünï 🚀", "a/b", "x".repeat(2_000)];
    const { engine, run } = on(async (ctx) => {
      const said: unknown[] = [];
      for (const name of names) said.push(await ctx.step(name, () => name));
      for (const name of names) await ctx.sleep(name, -1);
      return said;
    });
    const { runId } = await run();
    expect(await engine.readOutput(runId)).toEqual(names);
  });

  test("answers a settled step on every later walk without running it, a failed one with its message", async () => {
    let ran = 0;
    const { engine, run } = on(async (ctx) => {
      const ok = await ctx.step("ok", () => ++ran);
      const failed = await ctx
        .step("bad", () => {
          ran += 1;
          throw new FatalError("no good", { cause: new Error("secret") });
        })
        .catch((error) => [error.message, error.cause, FatalError.is(error)]);
      await ctx.waitFor("go");
      return { ok, failed };
    });
    const { runId } = await run();
    await engine.signal("go", {});
    await engine.execute(runId);
    expect(await engine.readOutput(runId)).toEqual({ ok: 1, failed: ["no good", undefined, true] });
    expect(ran).toBe(2);
  });

  test("tries a failing step three times by default, and says to each try which it is", async () => {
    const tries: unknown[] = [];
    const { journal, run, errorOf } = on((ctx) =>
      ctx.step("flaky", () => {
        const info = stepInfo();
        tries.push([info?.attempt, info?.maxAttempts, info?.isLastAttempt]);
        throw new Error(`try ${tries.length}`);
      }),
    );
    const { runId, status } = await run();
    expect([status, await errorOf(runId)]).toEqual(["failed", "try 3"]);
    expect(tries).toEqual([
      [1, 3, false],
      [2, 3, false],
      [3, 3, true],
    ]);
    expect(await journal.readStep(runId, "flaky#0")).toMatchObject({ status: "failed", attempts: 3 });
    expect(stepInfo()).toBe(undefined);
  });

  test("narrates a try that is repeated, with one cause, and neither the last failure nor the success", async () => {
    let tries = 0;
    const { engine, run } = on((ctx) =>
      ctx.step("flaky", () => {
        tries += 1;
        if (tries < 3) throw new RetryableError("busy", { retryAfter: 1, cause: new Error("queue full") });
        return tries;
      }),
    );
    const { runId } = await run();
    const lines: unknown[] = [];
    for await (const line of engine.readStream(runId)) lines.push(line);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(
      /^Step flaky failed on attempt 1 of 3, retrying in [01]ms: busy — caused by queue full$/,
    );
    expect(await engine.streamTail(runId)).toBe(1);
  });

  test("a step with a schema answers the schema's output, live and replayed", async () => {
    const schema = z.object({ n: z.coerce.number() });
    const { engine, run } = on(async (ctx) => {
      const value = await ctx.step("parse", () => ({ n: "4", more: 1 }), { schema });
      await ctx.waitFor("go");
      return value;
    });
    const { runId } = await run();
    await engine.signal("go", 1);
    await engine.execute(runId);
    expect(await engine.readOutput(runId)).toEqual({ n: 4 });
  });

  test("a result that its schema does not take is a failed try, and nothing is recorded until the budget ends", async () => {
    let tries = 0;
    const { journal, run, errorOf } = on((ctx) =>
      ctx.step("parse", () => ++tries, { schema: z.string(), maxAttempts: 2 }),
    );
    const { runId, status } = await run();
    expect([status, tries]).toEqual(["failed", 2]);
    expect(await errorOf(runId)).toContain('Step "parse"');
    expect(await journal.readStep(runId, "parse#0")).toMatchObject({ status: "failed", attempts: 2 });
  });

  test("steps nest: the inner one is recorded by itself, and not asked for again once the outer one is", async () => {
    let inner = 0;
    const { engine, run, keys } = on(async (ctx) => {
      const outer = await ctx.step(
        "outer",
        async () => 10 + (await ctx.step<number>("inner", () => ++inner)),
      );
      await ctx.waitFor("go");
      return outer;
    });
    const { runId } = await run();
    await engine.signal("go", 1);
    await engine.execute(runId);
    expect([await engine.readOutput(runId), inner]).toEqual([11, 1]);
    expect((await keys(runId)).sort()).toEqual(["inner#0", "outer#0"]);
  });

  test("reads are drawn once: one entry each, no attempt, the same value for ever", async () => {
    const seen: unknown[][] = [];
    const { engine, journal, run } = on(async (ctx) => {
      seen.push([await ctx.now(), await ctx.random(), await ctx.uuid(), await ctx.random()]);
      await ctx.waitFor("go");
    });
    const { runId } = await run();
    await engine.signal("go", 1);
    await engine.execute(runId);
    expect(seen).toHaveLength(2);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[0]?.[1]).not.toBe(seen[0]?.[3]);
    expect(await journal.readStep(runId, "random!0")).toMatchObject({
      name: "random",
      status: "ok",
      attempts: 0,
    });
  });

  test("values beyond JSON reach the body alike the first time and on replay (L6)", async () => {
    const seen: unknown[] = [];
    const value = {
      at: new Date(5),
      map: new Map([[1, new Set(["a"])]]),
      bytes: new Uint8Array([1, 2]),
      none: undefined,
    };
    const { engine, run } = on(async (ctx) => {
      seen.push(await ctx.step("rich", () => value));
      await ctx.waitFor("go");
    });
    const { runId } = await run();
    await engine.signal("go", 1);
    await engine.execute(runId);
    expect(seen[0]).toEqual(value);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[0]).not.toBe(value);
  });

  test("refuses arguments of the wrong type before anything is recorded", async () => {
    const { engine, journal, run } = on(async (ctx) => {
      const wrong = undefined as unknown as string;
      const asked: (() => Promise<unknown>)[] = [
        () => ctx.step(5 as unknown as string, () => 1),
        () => ctx.step("tried", () => 1, { maxAttempts: Number.NaN }),
        () => ctx.step("tried", () => 1, { maxAttempts: "3" as unknown as number }),
        () => ctx.sleep(wrong, 1),
        () => ctx.sleep("nap", 1, { correlationId: 5 as unknown as string }),
        () => ctx.waitFor(wrong),
      ];
      const said: string[] = [];
      for (const ask of asked)
        await ask().catch((error: Error) => said.push(`${error.name}: ${error.message}`));
      return said;
    });
    const { runId, status } = await run();
    expect(status).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual([
      "InvalidArgumentError: The name of a step must be a string, and is a value of type number",
      "InvalidArgumentError: maxAttempts of a step must be a number, and is NaN",
      "InvalidArgumentError: maxAttempts of a step must be a number, and is a value of type string",
      "InvalidArgumentError: The label of a sleep must be a string, and is undefined",
      "InvalidArgumentError: The correlationId of a sleep must be a string, and is a value of type number",
      "InvalidArgumentError: The token of a hook must be a string, and is undefined",
    ]);
    expect(await journal.readSteps(runId)).toEqual([]);
    expect(await journal.readSleeps(runId)).toEqual([]);
  });

  test("a step without a limit that fails at once leaves timers and a cancel their turn", async () => {
    let tries = 0;
    const stage = on((ctx) =>
      ctx.step(
        "hopeless",
        () => {
          tries += 1;
          throw new Error("no");
        },
        { maxAttempts: Number.POSITIVE_INFINITY },
      ),
    );
    const runId = await stage.start();
    const walk = stage.engine.execute(runId);
    await new Promise<void>((resolve) => {
      const look = (): unknown => (tries > 100 ? resolve() : setTimeout(look, 1));
      look();
    });
    expect(await stage.engine.cancel(runId)).toBe(true);
    expect(await walk).toBe("cancelled");
    const atTheEnd = tries;
    await new Promise((next) => setImmediate(next));
    expect(tries).toBe(atTheEnd);
  });
});
