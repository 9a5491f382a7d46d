import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodePayload, encodePayload, type Payload, PayloadError } from "../../src/events/payload.ts";
import { anyKey, anyValue, plainJson } from "./arbitraries.ts";

const throughText = (payload: Payload | undefined): Payload | undefined =>
  payload === undefined ? undefined : (JSON.parse(JSON.stringify(payload)) as Payload);

describe("L6", () => {
  it("what is decoded equals what was encoded, types included, live and from the stored text", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const payload = encodePayload(value);
        expect(isDeepStrictEqual(decodePayload(payload), value)).toBe(true);
        expect(isDeepStrictEqual(decodePayload(throughText(payload)), value)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it("plain JSON is stored as it stands, without notes", () => {
    fc.assert(
      fc.property(plainJson, (value) => {
        expect(isDeepStrictEqual(encodePayload(value), { json: value })).toBe(true);
      }),
    );
  });

  it("a decoded value encodes to the same payload again", () => {
    fc.assert(
      fc.property(anyValue, (value) => {
        const payload = encodePayload(value);
        expect(JSON.stringify(encodePayload(decodePayload(payload)))).toBe(JSON.stringify(payload));
      }),
    );
  });
});

class Foreign {}

/** A container around a value, made so that the value can be found in it again. */
const wrapper = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.tuple(fc.nat({ max: 6 }), anyKey, anyValue, inner).map(([kind, key, beside, value]) => {
    switch (kind) {
      case 0:
        return [beside, value];
      case 1:
        return Object.fromEntries([
          ["beside", beside],
          [key, value],
        ]);
      case 2:
        return new Map([
          [beside, 1],
          [key, value],
        ] as [unknown, unknown][]);
      case 3:
        return new Map<unknown, unknown>([
          [beside, 1],
          [value, key],
        ]);
      case 4:
        return new Set([beside, value]);
      case 5:
        return new Error("x", { cause: value });
      default:
        return Object.setPrototypeOf(Object.fromEntries([[key, value]]), null) as object;
    }
  });

describe("a refused value", () => {
  const refused = [
    () => 1,
    Symbol("s"),
    new Foreign(),
    new Float32Array(1),
    Promise.resolve(),
    new WeakMap(),
  ];

  it("is refused with a path that leads to it", () => {
    fc.assert(
      fc.property(
        fc
          .constantFrom(...refused)
          .chain((bad) => fc.tuple(fc.constant(bad), wrapper(wrapper(wrapper(fc.constant(bad)))))),
        ([bad, value]) => {
          let path = "";
          try {
            encodePayload(value, "output");
          } catch (error) {
            if (!(error instanceof PayloadError)) throw error;
            path = error.path;
          }
          const expression = path.replace(/\.(keys|values)\(\)\[(\d+)\]/g, ".$1().toArray()[$2]");
          expect(new Function("output", `return ${expression}`)(value)).toBe(bad);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
