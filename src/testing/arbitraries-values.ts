/** Arbitrary values and names: everything a payload may be (law L6), and the texts that stores are known to trip over. */
import type { Arbitrary, FastCheck } from "./fast-check-module.ts";

const setOwn = (target: object, key: string, value: unknown): void => {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
};

const asRecord = (entries: readonly (readonly [string, unknown])[]): object => {
  const record = {};
  for (const [key, value] of entries) setOwn(record, key, value);
  return record;
};

const FAMILIAR = [
  "__proto__",
  "constructor",
  "toString",
  "a/b",
  "a.b",
  "a#0",
  "sleep!a#0",
  "\u0000",
  "\ud800",
  " ",
  "\u{1f680}",
];

/** Text of any UTF-16 units, lone surrogates and NUL included, of at least one unit; at times 2,000 long. Shrinks to `"a"`. */
export const oddText = (fc: FastCheck): Arbitrary<string> =>
  fc.oneof(
    { withCrossShrink: true },
    { weight: 3, arbitrary: fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom(..."abcdexyz") }) },
    { weight: 2, arbitrary: fc.constantFrom(...FAMILIAR) },
    {
      weight: 2,
      arbitrary: fc
        .array(fc.nat({ max: 0xffff }), { minLength: 1, maxLength: 8 })
        .map((units) => String.fromCharCode(...units)),
    },
    { weight: 1, arbitrary: fc.constantFrom("x", "\u00e9", "\ud800").map((unit) => unit.repeat(2_000)) },
  );

const leaf = (fc: FastCheck): Arbitrary<unknown> =>
  fc.oneof(
    { withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.string({ maxLength: 8 }),
    oddText(fc),
    fc.double(),
    fc.constantFrom(undefined, Number.NaN, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
    fc.bigInt(),
    fc.date({ noInvalidDate: true }),
    fc.uint8Array({ maxLength: 32 }),
    fc.webUrl().map((href) => new URL(href)),
    fc
      .tuple(fc.constantFrom(Error, TypeError, RangeError), fc.string({ maxLength: 8 }))
      .map(([Kind, message]) => new Kind(message)),
    fc
      .constantFrom(
        () => /a+\/b/gi,
        () => /^$/u,
      )
      .map((make) => make()),
  );

/**
 * Values that a payload may be: JSON, and Date, Map, Set, BigInt, undefined, NaN, the infinities, -0, Uint8Array, URL, RegExp, objects
 * without a prototype and JavaScript's own Errors, within each other to a depth of about four. Shrinks to `null`.
 */
export const payloadValue = (fc: FastCheck): Arbitrary<unknown> => {
  const size = { maxLength: 4, depthIdentifier: "runstream payload" };
  return fc.letrec<{ value: unknown }>((tie) => {
    const value = tie("value");
    const entries = fc.uniqueArray(fc.tuple(fc.oneof(fc.string({ maxLength: 4 }), oddText(fc)), value), {
      ...size,
      selector: ([key]) => key,
    });
    return {
      value: fc.oneof(
        { withCrossShrink: true, maxDepth: 4, depthSize: "small", depthIdentifier: "runstream payload" },
        leaf(fc),
        fc.array(value, size),
        entries.map(asRecord),
        entries.map((pairs) => Object.setPrototypeOf(asRecord(pairs), null) as object),
        fc.array(fc.tuple(value, value), size).map((pairs) => new Map(pairs)),
        fc.array(value, size).map((items) => new Set(items)),
      ),
    };
  }).value;
};
