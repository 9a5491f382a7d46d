import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../events/json.ts";
import { frozenCopy } from "./frozen.ts";

const throughText = (json: JsonObject): unknown => JSON.parse(JSON.stringify(json));

describe("frozenCopy", () => {
  it("is what a trip through JSON text gives, for any JSON", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ noUnicodeString: false })),
        (json) => {
          expect(frozenCopy(json as JsonObject)).toStrictEqual(throughText(json as JsonObject));
        },
      ),
    );
  });

  it("is that also where the values are none that JSON has", () => {
    const odd = {
      gone: undefined,
      list: [undefined, Number.NaN, -0, 1],
      n: Number.POSITIVE_INFINITY,
      zero: -0,
    };
    const copy = frozenCopy(odd as unknown as JsonObject);
    expect(copy).toStrictEqual(throughText(odd as unknown as JsonObject));
    expect(Object.is(copy.zero, 0)).toBe(true);
  });

  it("keeps a key `__proto__` a key, at every depth", () => {
    const json = JSON.parse('{"__proto__":{"a":1},"in":[{"__proto__":null}]}') as JsonObject;
    expect(JSON.stringify(frozenCopy(json))).toBe('{"__proto__":{"a":1},"in":[{"__proto__":null}]}');
    expect(Object.getPrototypeOf(frozenCopy(json))).toBe(Object.prototype);
  });
});
