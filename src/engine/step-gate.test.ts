import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { runAsStep, runOutsideStep, stepInfo } from "./step-context.ts";
import { createStepGate, DEFAULT_STEP_CONCURRENCY, type StepGate, stepConcurrencyFrom } from "./step-gate.ts";

const { signal } = new AbortController();

const held = () => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  return { promise, resolve, reject };
};

test("width 4, fan-out 32: exactly 4 run at once, the rest wait, and all drain in order", async () => {
  const gate = createStepGate(4);
  const holds = Array.from({ length: 32 }, held);
  const started: number[] = [];
  const all = holds.map((hold, i) =>
    gate.run(async () => {
      started.push(i);
      await hold.promise;
      return i;
    }),
  );
  expect([gate.running, gate.waiting, started]).toEqual([4, 28, [0, 1, 2, 3]]);
  let most = 0;
  for (const hold of holds) {
    hold.resolve();
    await setImmediate();
    most = Math.max(most, gate.running);
  }
  expect(await Promise.all(all)).toEqual(holds.map((_, i) => i));
  expect(started).toEqual(holds.map((_, i) => i));
  expect([most, gate.running, gate.waiting]).toEqual([4, 0, 0]);
});

test("with a free place the body runs in the same turn", () => {
  const gate = createStepGate(1);
  let ran = false;
  void gate.run(async () => {
    ran = true;
  });
  expect(ran).toBe(true);
});

test("T1: a place given back goes to the waiter, not to whoever comes at that moment", async () => {
  const gate = createStepGate(1);
  const order: string[] = [];
  const hold = held();
  const first = gate.run(() => hold.promise);
  const waiter = gate.run(async () => void order.push("waiter"));
  const late = first.then(() => {
    expect([gate.running, gate.waiting]).toEqual([1, 0]);
    return gate.run(async () => void order.push("late"));
  });
  hold.resolve();
  await Promise.all([waiter, late]);
  expect(order).toEqual(["waiter", "late"]);
});

test("a body that throws, at once or later, gives its place back", async () => {
  const gate = createStepGate(1);
  const boom = new Error("boom");
  await expect(
    gate.run(() => {
      throw boom;
    }),
  ).rejects.toBe(boom);
  await expect(gate.run(() => Promise.reject(boom))).rejects.toBe(boom);
  expect(await gate.run(async () => gate.running)).toBe(1);
  expect(gate.running).toBe(0);
});

/** Runs `fn` in a place of the gate, as the body of a step. */
const runStep = <T>(gate: StepGate, fn: () => Promise<T>): Promise<T> =>
  gate.run((slot) => runAsStep({ name: "a", key: "a#0", attempt: 1, maxAttempts: 1, signal }, fn, slot));

test("T2: a step inside a step runs in its parent's place, and so does a fan-out of them", async () => {
  const gate = createStepGate(1);
  const inner = await runStep(gate, () =>
    Promise.all([1, 2, 3].map((n) => gate.run(async () => [n, gate.running]))),
  );
  expect(inner).toEqual([
    [1, 1],
    [2, 1],
    [3, 1],
  ]);
});

test("T2: what a step left behind takes a place of its own once the step is over", async () => {
  const gate = createStepGate(1);
  const hold = held();
  const leftBehind: Promise<unknown>[] = [];
  await runStep(gate, async () => {
    leftBehind.push(hold.promise.then(() => gate.run(async () => "left behind")));
  });
  const next = held();
  const running = gate.run(() => next.promise);
  hold.resolve();
  await setImmediate();
  expect(gate.waiting).toBe(1);
  next.resolve();
  await running;
  expect(await leftBehind[0]).toBe("left behind");
});

test("a walk that begins outside the step takes a place of its own; another engine's gate is another matter", async () => {
  const gate = createStepGate(2);
  const other = createStepGate(1);
  await runStep(gate, async () => {
    await runOutsideStep(() => gate.run(async () => expect(gate.running).toBe(2)));
    await runStep(other, async () => {
      expect([gate.running, other.running]).toEqual([1, 1]);
      await gate.run(async () => expect(gate.running).toBe(1));
    });
  });
  expect([gate.running, other.running]).toEqual([0, 0]);
});

test("a waiter goes on in its own async context, not in that of the step before it", async () => {
  const gate = createStepGate(1);
  const hold = held();
  const first = runStep(gate, () => hold.promise);
  const second = gate.run(async () => stepInfo());
  hold.resolve();
  await first;
  expect(await second).toBe(undefined);
});

test("T3: ten thousand waiters drain, each once, in order", async () => {
  const gate = createStepGate(3);
  const hold = held();
  const order: number[] = [];
  const all = Array.from({ length: 10_000 }, (_, i) =>
    gate.run(() => hold.promise.then(() => order.push(i))),
  );
  expect(gate.waiting).toBe(9_997);
  hold.resolve();
  await Promise.all(all);
  expect(order.every((n, i) => n === i) && order.length).toBe(10_000);
  expect([gate.running, gate.waiting]).toEqual([0, 0]);
});

test("the width comes from the environment where that is a positive integer, else it is 16", () => {
  const from = (value?: string) =>
    stepConcurrencyFrom(value === undefined ? {} : { RUNSTREAM_STEP_CONCURRENCY: value });
  expect([from("4"), from(" 32 ")]).toEqual([4, 32]);
  for (const value of [undefined, "", "0", "-1", "2.5", "1e3", "many", "9".repeat(30)]) {
    expect(from(value)).toBe(DEFAULT_STEP_CONCURRENCY);
  }
  expect(DEFAULT_STEP_CONCURRENCY).toBe(16);
});

test.each([0, -1, 1.5, Number.NaN])("a width of %s is refused", (width) => {
  expect(() => createStepGate(width)).toThrow(RangeError);
});
