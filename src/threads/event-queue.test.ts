import { describe, expect, test } from "vitest";
import { EventQueue } from "./event-queue.ts";

const filled = (...events: readonly number[]): EventQueue<number> => {
  const queue = new EventQueue<number>();
  for (const event of events) queue.push(event);
  return queue;
};

const DONE = { done: true, value: undefined };

describe("a queue of events", () => {
  test("Q1 gives a late reader everything, and then the end", async () => {
    const queue = filled(1, 2);
    queue.end();
    const read: number[] = [];
    for await (const event of queue) read.push(event);
    expect(read).toEqual([1, 2]);
    expect(await queue.next()).toEqual(DONE);
  });

  test("Q1 gives a waiting reader what comes", async () => {
    const queue = new EventQueue<number>();
    const waiting = [queue.next(), queue.next(), queue.next()];
    queue.push(1);
    queue.end();
    expect(await Promise.all(waiting)).toEqual([{ done: false, value: 1 }, DONE, DONE]);
  });

  test("Q1 gives the error after the events, once", async () => {
    const queue = filled(1);
    queue.fail(new Error("late"));
    expect(await queue.next()).toEqual({ done: false, value: 1 });
    await expect(queue.next()).rejects.toThrow("late");
    expect(await queue.next()).toEqual(DONE);
  });

  test("Q1 gives a waiting reader the error", async () => {
    const queue = new EventQueue<number>();
    const [first, second] = [queue.next(), queue.next()];
    queue.fail(undefined);
    await expect(first).rejects.toBeUndefined();
    expect(await second).toEqual(DONE);
  });

  test("Q2 keeps nothing for a reader that left", async () => {
    const queue = filled(1, 2, 3);
    for await (const event of queue) if (event === 1) break;
    queue.push(4);
    queue.fail(new Error("nobody reads this"));
    expect(await queue.next()).toEqual(DONE);
  });
});
