/** E: checkpoints of schema version 1 are read as version 2, and go on. */
import { describe, expect, test } from "vitest";
import {
  type GraphCheckpoint,
  type GraphCheckpointV1,
  migrateCheckpoint,
  type PendingInterrupt,
  toCheckpoint,
  workflow,
} from "../../src/threads/index.ts";
import { last } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";

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
