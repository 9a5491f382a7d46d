import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonFault } from "./json-fault.ts";

const parses = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

describe("jsonFault", () => {
  test.each([
    ["", 0, "a value"],
    ["  ", 2, "a value"],
    ['{"a":}', 5, "a value"],
    ['{"a" 1}', 5, "a colon"],
    ['{"a":1 "b":2}', 7, "a comma or }"],
    ["{'a':1}", 1, 'a name in double quotes (") or }'],
    ["[1,2", 4, "a comma or ]"],
    ["[1,]", 3, "a value"],
    ['"abc', 4, 'the closing "'],
    ['"a\\x"', 2, "a valid escape such as \\n"],
    ["truth", 0, "a value"],
    ["01", 1, "the end of the text"],
    ["{} x", 3, "the end of the text"],
  ])("%j stops being JSON at %i, where %s should stand", (text, at, expected) => {
    expect(jsonFault(text)).toEqual({ at, expected });
  });

  test("finds a fault exactly where JSON.parse refuses", () => {
    const broken = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", "}", "]", '"', ":", "x", "\\", "\n", "1"))
      .map(
        ([text, at, sign]) =>
          text.slice(0, at % (text.length + 1)) + sign + text.slice((at % (text.length + 1)) + 1),
      );
    fc.assert(
      fc.property(fc.oneof(fc.json(), broken, fc.string()), (text) => {
        expect(jsonFault(text) === undefined).toBe(parses(text));
      }),
      { numRuns: 2_000 },
    );
  });
});
