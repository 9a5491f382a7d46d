/**
 * E and F: what every checkpointer does with the checkpoints it is given, what the one in memory forgets, and how checkpoints of schema
 * version 1 are read and go on.
 */
import { describe, expect, test } from "vitest";
import {
  type GraphCheckpoint,
  type GraphCheckpointV1,
  memoryCheckpointer,
  migrateCheckpoint,
  type PendingInterrupt,
  toCheckpoint,
  workflow,
} from "../../src/threads/index.ts";
import { failureOf, last } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";

const checkpoint = (threadId: string, step: number, input: unknown = step): GraphCheckpoint =>
  toCheckpoint({
    threadId,
    step,
    state: { input, steps: { [`s${step}`]: { value: { of: step } } } },
    next: ["workflow"],
    status: "running",
    resolved: {},
    createdAt: "2026-03-01T12:00:00.000Z",
    metadata: { graph: "workflow", note: { step } },
  });

onEach(STORES, "a checkpointer", (store) => {
  test("F3 answers what it was given: the latest, the one asked for, and all of them, newest first", async () => {
    const writer = store().worker();
    for (const step of [1, 2, 3]) await writer.put(checkpoint("t", step));
    await writer.put(checkpoint("u", 1));
    const reader = store().worker();
    expect(await reader.get("t")).toEqual(checkpoint("t", 3));
    expect(await reader.get("t", 2)).toEqual(checkpoint("t", 2));
    expect(await reader.get("t", 4)).toBeUndefined();
    expect(await reader.history("t")).toEqual([3, 2, 1].map((step) => checkpoint("t", step)));
    expect(await reader.history("t", 2)).toEqual([3, 2].map((step) => checkpoint("t", step)));
    expect(await reader.history("u")).toEqual([checkpoint("u", 1)]);
    expect([await reader.get("nobody"), await reader.history("nobody")]).toEqual([undefined, []]);
  });

  test("F3 a history has twenty checkpoints, unless more are asked for", async () => {
    const writer = store().worker();
    for (let step = 1; step <= 25; step += 1) await writer.put(checkpoint("t", step));
    const steps = async (limit?: number) =>
      (await store().worker().history("t", limit)).map(({ step }) => step);
    expect(await steps()).toEqual(Array.from({ length: 20 }, (_, index) => 25 - index));
    expect(await steps(22)).toHaveLength(22);
  });

  test("a checkpoint drops those of its thread that have its number or a later one", async () => {
    const writer = store().worker();
    for (const step of [1, 2, 3, 4]) await writer.put(checkpoint("t", step));
    await writer.put(checkpoint("u", 9));
    await writer.put(checkpoint("t", 2, "again"));
    const reader = store().worker();
    expect((await reader.history("t")).map(({ step, state }) => [step, state.input])).toEqual([
      [2, "again"],
      [1, 1],
    ]);
    expect([await reader.get("t", 3), await reader.get("t", 4)]).toEqual([undefined, undefined]);
    expect((await reader.get("t"))?.step).toBe(2);
    expect((await reader.get("u"))?.step).toBe(9);
  });

  test("a checkpoint of any number may be the first of a thread", async () => {
    await store().worker().put(checkpoint("t", 7));
    expect((await store().worker().get("t"))?.step).toBe(7);
    const after = workflow(({ step }: { step: number }) => step, { checkpointer: store().worker() });
    await after.invoke({ step: 1 }, { threadId: "t" });
    expect((await after.history("t")).map(({ step }) => step)).toEqual([8, 7]);
  });

  test("what is given and what is answered are copies", async () => {
    const writer = store().worker();
    const given = checkpoint("t", 1, { list: [1] });
    await writer.put(given);
    (given.state.input as { list: number[] }).list.push(2);
    const answered = (await writer.get("t"))!;
    expect(answered.state.input).toEqual({ list: [1] });
    (answered.state.input as { list: number[] }).list.push(3);
    (answered.state.steps as Record<string, unknown>).other = {};
    expect(await writer.get("t")).toEqual(checkpoint("t", 1, { list: [1] }));
    expect(await writer.history("t")).toEqual([checkpoint("t", 1, { list: [1] })]);
  });

  test("everything that a checkpoint may say comes back", async () => {
    const full: GraphCheckpoint = {
      ...checkpoint("t", 1),
      status: "interrupted",
      resolved: { "workflow:interrupt:0": { deep: [null, false] } },
      drained: { reason: "scale down", at: "2026-03-01T12:00:00.000Z" },
      interrupts: [
        {
          id: "workflow:interrupt:1",
          reason: "well?",
          payload: { a: 1 },
          node: "workflow",
          step: 1,
          index: 1,
          requestedAt: "2026-03-01T12:00:00.000Z",
        },
      ],
      error: { name: "RangeError", message: "out of reach" },
      state: {
        input: null,
        steps: {
          nothing: {},
          saved: {
            value: "instead",
            recovered: { error: { name: "Error", message: "broken" }, attempts: 3 },
          },
        },
        output: { list: [1, "two"] },
      },
    };
    await store().worker().put(full);
    expect(await store().worker().get("t")).toStrictEqual(full);
  });

  test("F4 a second worker resumes what the first one suspended", async () => {
    const worker = () =>
      workflow(
        async (_: undefined, { interrupt, step }) => [
          await step("one", () => 1),
          interrupt<string>({ reason: "well?" }),
        ],
        { checkpointer: store().worker() },
      );
    await worker().invoke(undefined, { threadId: "t" });
    expect((await worker().resumeWith("t", "fine")).output).toEqual([1, "fine"]);
  });

  test("F5 a thread that is deleted is not there any more", async () => {
    const checkpointer = store().worker();
    if (checkpointer.delete === undefined) return;
    const threads = workflow((_: undefined) => 1, { checkpointer });
    await threads.invoke(undefined, { threadId: "t" });
    await threads.invoke(undefined, { threadId: "u" });
    await checkpointer.delete("t");
    expect([await threads.state("t"), await threads.history("t")]).toEqual([undefined, []]);
    expect((await threads.state("u"))?.status).toBe("completed");
    await threads.invoke(undefined, { threadId: "t" });
    expect((await threads.state("t"))?.step).toBe(1);
  });
});

