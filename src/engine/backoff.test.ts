import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MAX_IN_PROCESS_RETRY_MS, retryDelayMs, retryNarration, waitMs } from "./backoff.ts";
import { FatalError, RetryableError } from "./step-errors.ts";

const now = Date.UTC(2026, 0, 1);
beforeEach(() => void vi.useFakeTimers({ now }));
afterEach(() => void vi.useRealTimers());

test("B1: a RetryableError's delay lies between 0 and 30 seconds, every other failure's is 0", () => {
  const delay = (retryAfter?: number | Date) => retryDelayMs(new RetryableError("x", { retryAfter }), now);
  expect([delay(), delay(250), delay(0), delay(-5), delay(new Date(now + 70))]).toEqual([
    1000, 250, 0, 0, 70,
  ]);
  expect([delay(30_001), delay(new Date(8.64e15))]).toEqual([
    MAX_IN_PROCESS_RETRY_MS,
    MAX_IN_PROCESS_RETRY_MS,
  ]);
  expect(MAX_IN_PROCESS_RETRY_MS).toBe(30_000);
  expect([new Error("x"), new FatalError("x"), "x", undefined].map((e) => retryDelayMs(e, now))).toEqual([
    0, 0, 0, 0,
  ]);
});

test("the delay shrinks by the time that has passed since the error was made", () => {
  expect(retryDelayMs(new RetryableError("x", { retryAfter: 500 }), now + 200)).toBe(300);
});

test("a wait lasts its time and leaves no timer and no listener", async () => {
  const { signal } = new AbortController();
  let over = false;
  const wait = waitMs(1000, signal).then(() => {
    over = true;
  });
  await vi.advanceTimersByTimeAsync(999);
  expect([over, vi.getTimerCount()]).toEqual([false, 1]);
  await vi.advanceTimersByTimeAsync(1);
  await wait;
  expect([over, vi.getTimerCount(), getEventListeners(signal, "abort").length]).toEqual([true, 0, 0]);
});

test("B2: an abort ends the wait by its reason and clears the timer", async () => {
  const controller = new AbortController();
  const reason = new Error("cancelled");
  const wait = waitMs(30_000, controller.signal);
  controller.abort(reason);
  await expect(wait).rejects.toBe(reason);
  expect([vi.getTimerCount(), getEventListeners(controller.signal, "abort").length]).toEqual([0, 0]);
});

test("a wait of nothing takes no timer, but still sees that the walk is over", async () => {
  await waitMs(0);
  await waitMs(-1, new AbortController().signal);
  await waitMs(Number.NaN);
  const reason = new Error("cancelled");
  await expect(waitMs(0, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
});

test("B3: a wait keeps the process alive", () => {
  vi.useRealTimers();
  const made = vi.spyOn(globalThis, "setTimeout");
  const controller = new AbortController();
  waitMs(30_000, controller.signal).catch(() => undefined);
  expect((made.mock.results[0]!.value as NodeJS.Timeout).hasRef()).toBe(true);
  controller.abort();
  made.mockRestore();
});

test("the narration names step, try, budget, delay and message", () => {
  const facts = { name: "fetch", attempt: 1, maxAttempts: 3, delayMs: 1000 };
  const say = (error: unknown) => retryNarration({ ...facts, error });
  const start = "Step fetch failed on attempt 1 of 3, retrying in 1000ms: ";
  expect(say(new Error("no route"))).toBe(`${start}no route`);
  expect(say("thrown text")).toBe(`${start}thrown text`);
  const deep = new Error("b", { cause: new Error("c") });
  expect(say(new Error("a!", { cause: deep }))).toBe(`${start}a! — caused by b`);
  expect(say(new Error("a!", { cause: "text" }))).toBe(`${start}a! — caused by text`);
});

test("a cause that the message tells already, or that has no text, is not told again", () => {
  const facts = { name: "s", attempt: 2, maxAttempts: 3, delayMs: 0 };
  const start = "Step s failed on attempt 2 of 3, retrying in 0ms: ";
  const cases = [
    new Error("fetch failed: timeout", { cause: new Error("timeout") }),
    new Error("x", { cause: 7 }),
  ];
  expect(cases.map((error) => retryNarration({ ...facts, error }))).toEqual([
    `${start}fetch failed: timeout`,
    `${start}x`,
  ]);
});
