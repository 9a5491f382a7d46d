/** `logCheckpointer` as a checkpointer like any other, and as one that is told changes. */
import { describe, expect, test } from "vitest";
import { StoreError } from "../../../src/events/store-error.ts";
import { type ChangeCheckpointer, OPEN_THREAD } from "../../../src/threads/checkpoint-writer.ts";
import type { GraphCheckpoint, GraphCheckpointV1 } from "../../../src/threads/graph-types.ts";
import { logCheckpointer } from "../../../src/threads/log/log-checkpointer.ts";
import { ThreadConflictError } from "../../../src/threads/log/thread-conflict-error.ts";
import { createFaultLog, once, UNAVAILABLE } from "../../engine/fault-log.ts";
import { created, put as putEvents } from "../../projections/scene.ts";
import { counting, eventsOf, invoked, openLog, plain, STORES, settled, ThreadModel, typesOf } from "./kit.ts";

const open = (log: Parameters<typeof logCheckpointer>[0], threadId = "t") =>
  (logCheckpointer(log) as unknown as ChangeCheckpointer)[OPEN_THREAD](threadId);

const graphCheckpoint = (step: number, more: Partial<GraphCheckpoint> = {}): GraphCheckpoint => ({
  version: 2,
  id: `g:${step}`,
  threadId: "g",
  step,
  state: { messages: [`m${step}`], at: new Date(0), seen: new Set([1n]) },
  next: ["plan", "act"],
  tasks: [
    { id: "plan", node: "plan" },
    { id: "act", node: "act", input: { n: step } },
  ],
  completed: ["start"],
  gotos: { plan: ["act", { node: "end", input: 1 }] },
  breakpoint: { when: "before", nodes: ["act"] },
  status: "running",
  interrupts: [],
  createdAt: "2026-01-01T00:00:00.000Z",
  metadata: { graph: "agent" },
  ...more,
});