describe("the checkpointer in memory", () => {
  test("F1 keeps the threads that were written last, and does not count reading", async () => {
    const memory = memoryCheckpointer({ maxThreads: 2 });
    for (const [threadId, step] of [
      ["a", 1],
      ["b", 1],
      ["a", 2],
      ["c", 1],
    ] as const) {
      await memory.get("b");
      await memory.put(checkpoint(threadId, step));
    }
    expect(await memory.threadIds?.()).toEqual(["a", "c"]);
    expect(await memory.get("b")).toBeUndefined();
    expect((await memory.get("a", 1))?.step).toBe(1);
  });

  test.each([0, -1])("F1 does not work with %d threads", (maxThreads) => {
    expect(() => memoryCheckpointer({ maxThreads })).toThrow(RangeError);
  });

  test("F2 keeps so many checkpoints of a thread, the newest, and a run goes on from them", async () => {
    const checkpointer = memoryCheckpointer({ maxPerThread: 3 });
    const ran: string[] = [];
    const long = workflow(
      async (_: undefined, { step, interrupt }) => {
        for (const name of ["a", "b", "c", "d", "e", "f"]) await step(name, () => ran.push(name));
        return interrupt<string>({ reason: "well?" });
      },
      { checkpointer },
    );
    await long.invoke(undefined, { threadId: "t" });
    expect((await long.history("t")).map(({ step }) => step)).toEqual([7, 6, 5]);
    expect(await long.state("t", 4)).toBeUndefined();
    expect((await long.resumeWith("t", "fine")).output).toBe("fine");
    expect(ran).toHaveLength(6);
  });

  test("keeps fifty checkpoints of a thread where it is not told how many", async () => {
    const memory = memoryCheckpointer();
    for (let step = 1; step <= 60; step += 1) await memory.put(checkpoint("t", step));
    expect(await memory.history("t", 1_000)).toHaveLength(50);
    expect(await memory.history("t")).toHaveLength(20);
  });
});

test("F7 with checkpointing off there is no history and no state", async () => {
  const off = workflow((_: undefined, { step }) => step("one", () => 1), { checkpointer: false });
  await off.invoke(undefined, { threadId: "t" });
  expect([await off.history("t"), await off.state("t")]).toEqual([[], undefined]);
});

