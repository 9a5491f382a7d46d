import { describe, expect, test } from "vitest";
import { nearest } from "./nearest.ts";

describe("nearest", () => {
  test.each([
    ["gret", ["greet", "approve"], "greet"],
    ["greet ", ["approve", "greet"], "greet"],
    ["aprpove", ["greet", "approve"], "approve"],
    ["GREET", ["greet"], "greet"],
    ["flky", ["hopeless", "flaky"], "flaky"],
  ])("%j most likely means one of %j: %s", (typed, candidates, meant) => {
    expect(nearest(typed, candidates)).toBe(meant);
  });

  test.each([
    ["invoice", ["greet", "approve"]],
    ["x", ["greet"]],
    ["", ["a-long-name"]],
    ["anything", []],
  ])("%j is near to none of %j", (typed, candidates) => {
    expect(nearest(typed, candidates)).toBeUndefined();
  });
});
