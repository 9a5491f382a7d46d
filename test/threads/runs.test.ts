/** Runs and what they store: numbering, starting over, continuing, aborting and draining. */
import { expect, test } from "vitest";
import { migrateCheckpoint, RunControl, type WorkflowContext, workflow } from "../../src/threads/index.ts";
import { failureOf, last, listed, listener, stepsIn } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { aborted, inTime, pause, withTimeAtRest } from "./time.ts";

withTimeAtRest();

onEach(STORES, "runs", (store) => {
  const twoSteps = (ran: string[] = []) =>
    workflow(
      async (input: string, { step }) => {
        const one = await step("one", () => {
          ran.push(`one ${input}`);
          return `${input}1`;
        });
        return step("two", () => {
          ran.push(`two ${input}`);
          return `${one}2`;
        });
      },
      { name: "pair", checkpointer: store().worker() },
    );

  test("19.4/1 a second invoke on a thread starts over, and the numbers go on", async () => {
    const ran: string[] = [];
    await twoSteps(ran).invoke("a", { threadId: "t" });
    expect((await twoSteps(ran).invoke("b", { threadId: "t" })).output).toBe("b12");
    expect(ran).toEqual(["one a", "two a", "one b", "two b"]);
    const history = await twoSteps().history("t");
    expect(history.map(({ step }) => step)).toEqual([6, 5, 4, 3, 2, 1]);
    expect(history.map((one) => [one.state.input, Object.keys(stepsIn(one)).length])).toEqual([
      ["b", 2],
      ["b", 2],
      ["b", 1],
      ["a", 2],
      ["a", 2],
      ["a", 1],
    ]);
    expect((await twoSteps().state("t", 3))?.state.output).toBe("a12");
    expect((await twoSteps().state("t", 4))?.state).not.toHaveProperty("output");
  });

  test("19.4/1 the question of the run before is given up", async () => {
    const asking = workflow(
      async (ask: boolean, { interrupt }) => (ask ? interrupt<string>({ reason: "well?" }) : "no question"),
      { checkpointer: store().worker() },
    );
    await asking.invoke(true, { threadId: "t" });
    expect((await asking.invoke(false, { threadId: "t" })).output).toBe("no question");
    expect(await failureOf(asking.resumeWith("t", "late"))).toMatchObject({ status: "completed" });
  });

  test("19.4/2 a run without steps writes one checkpoint", async () => {
    const empty = workflow((input: number) => input + 1, { checkpointer: store().worker() });
    const result = await empty.invoke(1, { threadId: "t" });
    expect(result).toMatchObject({ status: "completed", output: 2, steps: 0 });
    expect(await empty.history("t")).toEqual([
      {
        version: 2,
        id: "t:1",
        threadId: "t",
        step: 1,
        state: { input: 1, steps: {}, output: 2 },
        next: [],
        tasks: [],
        status: "completed",
        interrupts: [],
        resolved: {},
        createdAt: "2026-03-01T12:00:00.000Z",
        metadata: { graph: "workflow" },
      },
    ]);
  });

  test("19.4/3 two steps are three checkpoints, numbered from 1", async () => {
    await twoSteps().invoke("a", { threadId: "t" });
    const history = (await twoSteps().history("t")).reverse();
    expect(history.map(({ id, step, status, next, tasks }) => ({ id, step, status, next, tasks }))).toEqual([
      { id: "t:1", step: 1, status: "running", next: ["pair"], tasks: [{ id: "pair", node: "pair" }] },
      { id: "t:2", step: 2, status: "running", next: ["pair"], tasks: [{ id: "pair", node: "pair" }] },
      { id: "t:3", step: 3, status: "completed", next: [], tasks: [] },
    ]);
    expect(history.map(({ interrupts, threadId, version }) => [interrupts, threadId, version])).toEqual(
      Array(3).fill([[], "t", 2]),
    );
    for (const absent of ["completed", "gotos", "breakpoint", "recovered", "error", "drained"]) {
      for (const checkpoint of history) expect(checkpoint).not.toHaveProperty(absent);
    }
  });

  test("19.4/4 a state is the latest or the one asked for, and a history is as long as asked for", async () => {
    const reader = twoSteps();
    await reader.invoke("a", { threadId: "t" });
    expect((await reader.state("t", 1))?.state).toEqual({ input: "a", steps: { one: { value: "a1" } } });
    expect((await reader.state("t"))?.step).toBe(3);
    expect(await reader.state("t", 99)).toBeUndefined();
    expect(await reader.state("t", 0)).toBeUndefined();
    expect((await reader.history("t", 2)).map(({ step }) => step)).toEqual([3, 2]);
    expect(await reader.state("nobody")).toBeUndefined();
    expect(await reader.history("nobody")).toEqual([]);
  });

  test.each(["", " spaced ", "t#2", "a/b:c?d&e=%20", "ünïcode ✓"])(
    "a thread id is taken as it is: %j",
    async (threadId) => {
      expect((await twoSteps().invoke("a", { threadId })).threadId).toBe(threadId);
      expect(await twoSteps().state(threadId)).toMatchObject({ threadId, step: 3, id: `${threadId}:3` });
      expect(await twoSteps().state(`${threadId}x`)).toBeUndefined();
    },
  );

  test("a thread without an id is given one of its own", async () => {
    const ids = [await twoSteps().invoke("a"), await twoSteps().invoke("a")].map(({ threadId }) => threadId);
    expect(ids[0]).toMatch(/^thread-/);
    expect(ids[0]).not.toBe(ids[1]);
    expect((await twoSteps().state(ids[1]!))?.status).toBe("completed");
  });

  test("F6 nobody can continue or resume a thread that is not there", async () => {
    const reader = twoSteps();
    for (const events of [
      reader.continue("nobody"),
      reader.resume("nobody", 1),
      reader.resumeInterrupts("nobody", {}),
    ]) {
      expect(await failureOf(listed(events))).toMatchObject({
        name: "GraphThreadNotFoundError",
        code: "GRAPH_THREAD_NOT_FOUND",
        threadId: "nobody",
      });
    }
    expect(await reader.history("nobody")).toEqual([]);
  });

  test.each(["running", "failed", "interrupted", "completed"] as const)(
    "F8 a thread that is %s cannot be resumed",
    async (status) => {
      const stop = new AbortController();
      const ending = workflow(
        async (_: undefined, { step }) => {
          await step("one", () => 1);
          if (status === "failed") throw new Error("broken");
          if (status === "interrupted") stop.abort();
        },
        { checkpointer: store().worker() },
      );
      await ending.invoke(undefined, { threadId: "t", signal: stop.signal }).catch(() => {});
      const checkpointer = store().worker();
      if (status === "running") {
        await checkpointer.put(migrateCheckpoint((await checkpointer.get("t", 1))!));
      }
      expect((await ending.state("t"))?.status).toBe(status);
      for (const events of [ending.resume("t", 1), ending.resumeInterrupts("t", {})]) {
        expect(await failureOf(listed(events))).toMatchObject({
          name: "GraphNotInterruptedError",
          code: "GRAPH_NOT_INTERRUPTED",
          threadId: "t",
          status,
        });
      }
    },
  );

  test("19.4/6 what a step throws reaches the caller as it is, and is recorded by name and message", async () => {
    const thrown = new RangeError("out of reach");
    const failing = (error: unknown) =>
      workflow(
        (_: undefined, { step }) =>
          step("fails", () => {
            throw error;
          }),
        { checkpointer: store().worker() },
      );
    expect(await failureOf(failing(thrown).invoke(undefined, { threadId: "t" }))).toBe(thrown);
    expect(await failureOf(listed(failing(thrown).continue("t")))).toBe(thrown);
    expect(await failing(thrown).state("t")).toMatchObject({
      step: 2,
      status: "failed",
      error: { name: "RangeError", message: "out of reach" },
      next: ["workflow"],
    });
    expect(await failureOf(failing("plain text").invoke(undefined, { threadId: "s" }))).toBe("plain text");
    expect((await failing("").state("s"))?.error).toEqual({ name: "Error", message: "plain text" });
  });

  test("19.4/18 a signal that aborted before the start interrupts the run, and no step body runs", async () => {
    const ran: string[] = [];
    const signal = AbortSignal.abort(new Error("too early"));
    const result = await twoSteps(ran).invoke("a", { threadId: "t", signal });
    expect([result.status, ran]).toEqual(["interrupted", []]);
    expect(await twoSteps().history("t")).toMatchObject([{ step: 1, status: "interrupted", interrupts: [] }]);
    expect(await last(twoSteps(ran).continue("t"))).toMatchObject({ output: "a12" });
  });

  test("steps that end after the abort are recorded, and what the function returns is dropped", async () => {
    const stop = new AbortController();
    const reasons: unknown[] = [];
    const reason = new Error("closing time");
    const stopping = workflow(
      async (_: undefined, { step, signal }) => {
        signal.addEventListener("abort", () => reasons.push(signal.reason));
        await Promise.all([
          step("stops", () => pause(1).then(() => stop.abort(reason))),
          step("hears", ({ signal: own }) => aborted(own).then(() => void reasons.push(own.reason))),
          step("deaf", () => pause(5).then(() => "deaf")),
        ]);
        return "not wanted";
      },
      { checkpointer: store().worker() },
    );
    const result = await inTime(stopping.invoke(undefined, { threadId: "t", signal: stop.signal }));
    expect(result).toMatchObject({ status: "interrupted", steps: 3 });
    expect(result).not.toHaveProperty("output");
    expect(reasons).toEqual([reason, reason]);
    expect((await stopping.state("t"))?.state).not.toHaveProperty("output");
    expect(await last(stopping.continue("t"))).toMatchObject({ type: "done", output: "not wanted" });
  });

  test("an abort swallows what the function throws", async () => {
    const stop = new AbortController();
    const stopping = workflow(
      async () => {
        stop.abort();
        throw new Error("swallowed");
      },
      { checkpointer: store().worker() },
    );
    const events = await listed(stopping.stream(undefined, { threadId: "t", signal: stop.signal }));
    expect(events).toEqual([
      { type: "interrupt", step: 1, state: { input: undefined, steps: {} }, status: "interrupted" },
    ]);
    expect(await stopping.state("t")).not.toHaveProperty("error");
  });

  test("19.4/20 a drain that was asked for before the start refuses the first step", async () => {
    const ran: string[] = [];
    const drained = await failureOf(
      twoSteps(ran).invoke("a", { threadId: "t", control: { draining: true, reason: "" } }),
    );
    expect(drained).toMatchObject({ name: "GraphDrainedError", threadId: "t", step: 1 });
    expect(ran).toEqual([]);
    const [only, ...others] = await twoSteps().history("t");
    expect(others).toEqual([]);
    expect(only).toMatchObject({ step: 1, status: "interrupted", state: { input: "a", steps: {} } });
    expect(only?.drained).toEqual({ at: "2026-03-01T12:00:00.000Z" });
  });

  test("19.4/20 a drain does not stop a run that needs no further step", async () => {
    const ran: string[] = [];
    await twoSteps(ran).invoke("a", { threadId: "t" });
    const control = { draining: true, reason: "scale down" };
    expect(await last(twoSteps(ran).continue("t", { control }))).toMatchObject({
      type: "done",
      output: "a12",
    });
    expect(ran).toHaveLength(2);
  });

  test("19.4/21 a drain refuses the steps that wait for a slot, too", async () => {
    const ran: string[] = [];
    const control = new RunControl();
    const queued = workflow(
      async (_: undefined, { step }: WorkflowContext) => {
        const one = (name: string) =>
          step(name, async () => {
            ran.push(name);
            control.drain("scale down");
            await pause(1);
            return name;
          });
        return Promise.all(["a", "b", "c"].map(one));
      },
      { maxConcurrency: 1, checkpointer: store().worker() },
    );
    expect(await failureOf(inTime(queued.invoke(undefined, { threadId: "t", control })))).toMatchObject({
      name: "GraphDrainedError",
      reason: "scale down",
      step: 2,
    });
    expect(ran).toEqual(["a"]);
    expect(await inTime(last(queued.continue("t")))).toMatchObject({ output: ["a", "b", "c"] });
    expect(ran).toEqual(["a", "b", "c"]);
  });

  test("19.4/35 the clock that is given dates checkpoints, questions and drains", async () => {
    let ticks = 0;
    const now = () => new Date(Date.UTC(2030, 0, 1, 0, 0, ticks++));
    const dated = workflow(
      async (_: undefined, { step, interrupt }) => {
        interrupt({ reason: "well?" });
        await step("one", () => 1);
      },
      { now, checkpointer: store().worker() },
    );
    const asked = await dated.invoke(undefined, { threadId: "t" });
    expect(asked.interrupt?.requestedAt).toMatch(/^2030-01-01T00:00:0\d\.000Z$/);
    const control = { draining: true };
    await failureOf(listed(dated.resume("t", 1, { control })));
    const [drained, waiting] = await dated.history("t");
    expect([waiting?.createdAt, drained?.createdAt, drained?.drained?.at]).toEqual(
      Array(3).fill(expect.stringMatching(/^2030-01-01T00:00:0\d\.000Z$/)),
    );
    expect(Date.parse(drained!.createdAt)).toBeGreaterThan(Date.parse(waiting!.createdAt));
  });

  test("19.4/32 a step that nobody awaits is recorded before the end", async () => {
    const ran: string[] = [];
    const { heard, onEvent } = listener();
    const forgetful = workflow(
      (_: undefined, { step }) => {
        void step("forgotten", () => pause(5).then(() => ran.push("forgotten")));
        return "done";
      },
      { checkpointer: store().worker() },
    );
    const result = await inTime(forgetful.invoke(undefined, { threadId: "t", onEvent }));
    expect(result).toMatchObject({ output: "done", state: { steps: { forgotten: { value: 1 } } } });
    expect(heard.filter(({ type }) => type === "checkpoint")).toMatchObject([
      { step: 1, status: "running" },
      { step: 2, status: "completed" },
    ]);
    await listed(forgetful.continue("t"));
    expect(ran).toEqual(["forgotten"]);
  });

  test("19.4/32 the failure of a step that nobody awaits does not fail the run", async () => {
    const forgetful = workflow(
      (_: undefined, { step }) => {
        void step("forgotten", () => Promise.reject(new Error("nobody hears")));
        return "done";
      },
      { checkpointer: store().worker() },
    );
    const result = await forgetful.invoke(undefined, { threadId: "t" });
    expect(result).toMatchObject({ status: "completed", output: "done", steps: 0 });
  });
});

