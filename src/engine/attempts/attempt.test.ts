import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LONGEST_TIMER_MS } from "../deadline.ts";
import { type Attempt, type AttemptLimits, type Outcome, runAttempt } from "./attempt.ts";

const never = new Promise<never>(() => {});

const run = <T>(
  body: (attempt: Attempt) => T | Promise<T>,
  limits: AttemptLimits = {},
  signal = new AbortController().signal,
): Promise<Outcome<T>> =>
  runAttempt(body, { signal, limits, exceeded: (kind, ms) => new Error(`${kind} ${ms}`) });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("an attempt", () => {
  test("has an outcome, whether its body answers, promises, throws or rejects", async () => {
    const broken = new Error("broken");
    expect(await run(() => 1)).toEqual({ ok: true, value: 1 });
    expect(await run(async () => 2)).toEqual({ ok: true, value: 2 });
    expect(await run(() => Promise.reject(broken))).toEqual({ ok: false, error: broken });
    expect(
      await run(() => {
        throw broken;
      }),
    ).toEqual({ ok: false, error: broken });
  });

  test("A1 has failed before its signal aborts", async () => {
    const seen: unknown[] = [];
    const outcome = run(
      ({ signal }) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            seen.push((signal.reason as Error).name);
            resolve("in time?");
          }),
        ),
      { runMs: 10 },
    );
    await vi.advanceTimersByTimeAsync(10);
    expect(await outcome).toEqual({ ok: false, error: new Error("run 10"), exceeded: "run" });
    expect(seen).toEqual(["AbortError"]);
  });

  test("A1 ignores what a body does after its limit, a rejection too", async () => {
    let fail: (error: Error) => void = () => {};
    const outcome = run(() => new Promise((_, reject) => (fail = reject)), { idleMs: 5 });
    await vi.advanceTimersByTimeAsync(5);
    fail(new Error("late"));
    expect(await outcome).toMatchObject({ ok: false, exceeded: "idle" });
  });

  test("lives as long as it beats, up to its run limit", async () => {
    const outcome = run(
      (attempt) => {
        setInterval(attempt.heartbeat, 4);
        return never;
      },
      { idleMs: 5, runMs: 50 },
    );
    await vi.advanceTimersByTimeAsync(49);
    expect(vi.getTimerCount()).toBe(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toMatchObject({ exceeded: "run" });
  });

  test("A2 leaves neither timer nor listener behind, and beats in vain", async () => {
    const { signal } = new AbortController();
    let kept: Attempt | undefined;
    await run(
      (attempt) => {
        kept = attempt;
        expect(getEventListeners(signal, "abort")).toHaveLength(attempt.signal.aborted ? -1 : 1);
      },
      { idleMs: 5, runMs: 5 },
      signal,
    );
    kept?.heartbeat();
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("A3 makes no signal that nobody asks for", async () => {
    const { signal } = new AbortController();
    await run(
      () => {
        expect(getEventListeners(signal, "abort")).toEqual([]);
      },
      {},
      signal,
    );
  });

  test("passes the signal above on, with its reason, before and after", async () => {
    const above = new AbortController();
    const reason = new Error("stop");
    const outcome = run(
      ({ signal }) =>
        new Promise((resolve) => signal.addEventListener("abort", () => resolve(signal.reason))),
      {},
      above.signal,
    );
    above.abort(reason);
    expect(await outcome).toEqual({ ok: true, value: reason });
    expect(await run(({ signal }) => signal.reason, {}, above.signal)).toEqual({ ok: true, value: reason });
  });

  test("A4 G19 has a limit longer than a timer can take", async () => {
    const outcome = run(() => never, { runMs: LONGEST_TIMER_MS + 1_000 });
    await vi.advanceTimersByTimeAsync(LONGEST_TIMER_MS + 999);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await outcome).toMatchObject({ exceeded: "run" });
  });

  test.each([undefined, Number.NaN, Number.POSITIVE_INFINITY])("a limit of %s is none", async (ms) => {
    await run(() => expect(vi.getTimerCount()).toBe(0), { runMs: ms, idleMs: ms });
  });
});