describe.each(STORES)("on a %s log, a checkpointer", (store) => {
  test("answers whole checkpoints as they were put, whatever is in them", async () => {
    const log = await openLog(store);
    const checkpointer = logCheckpointer(log);
    await checkpointer.put(graphCheckpoint(0));
    await checkpointer.put(graphCheckpoint(1, { status: "failed", error: { name: "E", message: "m" } }));
    expect(plain(await checkpointer.get("g"))).toStrictEqual(
      graphCheckpoint(1, { status: "failed", error: { name: "E", message: "m" } }),
    );
    expect(plain(await logCheckpointer(log).get("g", 0))).toStrictEqual(graphCheckpoint(0));
    expect(await checkpointer.get("g", 2)).toBeUndefined();
    expect(await checkpointer.get("nobody")).toBeUndefined();
    expect(await checkpointer.history("nobody")).toEqual([]);
    expect(await checkpointer.threadIds()).toEqual(["g"]);
  });

  test("drops the checkpoints of the same number and later ones when one is put", async () => {
    const checkpointer = logCheckpointer(await openLog(store));
    for (const step of [1, 2, 3, 4]) await checkpointer.put(graphCheckpoint(step));
    await checkpointer.put(graphCheckpoint(2, { status: "interrupted" }));
    const history = await checkpointer.history("g");
    expect(history.map(({ step, status }) => [step, status])).toEqual([
      [2, "interrupted"],
      [1, "running"],
    ]);
    expect(await checkpointer.get("g", 3)).toBeUndefined();
  });

  test("answers a history newest first, 20 of it unless told otherwise", async () => {
    const checkpointer = logCheckpointer(await openLog(store));
    for (let step = 1; step <= 25; step += 1) await checkpointer.put(graphCheckpoint(step));
    const numbers = async (limit?: number) =>
      (await checkpointer.history("g", limit)).map(({ step }) => step);
    expect(await numbers()).toEqual(Array.from({ length: 20 }, (_, at) => 25 - at));
    expect(await numbers(2)).toEqual([25, 24]);
    expect(await numbers(0)).toEqual([]);
    expect(await numbers(Number.POSITIVE_INFINITY)).toHaveLength(25);
  });

  test("answers a checkpoint of schema 1 as one of schema 2", async () => {
    const checkpointer = logCheckpointer(await openLog(store));
    const question = {
      id: "q",
      node: "ask",
      reason: "Go on?",
      step: 0,
      index: 0,
      requestedAt: "2026-01-01T00:00:00.000Z",
    };
    const { version: _v, id: _id, tasks: _t, interrupts: _i, ...rest } = graphCheckpoint(3);
    const first: GraphCheckpointV1 = { ...rest, status: "awaiting_input", interrupt: question };
    await checkpointer.put(first as unknown as GraphCheckpoint);
    const read = await checkpointer.get("g");
    expect(read).toMatchObject({
      version: 2,
      id: "g:3",
      tasks: [
        { id: "plan", node: "plan" },
        { id: "act", node: "act" },
      ],
      interrupts: [question],
    });
    expect(read).not.toHaveProperty("interrupt");
  });

  test("goes on by changes from a checkpoint that was put whole", async () => {
    const log = await openLog(store);
    const model = new ThreadModel("t");
    model.next({ status: "running", begins: invoked(), settled: settled("load", { total: 5 }) });
    const asked = model.next({ status: "awaiting_input", reasons: ["Refund 5?"] }).whole();
    await logCheckpointer(log).put(asked);
    const { latest, write } = await open(log);
    expect(plain(latest)).toEqual(asked);
    const answers = new Map([["refunds:interrupt:0", true]]);
    await write([
      model.next({
        status: "running",
        begins: { from: "resume", input: undefined },
        answers,
        settled: settled("refund"),
      }),
    ]);
    await write([model.next({ status: "completed", output: { value: "done" } })]);
    const history = await logCheckpointer(log).history("t");
    expect(history.map((one) => plain(one))).toEqual(model.checkpoints.slice(1).reverse());
    expect(history[0]?.state).toEqual({
      input: { order: 1 },
      steps: { load: { value: { total: 5 } }, refund: {} },
      output: "done",
    });
  });

  test("writes each change as its facts, in one append", async () => {
    const log = counting(await openLog(store));
    const model = new ThreadModel("t");
    const { latest, write } = await open(log);
    expect(latest).toBeUndefined();
    await write([model.next({ status: "running", begins: invoked(), settled: settled("load", 1) })]);
    await write([model.next({ status: "running", settled: settled("load#2", 2) })]);
    await write([model.next({ status: "awaiting_input", reasons: ["a?", "b?"] })]);
    expect(log.appends).toBe(3);
    expect(await typesOf(log, "t")).toEqual([
      "ThreadStarted",
      "ThreadStepSettled",
      "ThreadStepSettled",
      "ThreadQuestionAsked",
      "ThreadQuestionAsked",
      "ThreadPaused",
    ]);
    const resumed = await open(log);
    expect(plain(resumed.latest)).toEqual(model.latest);
    await resumed.write([
      model.next({
        status: "failed",
        begins: { from: "resume", input: { order: 1 } },
        answers: new Map([["refunds:interrupt:0", false]]),
        error: { name: "TypeError", message: "no" },
      }),
    ]);
    expect((await eventsOf(log, "t")).slice(6)).toMatchObject([
      { type: "ThreadAnswered", data: { id: "refunds:interrupt:0", answer: { json: false } } },
      { type: "ThreadContinued", data: { workflow: "refunds" } },
      { type: "ThreadFailed", data: { checkpoint: 4, error: { name: "TypeError", message: "no" } } },
    ]);
    expect(log.appends).toBe(4);
  });

  test("a recorded start is a checkpoint before any step", async () => {
    const log = await openLog(store);
    const model = new ThreadModel("t");
    const { write } = await open(log);
    await write([model.next({ status: "running", begins: invoked({ at: new Date(5) }) })]);
    expect(await typesOf(log, "t")).toEqual(["ThreadStarted"]);
    expect(plain(await logCheckpointer(log).get("t"))).toEqual(model.latest);
    expect((await logCheckpointer(log).get("t", 1))?.state).toEqual({
      input: { at: new Date(5) },
      steps: {},
    });
  });

  test("the second of two who carry on one thread is told, and nothing is overwritten", async () => {
    const log = await openLog(store);
    const model = new ThreadModel("t");
    await (await open(log)).write([
      model.next({ status: "running", begins: invoked(), settled: settled("a", 1) }),
    ]);
    const first = await open(log);
    const second = await open(log);
    const begins = { from: "continue", input: undefined } as const;
    await first.write([model.next({ status: "running", begins, settled: settled("b", "first") })]);
    const rival = new ThreadModel("t");
    rival.put(model.checkpoints[0] as GraphCheckpoint);
    await expect(
      second.write([rival.next({ status: "running", begins, settled: settled("b", "second") })]),
    ).rejects.toMatchObject({
      name: "ThreadConflictError",
      code: "THREAD_CONFLICT",
      threadId: "t",
      revision: 1,
    });
    expect((await logCheckpointer(log).history("t")).map((one) => plain(one))).toEqual(
      [...model.checkpoints].reverse(),
    );
    await first.write([model.next({ status: "completed", output: {} })]);
    expect(plain(await logCheckpointer(log).get("t"))).toEqual(model.latest);
  });
});

