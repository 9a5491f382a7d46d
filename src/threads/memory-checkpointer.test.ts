import { describe, expect, test } from "vitest";
import { memoryCheckpointer } from "./memory-checkpointer.ts";
import { toCheckpoint } from "./migration.ts";
import { type RecordedStep, writtenState } from "./recorded-steps.ts";

const checkpoint = (threadId: string, step: number, state: unknown = { input: 0, steps: {} }) =>
  toCheckpoint({
    threadId,
    step,
    state: state as Record<string, unknown>,
    next: ["w"],
    status: "running",
    createdAt: "2026-01-01T00:00:00.000Z",
  });

describe("checkpoints in memory", () => {
  test("M1 are copies on the way in and on the way out", () => {
    const kept = memoryCheckpointer();
    const state = { input: { tags: ["a"] }, steps: {} };
    kept.put(checkpoint("t", 1, state));
    state.input.tags.push("b");
    expect(kept.get("t")?.state).toEqual({ input: { tags: ["a"] }, steps: {} });
    (kept.get("t")!.state as typeof state).input.tags.push("c");
    expect(kept.get("t")?.state).toEqual({ input: { tags: ["a"] }, steps: {} });
  });

  test("M2 share the steps of one run, each with as many as it had", () => {
    const kept = memoryCheckpointer();
    const input = { order: 1 };
    const list: RecordedStep[] = [];
    for (let step = 1; step <= 3; step += 1) {
      list.push([`s${step}`, { value: step }]);
      kept.put(checkpoint("t", step, writtenState({ input, list, count: list.length })));
    }
    expect(kept.get("t", 1)?.state).toEqual({ input, steps: { s1: { value: 1 } } });
    expect(Object.keys(kept.get("t")?.state.steps as object)).toEqual(["s1", "s2", "s3"]);
  });

  test("a state that was altered on its way is kept as it came", () => {
    const kept = memoryCheckpointer();
    const state = writtenState({ input: 0, list: [["a", { value: 1 }]], count: 1 });
    state.steps.b = { value: 2 };
    kept.put(checkpoint("t", 1, state));
    expect(kept.get("t")?.state).toEqual({ input: 0, steps: { a: { value: 1 }, b: { value: 2 } } });
  });

  test("a put drops what has the same number or a later one", () => {
    const kept = memoryCheckpointer();
    for (const step of [1, 2, 3, 4, 2]) kept.put(checkpoint("t", step));
    expect(kept.history("t").map(({ step }) => step)).toEqual([2, 1]);
    expect(kept.get("t", 3)).toBeUndefined();
  });

  test("are the newest of a thread, and of the threads that were written last", () => {
    const kept = memoryCheckpointer({ maxPerThread: 3, maxThreads: 2 });
    for (let step = 1; step <= 6; step += 1) kept.put(checkpoint("a", step));
    expect(kept.history("a", 10).map(({ step }) => step)).toEqual([6, 5, 4]);
    kept.put(checkpoint("b", 1));
    kept.put(checkpoint("a", 7));
    kept.put(checkpoint("c", 1));
    expect(kept.threadIds()).toEqual(["a", "c"]);
    expect(kept.get("b")).toBeUndefined();
    kept.delete("a");
    expect(kept.threadIds()).toEqual(["c"]);
  });

  test("history is twenty long by default", () => {
    const kept = memoryCheckpointer();
    for (let step = 1; step <= 30; step += 1) kept.put(checkpoint("t", step));
    expect(kept.history("t")).toHaveLength(20);
    expect(kept.history("t", 0)).toEqual([]);
    expect(kept.history("nobody")).toEqual([]);
  });

  test.each([{ maxThreads: 0 }, { maxPerThread: 0 }, { maxThreads: Number.NaN }])(
    "%j keeps nothing, and is refused",
    (limits) => {
      expect(() => memoryCheckpointer(limits)).toThrow(RangeError);
    },
  );
});
