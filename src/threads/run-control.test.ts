import { expect, test } from "vitest";
import { RunControl } from "./run-control.ts";

test("a drain is asked for once, and the first reason stays", () => {
  const control = new RunControl();
  const heard: string[] = [];
  control.onDrain(() => {
    throw new Error("a listener's own");
  });
  control.onDrain(() => heard.push(`first: ${control.reason}`));
  control.onDrain(() => heard.push("never"))();
  expect(control).toMatchObject({ draining: false });
  expect("reason" in control).toBe(false);
  control.drain("deploy");
  control.drain("again");
  control.onDrain(() => heard.push("too late"));
  expect(control).toMatchObject({ draining: true, reason: "deploy" });
  expect(heard).toEqual(["first: deploy"]);
});

test("one listener may be registered twice, and taken back once", () => {
  const control = new RunControl();
  let calls = 0;
  const listener = (): void => {
    calls += 1;
  };
  control.onDrain(listener);
  control.onDrain(listener)();
  control.drain();
  expect(calls).toBe(1);
});
