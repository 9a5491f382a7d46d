import { expect, test } from "vitest";
import { codeVerdict, processCodeVersion } from "./code-version.ts";

test("the code version is trimmed, and blank means none", () => {
  expect(processCodeVersion({ RUNSTREAM_CODE_VERSION: "  abc1 \n" })).toBe("abc1");
  expect(processCodeVersion({ RUNSTREAM_CODE_VERSION: "   " })).toBe(undefined);
  expect(processCodeVersion({})).toBe(undefined);
});

test("only two known versions can tell whether the code changed", () => {
  expect(codeVerdict("a", "b")).toBe("changed");
  expect(codeVerdict("a", "a")).toBe("same");
  expect([codeVerdict(undefined, "a"), codeVerdict("a", undefined)]).toEqual(["unknown", "unknown"]);
});
