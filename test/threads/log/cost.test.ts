/** What threads on a log cost: appends, and events read. */
import { describe, expect, test } from "vitest";
import { logCheckpointer, type Workflow, workflow } from "../../../src/threads/index.ts";
import { counting, openLog, STORES, typesOf } from "./kit.ts";

const steps = (n: number, checkpointer: ReturnType<typeof logCheckpointer>): Workflow<number, number> =>
  workflow(
    async (_input: number, { step }) => {
      let sum = 0;
      for (let i = 0; i < n; i += 1) sum += await step("add", () => i);
      return sum;
    },
    { checkpointer },
  );

describe.each(STORES)("on a %s log", (store) => {
  test("a thread of n steps one after the other is n + 1 appends, each as large as its step", async () => {
    const log = counting(await openLog(store));
    const { output, status } = await steps(10, logCheckpointer(log)).invoke(0, { threadId: "t" });
    expect({ output, status }).toEqual({ output: 45, status: "completed" });
    expect(log.appends).toBe(11);
    const types = await typesOf(log, "t");
    expect(types).toEqual(["ThreadStarted", ...Array(10).fill("ThreadStepSettled"), "ThreadCompleted"]);
  });

  test("steps that settle together are written together, each with a checkpoint of its own", async () => {
    const log = counting(await openLog(store));
    const wide = workflow(
      async (_input: null, { step }) =>
        (await Promise.all(Array.from({ length: 100 }, (_, i) => step(`s${i}`, () => i)))).length,
      { checkpointer: logCheckpointer(log), maxConcurrency: 100 },
    );
    const { output } = await wide.invoke(null, { threadId: "t" });
    expect(output).toBe(100);
    expect(log.appends).toBeLessThanOrEqual(6);
    const history = await wide.history("t", 1_000);
    expect(history.map(({ step }) => step)).toEqual(Array.from({ length: 101 }, (_, i) => 101 - i));
    expect(history.map(({ state }) => Object.keys(state.steps as object).length)).toEqual([
      100,
      ...Array.from({ length: 100 }, (_, i) => 100 - i),
    ]);
  });

  test("a question is one append, and so is the answer with what follows it", async () => {
    const log = counting(await openLog(store));
    const ask = workflow((_input: null, { interrupt }) => interrupt<number>({ reason: "How many?" }), {
      checkpointer: logCheckpointer(log),
    });
    await ask.invoke(null, { threadId: "t" });
    expect(log.appends).toBe(1);
    const { output } = await ask.resumeWith("t", 3);
    expect(output).toBe(3);
    expect(log.appends).toBe(2);
  });
});

describe("reading a thread of 1,000 steps", () => {
  const EVENTS = 1_002;
  const thousand = async () => {
    const inner = await openLog("memory");
    await steps(1_000, logCheckpointer(inner)).invoke(0, { threadId: "t" });
    return inner;
  };

  test("once folded, state and history read no event again, and a new event once", async () => {
    const inner = await thousand();
    const log = counting(inner);
    const checkpointer = logCheckpointer(log);
    const thread = steps(1_000, checkpointer);
    expect((await thread.state("t"))?.status).toBe("completed");
    expect(log.eventsRead).toBe(EVENTS);
    for (const step of [1, 500, 1_000, 1_001]) expect((await thread.state("t", step))?.step).toBe(step);
    expect(await thread.history("t", 2_000)).toHaveLength(1_001);
    expect(log.eventsRead).toBe(EVENTS);
    for await (const _ of steps(1_000, logCheckpointer(inner)).continue("t"));
    expect((await thread.state("t"))?.step).toBe(1_002);
    expect(log.eventsRead).toBe(EVENTS + 2);
    expect(log.appends).toBe(0);
  });

  test("a writer does not read back what it wrote", async () => {
    const log = counting(await openLog("memory"));
    const thread = steps(100, logCheckpointer(log));
    await thread.invoke(0, { threadId: "t" });
    expect((await thread.state("t"))?.step).toBe(101);
    expect(await thread.history("t", 200)).toHaveLength(101);
    expect(log.eventsRead).toBe(0);
  });

  test("a history of n checkpoints makes no state that nobody looks at", async () => {
    const history = await logCheckpointer(await thousand()).history("t", 2_000);
    const made = (checkpoint: object): boolean =>
      "value" in (Object.getOwnPropertyDescriptor(checkpoint, "state") as PropertyDescriptor);
    expect(history.filter(made)).toEqual([]);
    expect(Object.keys(history[500]!.state.steps as object)).toHaveLength(501);
    expect(history.filter(made)).toEqual([history[500]]);
  });

  test("a run that goes on reads the thread once, and its steps not again", async () => {
    const log = counting(await thousand());
    for await (const _ of steps(1_010, logCheckpointer(log)).continue("t"));
    expect(log.eventsRead).toBe(EVENTS);
    expect(log.appends).toBe(11);
  });
});
