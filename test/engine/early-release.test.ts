/**
 * A step's result reaches the body before the disk: what if the disk then says no, says something else, or says nothing? No body may go on
 * to run a step on a value that is not the one that stands.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StoreError } from "../../src/events/store-error.ts";
import { createFaultLog, once, UNAVAILABLE } from "./fault-log.ts";
import { streamOf, workerOn } from "./log-order-replay.ts";
import { type Body, deferred, scene, soon, turns } from "./scene.ts";

const unhandled: unknown[] = [];
const remember = (error: unknown): void => {
  unhandled.push(error);
};
beforeAll(() => process.on("unhandledRejection", remember));
afterAll(() => {
  process.off("unhandledRejection", remember);
  expect(unhandled).toEqual([]);
});

/** Two steps, where the second one says which value of the first it was run on. */
const twoSteps = (mine: string, ranOn: string[]): Body => {
  return async (ctx) => {
    const value = await ctx.step("first", () => mine);
    return ctx.step("second", () => {
      ranOn.push(value);
      return `second after ${value}`;
    });
  };
};

const world = () => {
  const log = createFaultLog();
  const worker = (body: Body) => scene(body, { journal: workerOn(log, () => Date.now()), runId: "run" });
  return { log, worker };
};

describe("the append that records a result", () => {
  test("fails: the delivery rejects, the next step has not run, and the next delivery runs both", async () => {
    const { log, worker } = world();
    const ranOn: string[] = [];
    const { engine, start } = worker(twoSteps("value", ranOn));
    await start();
    log.fault = once("StepSettled", { refuse: UNAVAILABLE });
    await expect(engine.execute("run")).rejects.toSatisfy(StoreError.is);
    expect(ranOn).toEqual([]);
    expect(await engine.getRun("run")).toMatchObject({ status: "running" });
    expect(await engine.execute("run")).toBe("completed");
    expect(ranOn).toEqual(["value"]);
  });

  test("fails under the last step: the run does not complete", async () => {
    const { log, worker } = world();
    const { engine, start } = worker((ctx) => ctx.step("only", () => 1));
    await start();
    log.fault = once("RunCompleted", { refuse: UNAVAILABLE });
    await expect(engine.execute("run")).rejects.toSatisfy(StoreError.is);
    expect((await engine.getRun("run"))?.status).toBe("running");
    expect((await streamOf(log, "run")).map(({ type }) => type)).not.toContain("StepSettled");
    expect(await engine.execute("run")).toBe("completed");
  });

  test("W2: fails while the body only waits: the walk does not suspend as if all were well", async () => {
    const { log, worker } = world();
    const { engine, start } = worker(async (ctx) => {
      await Promise.all([ctx.waitFor("go"), ctx.step("only", () => 1)]);
    });
    await start();
    log.fault = once("StepSettled", { refuse: UNAVAILABLE });
    await expect(engine.execute("run")).rejects.toSatisfy(StoreError.is);
    expect(await engine.execute("run")).toBe("running");
    expect((await streamOf(log, "run")).filter(({ type }) => type === "StepSettled")).toHaveLength(1);
  });

  test("W2: fails, and a body that catches everything still cannot complete the run", async () => {
    const { log, worker } = world();
    const { engine, start } = worker(async (ctx) => {
      try {
        await ctx.step("first", () => 1);
        await ctx.step("second", () => 2);
      } catch {
        return "swallowed";
      }
      return "fine";
    });
    await start();
    log.fault = once("StepSettled", { refuse: UNAVAILABLE });
    await expect(engine.execute("run")).rejects.toSatisfy(StoreError.is);
    expect((await engine.getRun("run"))?.status).toBe("running");
  });

  test.each(["written", "lost"] as const)(
    "has an unknown outcome (%s): it is settled by a look, nothing runs twice",
    async (unknown) => {
      const { log, worker } = world();
      const ranOn: string[] = [];
      const { engine, start } = worker(twoSteps("value", ranOn));
      await start();
      log.fault = once("StepSettled", { unknown });
      expect(await soon(engine.execute("run"))).toBe("completed");
      expect(ranOn).toEqual(["value"]);
      const types = (await streamOf(log, "run")).map(({ type }) => type);
      expect(types.filter((type) => type === "StepSettled")).toHaveLength(2);
    },
  );

  test.each([
    "RunCreated",
    "AttemptClaimed",
    "RunCompleted",
    "TokenReserved",
    "HookOpened",
    "SleepScheduled",
  ])("unknown outcomes of %s, written or lost, change nothing in the end", async (type) => {
    for (const unknown of ["written", "lost"] as const) {
      const { log, worker } = world();
      const { engine, start } = worker(async (ctx) => {
        const first = await ctx.step("first", () => 1);
        await ctx.sleep("past", -1);
        return [first, await ctx.waitFor("go")];
      });
      log.fault = once(type, { unknown });
      await start();
      await soon(engine.execute("run"));
      expect(await engine.signal("go", 2)).toBe(true);
      await soon(engine.execute("run"));
      expect(await engine.readOutput("run")).toEqual([1, 2]);
    }
  });

  test("unknown for ever: the delivery rejects and names the run, instead of going round", async () => {
    const { log, worker } = world();
    const { engine, start } = worker(async (ctx) => ctx.waitFor("go"));
    await start();
    log.fault = ({ types }) => (types.includes("TokenReserved") ? { unknown: "lost" } : undefined);
    await expect(soon(engine.execute("run"))).rejects.toThrow(/"go".*"run"/);
    log.fault = ({ types }) => (types.includes("HookOpened") ? { unknown: "lost" } : undefined);
    await expect(soon(engine.execute("run"))).rejects.toThrow(/"run"/);
    log.fault = () => undefined;
    expect(await engine.execute("run")).toBe("running");
  });
});

