/**
 * A walk that is parked on a wait while a step of it is still running goes on as soon as the wait is over: a deadline beats a slow step,
 * and a signal is heard, without waiting for that step and without a second walk.
 */
import { describe, expect, it } from "vitest";
import { elapseDue } from "../../src/engine/decide/sleeps.ts";
import {
  createJournal,
  createMemoryStreams,
  createWorkflowEngine,
  openRunIndex,
  type RunEvent,
  type WorkflowContext,
  workflow,
} from "../../src/index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";

/** Everything this turn set off has come to rest, so that the body is parked. */
const parked = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type Body = (ctx: WorkflowContext) => Promise<unknown>;

/** A step that runs until it is let go. */
const held = () => {
  let letGo: (value: string) => void = () => {};
  let began: () => void = () => {};
  const running = new Promise<void>((resolve) => {
    began = resolve;
  });
  const value = new Promise<string>((resolve) => {
    letGo = resolve;
  });
  return {
    letGo,
    running,
    fn: () => {
      began();
      return value;
    },
  };
};

const world = (body: Body) => {
  let now = 1_000;
  let walks = 0;
  const clock = (): number => now;
  const log = createMemoryLog({ clock });
  const journal = createJournal(log, { index: () => openRunIndex(log), clock });
  const engine = createWorkflowEngine({
    workflows: {
      it: workflow({
        run: (_input, ctx) => {
          walks += 1;
          return body(ctx);
        },
      }),
    },
    journal,
    streams: createMemoryStreams(),
    dispatch: () => {},
    newRunId: () => "run",
    clock,
  });
  return {
    engine,
    walks: () => walks,
    start: async () => {
      await engine.start("it", [{}]);
      return engine.execute("run");
    },
    /** What the timers of a worker do when a deadline has passed. */
    elapse: async (ms: number) => {
      now += ms;
      await journal.sessions.get("run").propose(elapseDue(now));
    },
    types: async () => {
      const types: RunEvent["type"][] = [];
      for await (const { type } of log.read("run-run")) types.push(type as RunEvent["type"]);
      return types;
    },
    /** The same stream walked from the top in a fresh process. */
    replay: async () => {
      const copy = createMemoryLog({ clock });
      for await (const event of log.readAll()) {
        if (event.type !== "RunCompleted") await copy.append(event.stream, "any", [event])();
      }
      const fresh = createWorkflowEngine({
        workflows: { it: workflow({ run: (_input, ctx) => body(ctx) }) },
        journal: createJournal(copy, { index: () => openRunIndex(copy), clock }),
        streams: createMemoryStreams(),
        dispatch: () => {},
        clock,
      });
      await fresh.execute("run");
      return fresh.readOutput("run");
    },
  };
};

describe("a wait that is over while a step runs", () => {
  it("a deadline wins a race against a slow step at once, live and on replay", async () => {
    const slow = held();
    const { start, elapse, engine, walks, replay } = world((ctx) =>
      Promise.race([ctx.step("slow", slow.fn), ctx.sleep("limit", 300).then(() => "too late")]),
    );
    const delivered = start();
    await slow.running;
    await elapse(300);
    expect(await delivered).toBe("completed");
    expect(await engine.readOutput("run")).toBe("too late");
    expect(walks()).toBe(1);
    slow.letGo("done");
    expect(await replay()).toBe("too late");
  });

  it("N3: a signal is heard while a step runs, and the body goes on with both", async () => {
    const slow = held();
    const heard: string[] = [];
    const { start, engine, walks, types } = world(async (ctx) => {
      const work = ctx.step("slow", slow.fn);
      heard.push(await ctx.waitFor<string>("word"));
      await ctx.step("note", () => "noted");
      return [heard[0], await work];
    });
    const delivered = start();
    await slow.running;
    await parked();
    expect(await engine.signal("word", "hello")).toBe(true);
    await expect.poll(types).toContain("StepSettled");
    expect(heard).toEqual(["hello"]);
    slow.letGo("done");
    expect(await delivered).toBe("completed");
    expect(await engine.readOutput("run")).toEqual(["hello", "done"]);
    expect(walks()).toBe(1);
  });

  it("a window closes while a step runs, once and for good", async () => {
    const slow = held();
    const { start, elapse, engine, walks, types } = world(async (ctx) => {
      const work = ctx.step("slow", slow.fn);
      const answer = await ctx.waitFor("late", { timeoutMs: 50 });
      await ctx.step("note", () => answer === undefined);
      return work;
    });
    const delivered = start();
    await slow.running;
    await elapse(50);
    await expect.poll(types).toContain("HookClosed");
    expect(await engine.signal("late", "too late")).toBe(false);
    slow.letGo("done");
    expect(await delivered).toBe("completed");
    expect(walks()).toBe(1);
  });

  it("of a signal and a deadline the first one counts, and the other one changes nothing", async () => {
    const slow = held();
    const { start, elapse, engine, types } = world(async (ctx) => {
      const work = ctx.step("slow", slow.fn);
      const answer = await ctx.waitFor<string>("word", { timeoutMs: 50 });
      return [answer, await work];
    });
    const delivered = start();
    await slow.running;
    await engine.signal("word", "in time");
    await elapse(50);
    slow.letGo("done");
    expect(await delivered).toBe("completed");
    expect(await engine.readOutput("run")).toEqual(["in time", "done"]);
    expect(await types()).not.toContain("HookClosed");
  });

  it("N3: one that ends in the turn in which the step settles comes in the order of the stream", async () => {
    for (const signalFirst of [true, false]) {
      const slow = held();
      const { start, engine, replay } = world((ctx) =>
        Promise.race([ctx.step("slow", slow.fn), ctx.waitFor<string>("word")]),
      );
      const delivered = start();
      await slow.running;
      if (signalFirst) void engine.signal("word", "signal");
      slow.letGo("step");
      if (!signalFirst) void engine.signal("word", "signal");
      expect(await delivered).toBe("completed");
      expect(await replay()).toBe(await engine.readOutput("run"));
    }
  });

  it("a walk that has suspended leaves it to the next delivery", async () => {
    const { start, engine, walks } = world((ctx) => ctx.waitFor<string>("word"));
    expect(await start()).toBe("running");
    await engine.signal("word", "hello");
    expect(walks()).toBe(1);
    expect(await engine.execute("run")).toBe("completed");
    expect(walks()).toBe(2);
  });
});
