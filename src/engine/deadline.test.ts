import { expect, test } from "vitest";
import { deadlineOf, sliceDelay } from "./deadline.ts";
import { InvalidArgumentError } from "./invalid-argument-error.ts";

const now = Date.UTC(2026, 0, 1);
const YEAR = 365 * 86_400_000;

test.each([
  ["0", 0, now],
  ["a negative number", -5, now - 5],
  ["2^31", 2 ** 31, now + 2 ** 31],
  ["1,000 years", 1000 * YEAR, now + 1000 * YEAR],
  ["a fraction, rounded up", 0.25, now + 1],
  ["a Date", new Date(7), 7],
  ["a Date before 1970", new Date(-7), -7],
  ["the last Date", new Date(8.64e15), 8.64e15],
])("%s is a deadline", (_, until, expected) => {
  expect(deadlineOf(until, now)).toBe(expected);
});

test.each([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["an invalid Date", new Date(Number.NaN)],
  ["8640000000000000", 8.64e15],
  ["-9e+307", -9e307],
  ["a value of type string", "1000" as unknown as number],
  ["a value of type object", null as unknown as number],
])("%s is refused with a typed error that says what was given", (given, until) => {
  let error: unknown;
  try {
    deadlineOf(until, now, 'ctx.sleep("pause")');
  } catch (thrown) {
    error = thrown;
  }
  expect(InvalidArgumentError.is(error)).toBe(true);
  expect(error).toMatchObject({ name: "InvalidArgumentError", code: "RUNSTREAM_INVALID_ARGUMENT" });
  expect((error as Error).message).toContain('ctx.sleep("pause")');
  expect((error as Error).message).toContain(`was given ${given}`);
});

test("a timer gets whole milliseconds it can take, and what is left is armed again", () => {
  expect([-1, 0, Number.NaN, 0.2, 5, 2 ** 31 - 1].map(sliceDelay)).toEqual([0, 0, 0, 1, 5, 2 ** 31 - 1]);
  expect([2 ** 31, 1000 * YEAR, Number.POSITIVE_INFINITY].map(sliceDelay)).toEqual(
    Array(3).fill(2 ** 31 - 1),
  );
});

test("only errors with the code are InvalidArgumentErrors", () => {
  expect([new Error("x"), null, { code: "RUNSTREAM_INVALID_ARGUMENT" }].map(InvalidArgumentError.is)).toEqual(
    [false, false, false],
  );
});
