import { setImmediate } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { currentStep, objectionTo, runAsStep, runOutsideStep, stepInfo, stepSignal } from "./step-context.ts";

const signal = new AbortController().signal;
const info = (name: string, attempt = 1, maxAttempts = 3) => ({
  name,
  key: `${name}#0`,
  attempt,
  maxAttempts,
});

test("outside a step there is nothing to know", () => {
  expect([stepInfo(), currentStep(), stepSignal(), objectionTo("ctx.sleep")]).toEqual(
    Array(4).fill(undefined),
  );
});

test("inside a step the info, the name and the signal are there, also after an await", async () => {
  await runAsStep({ ...info("a", 2), signal }, async () => {
    await setImmediate();
    expect(stepInfo()).toEqual({ name: "a", key: "a#0", attempt: 2, maxAttempts: 3, isLastAttempt: false });
    expect(currentStep()?.name).toBe("a");
    expect(stepSignal()).toBe(signal);
  });
  expect(stepInfo()).toBe(undefined);
});

test("the last attempt is the last also where the budget is smaller than the attempt", () => {
  const last = (attempt: number, maxAttempts: number) =>
    runAsStep({ ...info("a", attempt, maxAttempts), signal }, () => stepInfo()?.isLastAttempt);
  expect([last(1, 3), last(3, 3), last(1, 0)]).toEqual([false, true, true]);
});

test("C2: of nested steps the inner is the current one, and the outer is again afterwards", async () => {
  const seen = await runAsStep({ ...info("outer"), signal }, async () => {
    const inner = await runAsStep({ ...info("inner"), signal }, async () => [
      stepInfo()?.name,
      objectionTo("ctx.now"),
    ]);
    return [...inner, stepInfo()?.name];
  });
  expect(seen[0]).toBe("inner");
  expect(seen[1]).toContain('ctx.now was called inside ctx.step("inner")');
  expect(seen[2]).toBe("outer");
});

test("a wait inside a step has a refusal that names method, step, key and run", () => {
  const message = runAsStep({ ...info("napper"), signal }, () => objectionTo("ctx.sleep", "wrun_1"));
  expect(message).toContain('ctx.sleep was called inside ctx.step("napper")');
  expect(message).toContain("napper#0 of run wrun_1");
});

test("C3: what a step starts outside itself is not in a step, and siblings do not see each other", async () => {
  await runAsStep({ ...info("a"), signal }, async () => {
    const outside = runOutsideStep(async () => {
      await setImmediate();
      return stepInfo();
    });
    const sibling = runAsStep({ ...info("b"), signal }, async () => {
      await setImmediate();
      return stepInfo()?.name;
    });
    expect(await Promise.all([outside, sibling])).toEqual([undefined, "b"]);
    expect(stepInfo()?.name).toBe("a");
  });
});

test("C1: another copy of the package sees the same step", async () => {
  vi.resetModules();
  const other = await import("./step-context.ts");
  expect(other.stepInfo).not.toBe(stepInfo);
  expect(runAsStep({ ...info("a"), signal }, () => other.stepInfo()?.name)).toBe("a");
  expect(other.runAsStep({ ...info("b"), signal }, () => stepInfo()?.name)).toBe("b");
});
