import { expect, test } from "vitest";
import { parseRetryAfter } from "./retry-after.ts";

const now = Date.UTC(2026, 0, 1);

test("seconds count from now, and any number of them is an instant", () => {
  expect(parseRetryAfter("120", now)?.getTime()).toBe(now + 120_000);
  expect(parseRetryAfter(" 0 ", now)?.getTime()).toBe(now);
  expect(parseRetryAfter("9".repeat(400), now)?.getTime()).toBe(8.64e15);
});

test("all three HTTP date forms name the same instant", () => {
  const instant = Date.UTC(1994, 10, 6, 8, 49, 37);
  expect(parseRetryAfter("Sun, 06 Nov 1994 08:49:37 GMT", now)?.getTime()).toBe(instant);
  expect(parseRetryAfter("Sunday, 06-Nov-94 08:49:37 GMT", now)?.getTime()).toBe(instant);
  expect(parseRetryAfter("Sun Nov  6 08:49:37 1994", now)?.getTime()).toBe(instant);
});

test.each([
  null,
  undefined,
  "",
  "  ",
  "soon",
  "-1",
  "1.5",
  "1e3",
  "0x10",
  "2026",
  "Tue",
  "Sun, 06 Xyz 1994 08:49:37 GMT",
  "next 1",
])("%j is ignored, or is seconds", (header) => {
  const expected = header === "2026" ? now + 2_026_000 : undefined;
  expect(parseRetryAfter(header, now)?.getTime()).toBe(expected);
});
