/** RunControl: what asks runs to drain. */
import { expect, test } from "vitest";
import { type GraphDrainedError, RunControl, workflow } from "../../src/threads/index.ts";
import { failureOf } from "./reading.ts";
import { turns } from "./time.ts";

test("a control drains once, and keeps the first reason", () => {
  const control = new RunControl();
  expect([control.draining, control.reason]).toEqual([false, undefined]);
  control.drain("scale down");
  control.drain("another reason");
  expect([control.draining, control.reason]).toEqual([true, "scale down"]);
});

test("who listens is told once, however others behave, and not afterwards", () => {
  const control = new RunControl();
  const told: string[] = [];
  control.onDrain(() => {
    told.push("first");
    throw new Error("a broken listener");
  });
  const leave = control.onDrain(() => told.push("left"));
  control.onDrain(() => told.push("second"));
  leave();
  control.drain();
  control.drain();
  control.onDrain(() => told.push("late"));
  expect(told).toEqual(["first", "second"]);
});

test("one control drains many runs", async () => {
  const control = new RunControl();
  let running = 0;
  const draining = workflow(async (_: undefined, { step }) => {
    await step("one", async () => {
      running += 1;
      while (running < 2) await turns(1);
      control.drain();
    });
    return step("two", () => 2);
  });
  const ends = await Promise.all(
    ["a", "b"].map((threadId) => failureOf(draining.invoke(undefined, { threadId, control }))),
  );
  expect(ends).toMatchObject([
    { name: "GraphDrainedError", threadId: "a", step: 2 },
    { name: "GraphDrainedError", threadId: "b", step: 2 },
  ]);
  expect((ends[0] as GraphDrainedError).reason).toBeUndefined();
});
