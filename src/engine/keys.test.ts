import fc from "fast-check";
import { expect, test } from "vitest";
import { createKeys, isReadKey, splitKey } from "./keys.ts";

test("occurrences count from 0, each name for itself", () => {
  const keys = createKeys();
  expect([keys.step("a"), keys.step("a"), keys.step("b"), keys.step("a")]).toEqual([
    "a#0",
    "a#1",
    "b#0",
    "a#2",
  ]);
  expect([keys.read("now"), keys.read("now"), keys.read("uuid"), keys.read("random")]).toEqual([
    "now!0",
    "now!1",
    "uuid!0",
    "random!0",
  ]);
});

test("a hook and its deadline have the same occurrence", () => {
  const keys = createKeys();
  keys.hook("t");
  expect(keys.hook("t")).toEqual({ key: "hook!t#1", timeoutKey: "hookTimeout!t#1" });
});

test("K2: a step, a sleep and a hook of one name do not share a counter, and the names of kinds do not alias", () => {
  const keys = createKeys();
  expect([keys.step("cooldown"), keys.sleep("cooldown"), keys.hook("cooldown").key]).toEqual([
    "cooldown#0",
    "sleep!cooldown#0",
    "hook!cooldown#0",
  ]);
  expect([keys.step("now"), keys.read("now"), keys.step("sleep")]).toEqual(["now#0", "now!0", "sleep#0"]);
});

test("K1: counters belong to one walk", () => {
  createKeys().step("a");
  expect(createKeys().step("a")).toBe("a#0");
});

test.each(["__proto__", "constructor", "", "a#b", "a!b", "#", "now!0", "é\u0000\ud800", "a/b"])(
  "%j works as a step's name, and is split off again",
  (name) => {
    const keys = createKeys();
    expect([keys.step(name), keys.step(name)]).toEqual([`${name}#0`, `${name}#1`]);
    expect(splitKey(`${name}#1`)).toEqual({ name, occurrence: 1 });
    expect(isReadKey(`${name}#1`)).toBe(false);
  },
);

test("any name splits off again, whatever it contains", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(100_000), (name, n) => {
      expect(splitKey(`${name}#${n}`)).toEqual({ name, occurrence: n });
      expect(isReadKey(`${name}#${n}`)).toBe(false);
    }),
  );
});

test("a determinism read is told by its key", () => {
  expect(["now!0", "random!12", "uuid!3"].map(isReadKey)).toEqual([true, true, true]);
  expect(["now#0", "sleep!now#0", "nowhere!0", "hook!t#0", "now!"].map(isReadKey)).toEqual(
    Array(5).fill(false),
  );
  expect(splitKey("random!12")).toEqual({ name: "random", occurrence: 12 });
  expect(splitKey("bare")).toEqual({ name: "bare", occurrence: 0 });
});