describe("another worker settles the step first", () => {
  test("A1: the body that was told its own value runs nothing on it, and goes on with the value that stands", async () => {
    const { worker } = world();
    const ranOn: string[] = [];
    const bodies = [deferred(), deferred()];
    const body =
      (index: 0 | 1): Body =>
      async (ctx) => {
        const value = await ctx.step("first", async () => {
          await bodies[index]?.promise;
          return `of worker ${index}`;
        });
        return ctx.step("second", () => {
          ranOn.push(value);
          return value;
        });
      };
    const [slow, fast] = [worker(body(0)), worker(body(1))];
    await slow.start();
    const walks = [slow.engine.execute("run"), fast.engine.execute("run")];
    await turns();
    bodies[1]?.resolve();
    await turns();
    bodies[0]?.resolve();
    expect(await soon(Promise.all(walks))).toEqual(["completed", "completed"]);
    expect(new Set(ranOn)).toEqual(new Set(["of worker 1"]));
    expect(await fast.engine.readOutput("run")).toBe("of worker 1");
    expect(await slow.engine.readOutput("run")).toBe("of worker 1");
  });

  test("between the telling and the recording: the claim that rides along is refused", async () => {
    const { log, worker } = world();
    const ranOn: string[] = [];
    const { engine, start } = worker(twoSteps("mine", ranOn));
    await start();
    const other = workerOn(log, () => Date.now());
    log.fault = once("StepSettled", {
      before: () =>
        other.appendStep("run", {
          key: "first#0",
          name: "first",
          status: "ok",
          output: "theirs",
          attempts: 1,
          finishedAt: Date.now(),
        }),
    });
    expect(await soon(engine.execute("run"))).toBe("completed");
    expect(ranOn).toEqual(["theirs"]);
    expect(await engine.readOutput("run")).toBe("second after theirs");
  });

  test("a token is not reserved for a value that does not stand", async () => {
    const { log, worker } = world();
    const { engine, start } = worker(async (ctx) => {
      const token = await ctx.step("choose", () => "mine");
      return ctx.waitFor(token);
    });
    await start();
    const other = workerOn(log, () => Date.now());
    log.fault = once("StepSettled", {
      before: () =>
        other.appendStep("run", {
          key: "choose#0",
          name: "choose",
          status: "ok",
          output: "theirs",
          attempts: 1,
          finishedAt: Date.now(),
        }),
    });
    expect(await soon(engine.execute("run"))).toBe("running");
    const reserved = log.appends.filter(({ types }) => types.includes("TokenReserved"));
    expect(reserved.map(({ stream }) => stream)).toEqual(["hook-theirs"]);
    expect(await engine.signal("theirs", 1)).toBe(true);
  });

  test("while the body only waits: the walk is done again, with the value that stands", async () => {
    const { log, worker } = world();
    const seen: string[] = [];
    const { engine, start } = worker(async (ctx) => {
      const never = ctx.waitFor("never");
      const value = await ctx.step("first", () => turns(3).then(() => "mine"));
      seen.push(value);
      if (value === "theirs") return ctx.step("second", () => "went on");
      return never;
    });
    await start();
    const other = workerOn(log, () => Date.now());
    log.fault = once("StepSettled", {
      before: async () => {
        await turns(3);
        await other.appendStep("run", {
          key: "first#0",
          name: "first",
          status: "ok",
          output: "theirs",
          attempts: 1,
          finishedAt: Date.now(),
        });
      },
    });
    expect(await soon(engine.execute("run"))).toBe("completed");
    expect(seen).toEqual(["mine", "theirs"]);
  });
});

describe("trouble inside a step that holds another one", () => {
  test("A5: costs the outer step no try and is not recorded as its failure", async () => {
    const { log, worker } = world();
    let outer = 0;
    const { engine, start } = worker((ctx) =>
      ctx.step("outer", async () => {
        outer += 1;
        return ctx.step("inner", () => "in").catch(() => "swallowed");
      }),
    );
    await start();
    let settles = 0;
    log.fault = ({ types }) => {
      if (types.includes("StepSettled")) settles += 1;
      return types.includes("StepSettled") && settles === 1 ? { refuse: UNAVAILABLE } : undefined;
    };
    await expect(soon(engine.execute("run"))).rejects.toSatisfy(StoreError.is);
    expect(outer).toBe(1);
    expect((await streamOf(log, "run")).map(({ type }) => type)).not.toContain("StepSettled");
    expect(await engine.execute("run")).toBe("completed");
    expect(await engine.readOutput("run")).toBe("in");
  });
});

describe("a read that follows from a value which is not the one that stands", () => {
  const branching: Body = async (ctx) => {
    if ((await ctx.now()) % 2 === 0) await ctx.uuid();
    return ctx.step("after", () => "done");
  };

  test("is not recorded: the walk that takes the other branch does not meet it as a divergence", async () => {
    const log = createFaultLog();
    const { engine, start, keys } = scene(branching, {
      journal: workerOn(log, () => 1_000),
      clock: () => 1_000,
      runId: "run",
    });
    const other = workerOn(log, () => 1_001);
    const theirs = { key: "now!0", name: "now", status: "ok", output: 1_001, attempts: 0 } as const;
    log.fault = once("StepSettled", {
      before: () => other.appendStep("run", { ...theirs, startedAt: 1_001, finishedAt: 1_001 }),
    });
    await start();
    expect(await soon(engine.execute("run"))).toBe("completed");
    expect((await keys("run")).sort()).toEqual(["after#0", "now!0"]);
  });
});
