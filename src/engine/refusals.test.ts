import { describe, expect, test, vi } from "vitest";
import {
  abandonedStepMessage,
  hookMismatchMessage,
  insideStepMessage,
  JOURNAL_MAX_ENTRIES,
  JOURNAL_WARN_ENTRIES,
  journalBoundMessage,
  payloadMismatchMessage,
  Refusal,
  schemaMismatchMessage,
} from "./refusals.ts";
import { FatalError, RetryableError } from "./step-errors.ts";

test("R1: a refusal is fatal to a step loop, and is told apart from an author's FatalError", () => {
  const refusal = new Refusal("divergence", "no");
  expect([refusal.kind, refusal.name, refusal.message, refusal.fatal]).toEqual([
    "divergence",
    "Refusal",
    "no",
    true,
  ]);
  expect([FatalError.is(refusal), RetryableError.is(refusal), Refusal.is(refusal)]).toEqual([
    true,
    false,
    true,
  ]);
  expect([Refusal.is(new FatalError("x")), Refusal.is(new Error("x")), Refusal.is(null)]).toEqual([
    false,
    false,
    false,
  ]);
});

test("a refusal of another copy of the package is recognised", async () => {
  vi.resetModules();
  const other = await import("./refusals.ts");
  expect(other.Refusal).not.toBe(Refusal);
  expect(Refusal.is(new other.Refusal("journal-bound", "x"))).toBe(true);
});

const expectAll = (message: string, fragments: readonly string[]) => {
  for (const fragment of fragments) expect(message).toContain(fragment);
};

describe("R2: a message says what happened, which run and key, and what to do", () => {
  test("a wait inside a step", () => {
    expectAll(insideStepMessage({ method: "ctx.sleep", step: "napper", key: "napper#0", runId: "wrun_1" }), [
      'ctx.sleep was called inside ctx.step("napper")',
      "a step body may not wait",
      "Move the wait out of the step",
      "napper#0",
      "wrun_1",
    ]);
    expect(insideStepMessage({ method: "ctx.waitFor", step: "a", key: "a#0" })).toContain(
      "Move the wait out of the step",
    );
  });

  test.each([
    ["ctx.now", "Date.now()"],
    ["ctx.random", "Math.random()"],
    ["ctx.uuid", "crypto.randomUUID()"],
  ] as const)("%s inside a step names the plain source as the remedy", (method, source) => {
    const message = insideStepMessage({ method, step: "stamp", key: "stamp#0" });
    expectAll(message, [
      `${method} was called inside ctx.step("stamp")`,
      `Call ${method} before the step`,
      source,
    ]);
    expect(message).not.toContain("Move the wait");
  });

  test("an abandoned step", () => {
    const facts = { runId: "wrun_1", name: "charge", key: "charge#2", others: 3, maxAttempts: 3 };
    expectAll(abandonedStepMessage(facts), [
      '"charge"',
      "charge#2",
      "wrun_1",
      "3 unfinished attempt(s)",
      "budget is 3",
      "worker died",
      "deliveries",
    ]);
  });

  test("a wait that reaches another wait's record", () => {
    expectAll(hookMismatchMessage({ runId: "wrun_1", key: "hook!a#0", asked: "a", held: "b" }), [
      'ctx.waitFor("a")',
      'ctx.waitFor("b")',
      "another wait's record",
      "hook!a#0",
      "wrun_1",
    ]);
  });

  test("a recorded result its schema does not take, with one sentence on the code for each verdict", () => {
    const facts = { runId: "wrun_1", name: "read", key: "read#0", issues: "at size: expected number" };
    const changed = schemaMismatchMessage({ ...facts, started: "v1", walking: "v2" });
    const same = schemaMismatchMessage({ ...facts, started: "v1", walking: "v1" });
    const unknown = schemaMismatchMessage({ ...facts, walking: "v1" });
    for (const message of [changed, same, unknown]) {
      expectAll(message, ['"read"', "read#0", "wrun_1", "SUCCEEDED", "at size: expected number"]);
    }
    expectAll(changed, ["STARTED against bundle v1", "walked by v2"]);
    expectAll(same, ["never matched", "v1"]);
    expectAll(unknown, ["cannot be told", "RUNSTREAM_CODE_VERSION"]);
  });

  test("a payload its schema does not take", () => {
    expectAll(
      payloadMismatchMessage({ runId: "wrun_1", token: "t", key: "hook!t#0", issues: "expected string" }),
      ['ctx.waitFor("t")', "hook!t#0", "wrun_1", "expected string"],
    );
  });

  test("a run past the ceiling", () => {
    expect([JOURNAL_WARN_ENTRIES, JOURNAL_MAX_ENTRIES]).toEqual([8000, 10_000]);
    expectAll(journalBoundMessage({ runId: "wrun_1", workflow: "w", entries: 10_001 }), [
      "10001",
      "10000",
      "wrun_1",
      '"w"',
      "smaller runs",
    ]);
  });
});