test("19.4/25 without a checkpointer a run answers, and there is nothing to continue", async () => {
  const ran: string[] = [];
  const unrecorded = workflow(
    async (input: number, { step }) => {
      ran.push("run");
      return (await step("one", () => input + 1)) + (await step("one", () => 10));
    },
    { checkpointer: false },
  );
  const events = await listed(unrecorded.stream(1, { threadId: "t" }));
  expect(events.map(({ type, step }) => [type, step])).toEqual([
    ["step", 1],
    ["step", 2],
    ["done", 3],
  ]);
  expect((await unrecorded.invoke(1, { threadId: "t" })).output).toBe(12);
  expect(await unrecorded.state("t")).toBeUndefined();
  expect(await unrecorded.history("t")).toEqual([]);
  for (const run of [unrecorded.continue("t"), unrecorded.resume("t", 1)]) {
    expect(await failureOf(listed(run))).toMatchObject({ name: "GraphThreadNotFoundError", threadId: "t" });
  }
  expect(ran).toHaveLength(2);
});

test("19.4/34 a workflow describes itself as a graph of one node", () => {
  expect(workflow(() => 1, { name: "refunds" }).describe()).toEqual({
    name: "refunds",
    nodes: [{ id: "refunds" }],
    edges: [
      { from: "__start__", to: "refunds" },
      { from: "refunds", to: "__end__" },
    ],
    dynamic: [],
  });
});
