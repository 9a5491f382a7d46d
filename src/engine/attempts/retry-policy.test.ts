import { describe, expect, test } from "vitest";
import { backoffMs, DEFAULT_RETRY, type RetryPolicy, retryRules } from "./retry-policy.ts";

const rules = (...policies: readonly (RetryPolicy | undefined)[]) => retryRules(DEFAULT_RETRY, ...policies);
/** What untyped callers may write. */
const given = (policy: Record<string, unknown>): RetryPolicy => policy;

describe("a retry policy", () => {
  test("is laid over another field by field, and the last one counts", () => {
    const merged = rules({ maxAttempts: 5, jitter: false }, undefined, { maxAttempts: 2, backoffFactor: 3 });
    expect(merged).toEqual({ ...DEFAULT_RETRY, maxAttempts: 2, jitter: false, backoffFactor: 3 });
  });

  test("R1 takes a field that is undefined for one that was not given", () => {
    const undefinedAll = given({ maxAttempts: undefined, initialIntervalMs: undefined, jitter: undefined });
    expect(rules({ maxAttempts: 3 }, undefinedAll)).toEqual({ ...DEFAULT_RETRY, maxAttempts: 3 });
  });

  test.each([0, -1, Number.NaN])("R2 makes one attempt of maxAttempts %d", (maxAttempts) => {
    expect(rules({ maxAttempts }).maxAttempts).toBe(1);
  });

  test("is not altered by being laid over another", () => {
    const before = { ...DEFAULT_RETRY };
    rules({ maxAttempts: 9 });
    expect(DEFAULT_RETRY).toEqual(before);
    expect(rules()).toBe(DEFAULT_RETRY);
  });
});

describe("the wait before the next attempt", () => {
  test("doubles from 250 ms up to 30 s", () => {
    const waits = [1, 2, 3, 8, 9, 200].map((failed) => backoffMs(rules({ jitter: false }), failed));
    expect(waits).toEqual([250, 500, 1_000, 30_000, 30_000, 30_000]);
  });

  test("is spread between a half and the whole of it", () => {
    expect(backoffMs(rules(), 1, () => 0)).toBe(125);
    expect(backoffMs(rules(), 1, () => 0.999_999)).toBe(250);
    expect(backoffMs(rules(), 2, () => 0.5)).toBe(375);
  });

  test.each([
    [{ initialIntervalMs: 0 }, 0],
    [{ initialIntervalMs: -5 }, 0],
    [{ initialIntervalMs: Number.NaN }, 0],
    [{ maxIntervalMs: 0 }, 0],
    [{ initialIntervalMs: 0.4 }, 0],
    [{ initialIntervalMs: 2.5, backoffFactor: 1 }, 3],
  ])("%j waits %d ms", (policy, ms) => {
    expect(backoffMs(rules({ jitter: false }, policy), 1)).toBe(ms);
  });
});
