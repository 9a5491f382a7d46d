import { describe, expect, it } from "vitest";
import { fresh } from "./fresh.ts";

describe("a copy for a caller", () => {
  it("is equal, and shares records, arrays and dates at no depth", () => {
    const value = { list: [{ at: new Date(5) }], deep: { er: { word: "x" } }, none: null, not: undefined };
    const copy = fresh(value);
    expect(copy).toStrictEqual(value);
    copy.list[0]?.at.setTime(9);
    copy.list.push({ at: new Date(1) });
    copy.deep.er.word = "y";
    expect(value).toStrictEqual({
      list: [{ at: new Date(5) }],
      deep: { er: { word: "x" } },
      none: null,
      not: undefined,
    });
  });

  it("shares bytes and what else a value holds", () => {
    const value = { bytes: new Uint8Array([1]), map: new Map() };
    const copy = fresh(value);
    expect(copy.bytes).toBe(value.bytes);
    expect(copy.map).toBe(value.map);
  });

  it("takes every key for an ordinary one", () => {
    const value = JSON.parse('{"__proto__":{"admin":true},"constructor":{"a":[1]}}') as object;
    const copy = fresh(value);
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
    expect("admin" in copy).toBe(false);
  });
});
