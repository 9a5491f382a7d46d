import { describe, expect, it, vi } from "vitest";
import { createVirtualClock, VIRTUAL_START } from "../../src/testing/virtual-clock.ts";

describe("a virtual clock", () => {
  it("stands where it is put until it is moved", async () => {
    expect(createVirtualClock().now()).toBe(VIRTUAL_START);
    const clock = createVirtualClock(1_000);
    await clock.advance(0);
    expect(clock.now()).toBe(1_000);
    await clock.advance(250);
    expect(clock.now()).toBe(1_250);
    await clock.advanceTo(5_000);
    expect(clock.now()).toBe(5_000);
  });

  it("has moved by the time advance returns, where nothing is due", () => {
    const clock = createVirtualClock(0);
    void clock.advance(10);
    expect(clock.now()).toBe(10);
  });

  it("T1 runs timers by instant, then in the order in which they were set, at their own instants", async () => {
    const clock = createVirtualClock(0);
    const rings: string[] = [];
    const ring = (name: string) => () => void rings.push(`${name} at ${clock.now()}`);
    clock.setTimeout(ring("late"), 30);
    clock.setTimeout(ring("first of two"), 20);
    clock.setTimeout(ring("second of two"), 20);
    clock.setTimeout(ring("early"), 10);
    expect(clock.nextAt()).toBe(10);
    await clock.advance(25);
    expect(rings).toEqual(["early at 10", "first of two at 20", "second of two at 20"]);
    expect(clock.pending()).toBe(1);
    expect(clock.nextAt()).toBe(30);
  });

  it("runs what a timer sets within the same advance, and lets promises run in between", async () => {
    const clock = createVirtualClock(0);
    const log: string[] = [];
    clock.setTimeout(() => {
      log.push("timer 1");
      void Promise.resolve()
        .then(() => undefined)
        .then(() => log.push("promise of timer 1"));
      clock.setTimeout(() => log.push("timer set by timer 1"), 5);
    }, 10);
    clock.setTimeout(() => log.push("timer 2"), 12);
    await clock.advance(20);
    expect(log).toEqual(["timer 1", "promise of timer 1", "timer 2", "timer set by timer 1"]);
  });

  it("does not run a timer that was cleared", async () => {
    const clock = createVirtualClock(0);
    const rings: string[] = [];
    const cleared = clock.setTimeout(() => rings.push("cleared"), 10);
    clock.clearTimeout(cleared);
    clock.clearTimeout(cleared);
    clock.clearTimeout(undefined);
    await clock.advance(20);
    expect(rings).toEqual([]);
    expect(clock.nextAt()).toBeUndefined();
  });

  it("runs nothing when it jumps, and what fell due meanwhile when it next advances", async () => {
    const clock = createVirtualClock(1_000);
    const rings: number[] = [];
    clock.setTimeout(() => rings.push(clock.now()), 10);
    clock.jumpTo(2_000);
    expect(rings).toEqual([]);
    await clock.advance(0);
    expect(rings).toEqual([2_000]);
    clock.jumpTo(500);
    expect(clock.now()).toBe(500);
  });

  it("refuses to advance into the past, or nowhere", async () => {
    const clock = createVirtualClock(1_000);
    await expect(clock.advanceTo(999)).rejects.toThrow(RangeError);
    await expect(clock.advance(Number.NaN)).rejects.toThrow(RangeError);
    expect(() => clock.jumpTo(Number.POSITIVE_INFINITY)).toThrow(RangeError);
  });

  it("T2 goes on under a runner's fake timers", async () => {
    vi.useFakeTimers();
    try {
      const clock = createVirtualClock(0);
      const rings: number[] = [];
      clock.setTimeout(() => rings.push(clock.now()), 10);
      await clock.advance(10);
      expect(rings).toEqual([10]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("rejects with what a timer throws", async () => {
    const clock = createVirtualClock(0);
    clock.setTimeout(() => {
      throw new Error("alarm");
    }, 1);
    await expect(clock.advance(1)).rejects.toThrow("alarm");
  });
});