describe("what a checkpointer hands out", () => {
  test("is the reader's own: changing it changes neither the thread nor other readers' copies", async () => {
    const log = await openLog("memory");
    const checkpointer = logCheckpointer(log);
    const model = new ThreadModel("t");
    const { write } = await (checkpointer as unknown as ChangeCheckpointer)[OPEN_THREAD]("t");
    await write([
      model.next({ status: "running", begins: invoked({ n: 1 }), settled: settled("a", { m: [1] }) }),
    ]);
    const one = (await checkpointer.get("t")) as GraphCheckpoint;
    const two = (await checkpointer.get("t")) as GraphCheckpoint;
    (one.state.steps as Record<string, { value: { m: number[] } }>).a!.value.m.push(2);
    (one.state.input as { n: number }).n = 2;
    one.interrupts.push({} as never);
    one.state = {};
    expect(plain(two)).toEqual(model.latest);
    expect(plain(await checkpointer.get("t"))).toEqual(model.latest);
  });

  test("holds steps of any name", async () => {
    const log = await openLog("memory");
    const model = new ThreadModel("t");
    const { write } = await open(log);
    await write([model.next({ status: "running", begins: invoked(), settled: settled("__proto__", 1) })]);
    await write([model.next({ status: "running", settled: settled("constructor", 2) })]);
    const steps = (await logCheckpointer(log).get("t"))?.state.steps as object;
    expect(Object.entries(steps)).toEqual([
      ["__proto__", { value: 1 }],
      ["constructor", { value: 2 }],
    ]);
    expect(Object.getPrototypeOf(steps)).toBe(Object.prototype);
  });

  test("holds how a step was recovered", async () => {
    const log = await openLog("memory");
    const model = new ThreadModel("t");
    const recovered = { error: { name: "Error", message: "declined" }, attempts: 2 };
    const { write } = await open(log);
    await write([
      model.next({
        status: "running",
        begins: invoked(),
        settled: { name: "charge", key: "charge", record: { value: null, recovered } },
      }),
    ]);
    expect((await logCheckpointer(log).get("t"))?.state.steps).toEqual({
      charge: { value: null, recovered },
    });
  });
});