test("each workflow has a memory of its own where it is given no checkpointer", async () => {
  const [one, other] = [workflow((_: undefined) => 1), workflow((_: undefined) => 1)];
  await one.invoke(undefined, { threadId: "t" });
  expect((await one.state("t"))?.status).toBe("completed");
  expect(await failureOf(other.resumeWith("t", 1))).toMatchObject({ name: "GraphThreadNotFoundError" });
});

const question: PendingInterrupt = {
  id: "refunds:interrupt:0",
  reason: "refund?",
  node: "refunds",
  step: 1,
  index: 0,
  requestedAt: "2025-01-01T00:00:00.000Z",
};

const old: GraphCheckpointV1 = {
  threadId: "t",
  step: 2,
  state: { input: 40, steps: { load: { value: 40 } } },
  next: ["refunds"],
  status: "running",
  createdAt: "2025-01-01T00:00:00.000Z",
};

describe("a checkpoint of schema version 1", () => {
  test("E1 is given its version, its id, a task for each next node, and no questions", () => {
    expect(migrateCheckpoint({ ...old, next: ["a", "b"] })).toEqual({
      ...old,
      version: 2,
      id: "t:2",
      next: ["a", "b"],
      tasks: [
        { id: "a", node: "a" },
        { id: "b", node: "b" },
      ],
      interrupts: [],
    });
    expect(migrateCheckpoint({ ...old, next: ["a"] })).not.toHaveProperty("interrupt");
  });

  test("E2 has its one question in a list", () => {
    const migrated = migrateCheckpoint({ ...old, status: "awaiting_input", interrupt: question });
    expect(migrated.interrupts).toEqual([question]);
    expect(migrated).not.toHaveProperty("interrupt");
  });

  test("E2 keeps a list of questions that it has", () => {
    const interrupts = [question, { ...question, id: "refunds:interrupt:1", index: 1 }];
    expect(migrateCheckpoint({ ...old, interrupt: question, interrupts }).interrupts).toEqual(interrupts);
  });

  test("E3 keeps the tasks that it has", () => {
    const tasks = [{ id: "a#1", node: "a" }];
    expect(migrateCheckpoint({ ...old, tasks }).tasks).toEqual(tasks);
  });

  test("E4 and one of version 2 is answered as it is", () => {
    const current = migrateCheckpoint(old);
    expect(migrateCheckpoint(current)).toBe(current);
  });

  test("E5 a copy for another thread has that thread's id", () => {
    const copy = toCheckpoint({ ...migrateCheckpoint(old), threadId: "u" });
    expect([copy.id, copy.threadId, copy.step]).toEqual(["u:2", "u", 2]);
  });
});

onEach(STORES, "a thread of version 1", (store) => {
  const refunds = () =>
    workflow(
      async (total: number, { step, interrupt }) => {
        const loaded = await step("load", (): number => expect.fail("recorded already"));
        return [total, loaded, interrupt<string>({ reason: "refund?" })];
      },
      { name: "refunds", checkpointer: store().worker() },
    );
  /** What was stored before there were versions has no type of today. */
  const put = (checkpoint: GraphCheckpointV1) =>
    store()
      .worker()
      .put(checkpoint as unknown as GraphCheckpoint);

  test("E6 that waits is read as version 2, and goes on with the answer", async () => {
    await put({ ...old, status: "awaiting_input", interrupt: question });
    const state = (await refunds().state("t"))!;
    expect(state).toMatchObject({ version: 2, id: "t:2", step: 2, interrupts: [question] });
    expect(state).not.toHaveProperty("interrupt");
    expect((await refunds().history("t")).map(({ version, interrupts }) => [version, interrupts])).toEqual([
      [2, [question]],
    ]);
    const done = await refunds().resumeWith("t", "yes");
    expect([done.status, done.output]).toEqual(["completed", [40, 40, "yes"]]);
    expect((await refunds().state("t"))?.step).toBe(3);
  });

  test("E6 that was running is continued", async () => {
    await put(old);
    expect(await last(refunds().continue("t"))).toMatchObject({ type: "interrupt", step: 3 });
    expect((await refunds().resumeWith("t", "yes")).output).toEqual([40, 40, "yes"]);
  });

  test("a starting state without steps is one with none", async () => {
    const plain = workflow(({ step }: { step: number }) => step + 1, { checkpointer: store().worker() });
    await put({ ...old, state: { input: { step: 4 } } });
    expect(await last(plain.continue("t"))).toMatchObject({ type: "done", output: 5 });
  });
});
