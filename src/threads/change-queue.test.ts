import { expect, test } from "vitest";
import { ChangeQueue } from "./change-queue.ts";
import type { CheckpointChange, ThreadWriter } from "./checkpoint-writer.ts";
import { toCheckpoint } from "./migration.ts";

const change = (step: number): CheckpointChange => {
  const facts = { threadId: "t", step, status: "running" as const, createdAt: "", metadata: {} };
  return { ...facts, workflow: "w", whole: () => toCheckpoint({ ...facts, state: {}, next: ["w"] }) };
};

/** A writer that remembers what it was given, and refuses the change of one number. */
const writer = (oneByOne: boolean, refused?: number) => {
  const batches: number[][] = [];
  const target: ThreadWriter = {
    latest: undefined,
    oneByOne,
    async write(changes) {
      batches.push(changes.map(({ step }) => step));
      await new Promise((resolve) => setImmediate(resolve));
      if (changes.some(({ step }) => step === refused)) throw new Error("disk full");
    },
  };
  return { target, batches };
};

test("what gathers while a write is under way is written together", async () => {
  const { target, batches } = writer(false);
  const told: number[] = [];
  const queue = new ChangeQueue(target, 0, ({ step }) => told.push(step));
  const first = queue.add(change(1));
  await new Promise((resolve) => process.nextTick(resolve));
  await Promise.all([first, queue.add(change(2)), queue.add(change(3))]);
  expect(batches).toEqual([[1], [2, 3]]);
  expect(told).toEqual([1, 2, 3]);
  expect(queue.written).toBe(3);
});

test("one at a time, where the writer asks for that", async () => {
  const { target, batches } = writer(true);
  const queue = new ChangeQueue(target, 4, () => {});
  await Promise.all([5, 6, 7].map((step) => queue.add(change(step))));
  expect(batches).toEqual([[5], [6], [7]]);
});

test("W1 after a write that failed nothing more is written, and everything says why", async () => {
  const { target, batches } = writer(true, 2);
  const queue = new ChangeQueue(target, 0, () => {});
  const ends = await Promise.allSettled([1, 2, 3].map((step) => queue.add(change(step))));
  expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  await expect(queue.add(change(4))).rejects.toThrow("disk full");
  expect(batches).toEqual([[1], [2]]);
  expect(queue.written).toBe(1);
  expect(queue.failure).toEqual({ error: new Error("disk full") });
});