describe("refusals and failures", () => {
  test("a checkpoint that is none is refused, and nothing is written", async () => {
    const log = await openLog("memory");
    const checkpointer = logCheckpointer(log);
    await expect(checkpointer.put(graphCheckpoint(1.5))).rejects.toThrow(/its step is 1.5/);
    await expect(checkpointer.put(graphCheckpoint(1, { status: "lost" as "failed" }))).rejects.toThrow(
      TypeError,
    );
    await expect(checkpointer.put(graphCheckpoint(1, { state: { f: () => {} } }))).rejects.toThrow(
      /^checkpoint\.state\.f: /,
    );
    expect(await log.head()).toBeUndefined();
  });

  test("a result that cannot be stored is refused with its place, and nothing is written", async () => {
    const log = await openLog("memory");
    const model = new ThreadModel("t");
    const { write } = await open(log);
    const change = model.next({
      status: "running",
      begins: invoked(),
      settled: settled("load", { f: () => {} }),
    });
    await expect(write([change])).rejects.toMatchObject({ name: "PayloadError", path: "steps.load.f" });
    expect(await log.head()).toBeUndefined();
  });

  test("a run of the engine is no thread", async () => {
    const log = await openLog("memory");
    await putEvents(log, "r1", created());
    const failure = logCheckpointer(log).get("r1");
    await expect(failure).rejects.toThrow(
      /the stream belongs to a run, of the workflow engine or of the Workflow SDK/,
    );
    await expect(logCheckpointer(log).put(graphCheckpoint(1, { threadId: "r1" }))).rejects.toSatisfy(
      StoreError.is,
    );
  });

  test("an append whose outcome is unknown is looked for, and written once", async () => {
    for (const outcome of ["written", "lost"] as const) {
      const log = createFaultLog();
      log.fault = once("ThreadStepSettled", { unknown: outcome });
      const model = new ThreadModel("t");
      const { write } = await open(log);
      await write([model.next({ status: "running", begins: invoked(), settled: settled("a", 1) })]);
      await write([model.next({ status: "completed", output: {} })]);
      expect(await typesOf(log, "t"), outcome).toEqual([
        "ThreadStarted",
        "ThreadStepSettled",
        "ThreadCompleted",
      ]);
    }
  });

  test("a store that never says whether it wrote is the operator's matter", async () => {
    const log = createFaultLog();
    log.fault = () => ({ unknown: "lost" });
    const { write } = await open(log);
    const change = new ThreadModel("t").next({
      status: "running",
      begins: invoked(),
      settled: settled("a", 1),
    });
    await expect(write([change])).rejects.toMatchObject({ error: { _tag: "UnknownOutcome" } });
    expect(log.appends).toHaveLength(6);
  });

  test("an append that is lost while somebody else writes is a conflict", async () => {
    const log = createFaultLog();
    const model = new ThreadModel("t");
    const { write } = await open(log);
    log.fault = once("ThreadStepSettled", {
      before: async () => {
        log.fault = () => undefined;
        await logCheckpointer(log).put(graphCheckpoint(1, { threadId: "t" }));
      },
    });
    const change = model.next({ status: "running", begins: invoked(), settled: settled("a", 1) });
    await expect(write([change])).rejects.toSatisfy(ThreadConflictError.is);
    expect(await typesOf(log, "t")).toEqual(["ThreadCheckpointPut"]);
  });

  test("a checkpoint that is put goes on top of what somebody else wrote meanwhile", async () => {
    const log = createFaultLog();
    log.fault = once("ThreadCheckpointPut", {
      before: async () => {
        log.fault = () => undefined;
        await logCheckpointer(log).put(graphCheckpoint(1, { status: "failed" }));
      },
    });
    await logCheckpointer(log).put(graphCheckpoint(1, { status: "completed" }));
    expect((await logCheckpointer(log).history("g")).map(({ status }) => status)).toEqual(["completed"]);
    expect(await typesOf(log, "g")).toEqual(["ThreadCheckpointPut", "ThreadCheckpointPut"]);
  });

  test("trouble with the store is said with the thread's name", async () => {
    const log = createFaultLog();
    log.fault = () => ({ refuse: UNAVAILABLE });
    const { write } = await open(log, "orders/7");
    const change = new ThreadModel("orders/7").next({ status: "completed", begins: invoked(), output: {} });
    await expect(write([change])).rejects.toThrow(
      'Thread "orders/7" could not be recorded: the disk is away.',
    );
  });

  test("changes that are too large together are written in parts, in their order", async () => {
    const log = createFaultLog();
    log.fault = ({ types }) =>
      types.length > 2 ? { refuse: { _tag: "TooLarge", limit: 2, actual: types.length } } : undefined;
    const model = new ThreadModel("t");
    const { write } = await open(log);
    await write([
      model.next({ status: "running", begins: invoked(), settled: settled("a", 1) }),
      ...["b", "c", "d", "e"].map((key) => model.next({ status: "running", settled: settled(key, key) })),
    ]);
    expect(log.appends.map(({ types }) => types.length)).toEqual([6, 4, 3, 2, 1, 1, 2]);
    expect((await logCheckpointer(log).history("t")).map((one) => plain(one))).toEqual(
      [...model.checkpoints].reverse(),
    );
  });
});
