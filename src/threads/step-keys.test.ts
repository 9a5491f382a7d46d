import fc from "fast-check";
import { expect, test } from "vitest";
import { StepKeys } from "./step-keys.ts";

const keysOf = (names: readonly string[]): string[] => {
  const keys = new StepKeys();
  return names.map((name) => keys.next(name));
};

test("the first call of a name has the name, later ones are numbered in the order of the calls", () => {
  expect(keysOf(["tick", "tock", "tick", "tick"])).toEqual(["tick", "tock", "tick#2", "tick#3"]);
});

test("a # that numbers nothing stays as it is", () => {
  expect(keysOf(["issue #12: late", "#", "a#"])).toEqual(["issue #12: late", "#", "a#"]);
});

test("a name that looks like a repetition is marked, and so is one that holds the mark", () => {
  expect(keysOf(["a", "a#2", "a", "a#2", "a\\#2"])).toEqual(["a", "a\\#2", "a#2", "a\\#2#2", "a\\\\\\#2"]);
});

test("names of objects' members are names", () => {
  expect(keysOf(["__proto__", "constructor", "__proto__"])).toEqual([
    "__proto__",
    "constructor",
    "__proto__#2",
  ]);
});

test("two calls never have one key (property)", () => {
  const name = fc
    .array(fc.constantFrom("a", "#", "\\", "2", "12"), { maxLength: 5 })
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.array(name, { maxLength: 40 }), (names) => {
      const keys = keysOf(names);
      expect(new Set(keys).size).toBe(keys.length);
    }),
  );
});
