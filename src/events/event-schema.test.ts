import fc from "fast-check";
import * as t from "io-ts";
import { describe, expect, test } from "vitest";
import { pathsOf } from "./event-decode-error.ts";
import { Failure, Finite, JsonRecord, Limit, storedData } from "./event-schema.ts";

const required = { key: t.string, at: Finite, status: t.keyof({ ok: null, failed: null }), max: Limit };
const optional = { output: t.unknown, error: Failure, metadata: JsonRecord, startedAt: Finite };
const plainly = t.exact(t.intersection([t.type(required), t.partial(optional)]));

const whole = fc.record(
  {
    key: fc.string(),
    at: fc.integer(),
    status: fc.constantFrom("ok", "failed"),
    max: fc.integer(),
    output: fc.jsonValue(),
    error: fc.record({ message: fc.string() }),
    metadata: fc.dictionary(fc.string(), fc.jsonValue()),
    startedAt: fc.double({ noDefaultInfinity: true, noNaN: true }),
  },
  { requiredKeys: ["key", "at", "status", "max"] },
);
const names = [...Object.keys(required), ...Object.keys(optional), "stray", "toString", "__proto__"];
const odd = fc.constantFrom(undefined, null, "", "ok", 0, Number.NaN, Number.POSITIVE_INFINITY, [], {}, true);
interface Change {
  readonly name: string;
  readonly value: unknown;
  readonly removed: boolean;
}
const change: fc.Arbitrary<Change> = fc.record({
  name: fc.constantFrom(...names),
  value: fc.oneof(odd, fc.constant({ message: "m", stray: 1 })),
  removed: fc.boolean(),
});

const changed = (data: object, changes: readonly Change[]): object => {
  const copy = Object.fromEntries(Object.entries(data));
  for (const { name, value, removed } of changes) {
    if (removed) delete copy[name];
    else Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return copy;
};

/** What came of it: the data that was read, or the places that are wrong. */
const outcome = (read: t.Validation<unknown>): unknown =>
  read._tag === "Right" ? { read: read.right } : { wrong: pathsOf("data", read.left) };

describe("stored data", () => {
  const stored = storedData(required, optional);

  test("is read as io-ts reads it, or refused at the same places", () => {
    const anything = fc.oneof(
      {
        weight: 9,
        arbitrary: fc.tuple(whole, fc.array(change, { maxLength: 3 })).map((it) => changed(...it)),
      },
      { weight: 1, arbitrary: fc.oneof(odd, fc.jsonValue()) },
    );
    fc.assert(
      fc.property(anything, (data) => {
        expect(outcome(stored.decode(data))).toStrictEqual(outcome(plainly.decode(data)));
      }),
      { numRuns: 2_000 },
    );
  });

  test("that is as it was written is answered as it is", () => {
    fc.assert(
      fc.property(whole, (data) => {
        const read = stored.decode(data);
        expect(read._tag === "Right" && read.right).toBe(data);
      }),
    );
  });

  test("of a type without optional fields is refused where it is wrong", () => {
    const few = storedData({ key: t.string, at: Finite });
    expect(outcome(few.decode({ key: 1 }))).toEqual({ wrong: ["data.key", "data.at"] });
    expect(outcome(few.decode("text"))).toEqual({ wrong: ["data"] });
    expect(outcome(few.decode({ key: "k", at: 1, stray: 2 }))).toEqual({ read: { key: "k", at: 1 } });
  });
});
