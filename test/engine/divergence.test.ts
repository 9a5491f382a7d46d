/** Replays that leave the path of the recorded one: when a walk is accused, when it is not, and what the accusation says. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { type Body, type Ctx, deferred, JOURNALS, scene, soon, turns } from "./scene.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

/** Runs `before` until it waits, signals it, and delivers it with the body `after`. */
const redeploy = async (
  makeJournal: (typeof JOURNALS)[number][1],
  before: Body,
  after: Body,
  versions: [string?, string?] = [],
) => {
  const journal = makeJournal();
  // A displaced entry must have finished later than what was read, by the clock.
  let now = 1_000;
  vi.useFakeTimers({ toFake: ["Date"], now });
  const ticking =
    (body: Body): Body =>
    (ctx, input) =>
      body(
        {
          ...ctx,
          step: (name, fn, options) =>
            ctx.step(
              name,
              () => {
                now += 10;
                vi.setSystemTime(now);
                return fn();
              },
              options,
            ),
        } as Ctx,
        input,
      );
  if (versions[0] !== undefined) vi.stubEnv("RUNSTREAM_CODE_VERSION", versions[0]);
  const first = scene(ticking(before), { journal });
  const { runId } = await first.run();
  await first.engine.signal("go", 1);
  vi.unstubAllEnvs();
  if (versions[1] !== undefined) vi.stubEnv("RUNSTREAM_CODE_VERSION", versions[1]);
  const ran: string[] = [];
  const second = scene(ticking(after), { journal });
  const status = await soon(second.engine.execute(runId));
  return { status, error: await second.errorOf(runId), keys: await second.keys(runId), ran };
};

const steps =
  (...names: string[]): Body =>
  async (ctx) => {
    for (const name of names) await ctx.step(name, () => name);
    await ctx.waitFor("go");
    return "end";
  };

describe.each(JOURNALS)("on %s", (_, makeJournal) => {
  test("a step put in front of recorded ones is refused before it runs, and nothing is recorded", async () => {
    let ran = 0;
    const { status, error, keys } = await redeploy(makeJournal, steps("a", "b"), async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.step("new", () => ++ran).catch(() => "swallowed");
      return "went on";
    });
    expect([status, ran, keys]).toEqual(["failed", 0, ["a#0", "b#0"]]);
    for (const part of [
      "Workflow replay diverged",
      'reached step "new" as journal key new#0',
      "the first being b#0",
      "CODE changed",
      "BODY is non-deterministic",
      "refused to execute",
    ]) {
      expect(error).toContain(part);
    }
  });

  test.each([
    ["differ", ["v1", "v2"], ["settles which cause this is", "STARTED against bundle v1", "walked by v2"]],
    ["are equal", ["v1", " v1 "], ["RULES OUT a redeploy", "Look for the computed name"]],
    ["are missing at the start", [undefined, "v2"], ["cannot say which cause this is"]],
    ["are missing now", ["v1", undefined], ["cannot say which cause this is"]],
  ] as const)(
    "code versions that %s say which cause it is, and refuse nothing by themselves",
    async (_name, versions, says) => {
      const pair = [...versions] as [string?, string?];
      const { error } = await redeploy(makeJournal, steps("a", "b"), steps("a", "new"), pair);
      for (const part of says) expect(error).toContain(part);
      expect((await redeploy(makeJournal, steps("a"), steps("a"), pair)).status).toBe("completed");
    },
  );

  test.each([
    ["new steps after a journal read to its end", steps("a", "b"), steps("a", "b", "c")],
    ["a step left out", steps("a", "b"), steps("a")],
    [
      "trap 3: a new step after reads that were answered",
      async (ctx: Ctx) => {
        await ctx.step("a", () => 1);
        await ctx.now();
        await ctx.waitFor("go");
      },
      async (ctx: Ctx) => {
        await ctx.step("a", () => 1);
        await ctx.now();
        await ctx.step("new", () => 1);
      },
    ],
    [
      "a step after an outer one, whose inner entry nobody reads",
      async (ctx: Ctx) => {
        await ctx.step("outer", () => ctx.step("inner", () => 1));
        await ctx.waitFor("go");
      },
      async (ctx: Ctx) => {
        await ctx.step("outer", () => ctx.step("inner", () => 1));
        await ctx.step("new", () => 1);
      },
    ],
    [
      "a read put in front of recorded steps",
      steps("a"),
      async (ctx: Ctx) => [await ctx.now(), await ctx.step("a", () => 1)],
    ],
  ] as [string, Body, Body][])("not accused: %s", async (_name, before, after) => {
    expect((await redeploy(makeJournal, before, after)).status).toBe("completed");
  });

  test("not accused: the gap that a crashed fan-out left, since that key was begun", async () => {
    const journal = makeJournal();
    const stop = new AbortController();
    const started = deferred();
    const body: Body = (ctx) =>
      Promise.all([
        ctx.step("slow", () =>
          stop.signal.aborted
            ? "second time"
            : started.promise.then(() => Promise.reject(stop.signal.reason)),
        ),
        ctx.step("quick", () => "quick"),
      ]);
    const { engine, start, keys } = scene(body, { journal });
    const runId = await start();
    const delivery = engine.execute(runId, stop.signal);
    await turns();
    stop.abort(new Error("killed"));
    started.resolve();
    await expect(soon(delivery)).rejects.toThrow("killed");
    expect(await keys(runId)).toEqual(["quick#0"]);
    expect(await engine.execute(runId)).toBe("completed");
    expect(await engine.readOutput(runId)).toEqual(["second time", "quick"]);
  });

  test("each fresh sibling of a fan-out is judged against the same entry", async () => {
    let ran = 0;
    const { status } = await redeploy(makeJournal, steps("a", "b"), (ctx) =>
      Promise.allSettled(["x", "y", "z"].map((name) => ctx.step(name, () => ++ran))),
    );
    expect([status, ran]).toEqual(["failed", 0]);
  });

  test("trap 2: a step answered late keeps its charge, and does not make a healthy run look diverged", async () => {
    const own = makeJournal();
    const released: string[] = [];
    let lateFor = "";
    const journal = {
      ...own,
      releaseAttempt: async (runId: string, key: string, holder: string) => {
        released.push(key);
        return own.releaseAttempt(runId, key, holder);
      },
      claimAttempt: async (runId: string, key: string, holder: string, leaseMs: number) => {
        if (key === "b#0" && lateFor === "") {
          lateFor = key;
          await own.claimAttempt(runId, key, "other", leaseMs);
          await own.appendStep(runId, {
            key,
            name: "b",
            status: "ok",
            output: "theirs",
            attempts: 1,
            finishedAt: Date.now(),
          });
        }
        return own.claimAttempt(runId, key, holder, leaseMs);
      },
    };
    let ran = 0;
    const { engine, run } = scene(
      async (ctx) => [
        await ctx.step("a", () => 1),
        await ctx.step("b", () => ++ran),
        await ctx.step("c", () => 3),
      ],
      { journal },
    );
    const { runId, status } = await run();
    expect([status, ran, released]).toEqual(["completed", 0, []]);
    expect(await engine.readOutput(runId)).toEqual([1, "theirs", 3]);
  });
});
