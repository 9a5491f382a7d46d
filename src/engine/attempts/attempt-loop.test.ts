import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type AttemptLoop, makeAttempts } from "./attempt-loop.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const loop = (over: Partial<AttemptLoop<number>>): AttemptLoop<number> => ({
  signal: new AbortController().signal,
  make: async (n) => (n < 3 ? { ok: false, error: new Error(`try ${n}`) } : { ok: true, value: n * 10 }),
  passesThrough: () => false,
  next: () => 0,
  onRetry: () => {},
  ...over,
});

test("attempts are made until one succeeds, and each failure is told with its wait", async () => {
  const told: unknown[] = [];
  const made = makeAttempts(
    loop({
      next: ({ attempt }) => attempt * 100,
      onRetry: ({ error, attempt }, delayMs) => told.push([(error as Error).message, attempt, delayMs]),
    }),
  );
  await vi.advanceTimersByTimeAsync(300);
  expect(await made).toEqual({ ok: true, value: 30, attempts: 3 });
  expect(told).toEqual([
    ["try 1", 1, 100],
    ["try 2", 2, 200],
  ]);
});

test("the last failure is the answer where none may follow", async () => {
  const made = await makeAttempts(loop({ next: ({ attempt }) => (attempt < 2 ? 0 : undefined) }));
  expect(made).toEqual({ ok: false, error: new Error("try 2"), attempts: 2 });
});

test("A1 what passes through ends the loop as it is", async () => {
  const next = vi.fn();
  const passing = makeAttempts(
    loop({ passesThrough: (error) => (error as Error).message === "try 1", next }),
  );
  await expect(passing).rejects.toThrow("try 1");
  expect(next).not.toHaveBeenCalled();
});

test("A2 an abort ends the wait with its reason, and no attempt begins after it", async () => {
  const stop = new AbortController();
  const make = vi.fn(loop({}).make);
  const made = makeAttempts(loop({ signal: stop.signal, make, next: () => 60_000 }));
  const ended = expect(made).rejects.toThrow("stop");
  await vi.advanceTimersByTimeAsync(1_000);
  stop.abort(new Error("stop"));
  await ended;
  expect(make).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("A3 a body that fails at once for ever lets an abort have its turn", async () => {
  vi.useRealTimers();
  const stop = new AbortController();
  setImmediate(() => stop.abort(new Error("enough")));
  const made = makeAttempts(loop({ signal: stop.signal, make: async () => ({ ok: false, error: 1 }) }));
  await expect(made).rejects.toThrow("enough");
});
