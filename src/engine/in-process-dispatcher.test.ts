import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createInProcessDispatcher } from "./in-process-dispatcher.ts";
import type { Logger } from "./logger.ts";

const START = 1_800_000_000_000;
const MAX_TIMER = 2 ** 31 - 1;

beforeEach(() => vi.useFakeTimers({ now: START }));
afterEach(() => vi.useRealTimers());

const world = (execute: (runId: string) => Promise<unknown> = async () => {}) => {
  const delivered: [string, number][] = [];
  const errors: unknown[] = [];
  const logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (message, fields) => errors.push([message, fields]),
  };
  const dispatcher = createInProcessDispatcher(
    async (runId) => {
      delivered.push([runId, Date.now() - START]);
      await execute(runId);
    },
    { logger, clock: () => Date.now() },
  );
  return { dispatcher, delivered, errors };
};

describe("when", () => {
  test("without an instant: in a turn of its own, at once", async () => {
    const { dispatcher, delivered } = world();
    dispatcher.dispatch("r");
    expect(delivered).toEqual([]);
    await vi.advanceTimersByTimeAsync(0);
    expect(delivered).toEqual([["r", 0]]);
  });

  test.each([
    ["a moment ahead", 250, 250],
    ["in the past", -5, 0],
    ["beyond one timer", MAX_TIMER + 5_000, MAX_TIMER + 5_000],
    ["beyond two timers", 2 * MAX_TIMER + 7, 2 * MAX_TIMER + 7],
  ])("L7: with an instant %s, neither early nor late", async (_, ahead, at) => {
    const { dispatcher, delivered } = world();
    dispatcher.dispatch("r", START + ahead);
    if (at > 0) await vi.advanceTimersByTimeAsync(at - 1);
    if (at > 0) expect(delivered).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(delivered).toEqual([["r", at]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("a timer that comes early by the clock is set again", async () => {
    const { dispatcher, delivered } = world();
    dispatcher.dispatch("r", START + 100);
    vi.setSystemTime(START - 50);
    await vi.advanceTimersByTimeAsync(100);
    expect(delivered).toEqual([]);
    await vi.advanceTimersByTimeAsync(50);
    expect(delivered).toHaveLength(1);
  });

  test("no timer keeps the process alive", () => {
    vi.useRealTimers();
    const set = vi.spyOn(globalThis, "setTimeout");
    const { dispatcher } = world();
    dispatcher.dispatch("r", Date.now() + 60_000);
    const timer = set.mock.results[0]?.value as NodeJS.Timeout;
    expect(timer.hasRef()).toBe(false);
    dispatcher.stop();
    set.mockRestore();
  });
});

describe("D1: one walk a run at a time", () => {
  test("deliveries that come in the middle become one more, after it; other runs go on meanwhile", async () => {
    const ends: (() => void)[] = [];
    const { dispatcher, delivered } = world(() => new Promise<void>((end) => ends.push(end)));
    dispatcher.dispatch("r");
    await vi.advanceTimersByTimeAsync(0);
    for (let more = 0; more < 3; more += 1) dispatcher.dispatch("r");
    dispatcher.dispatch("other");
    await vi.advanceTimersByTimeAsync(5);
    expect(delivered.map(([runId]) => runId)).toEqual(["r", "other"]);
    ends[0]?.();
    await vi.advanceTimersByTimeAsync(5);
    expect(delivered.map(([runId]) => runId)).toEqual(["r", "other", "r"]);
    ends[2]?.();
    await vi.advanceTimersByTimeAsync(5);
    expect(delivered).toHaveLength(3);
  });
});

describe("D3: a delivery that fails", () => {
  test("is logged with its run, and the run can be delivered again", async () => {
    let fails = true;
    const { dispatcher, delivered, errors } = world(async () => {
      if (fails) throw new Error("store away");
    });
    dispatcher.dispatch("r");
    await vi.advanceTimersByTimeAsync(0);
    expect(errors).toEqual([["Workflow delivery failed", { runId: "r", error: "store away" }]]);
    fails = false;
    dispatcher.dispatch("r");
    await vi.advanceTimersByTimeAsync(0);
    expect([delivered.length, errors.length]).toEqual([2, 1]);
  });

  test("does not swallow the delivery that was asked for in the middle of it", async () => {
    let fail: (error: Error) => void = () => {};
    const { dispatcher, delivered } = world(() => new Promise((_, reject) => (fail = reject)));
    dispatcher.dispatch("r");
    await vi.advanceTimersByTimeAsync(0);
    dispatcher.dispatch("r");
    await vi.advanceTimersByTimeAsync(0);
    fail(new Error("store away"));
    await vi.advanceTimersByTimeAsync(0);
    expect(delivered).toHaveLength(2);
  });
});

describe("stop", () => {
  test("forgets what is scheduled and ignores what comes; a walk in flight goes on to its end", async () => {
    let ended = false;
    let end: () => void = () => {};
    const { dispatcher, delivered } = world(() =>
      new Promise<void>((resolve) => (end = resolve)).then(() => {
        ended = true;
      }),
    );
    dispatcher.dispatch("walking");
    await vi.advanceTimersByTimeAsync(0);
    dispatcher.dispatch("walking");
    dispatcher.dispatch("later", START + 1_000);
    dispatcher.stop();
    expect([dispatcher.stopped, vi.getTimerCount()]).toEqual([true, 0]);
    dispatcher.dispatch("ignored");
    end();
    await vi.advanceTimersByTimeAsync(5_000);
    expect([ended, delivered.map(([runId]) => runId)]).toEqual([true, ["walking"]]);
  });
});
