import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import type { Json } from "./json.ts";
import { decodePayload, encodePayload, MAX_PAYLOAD_DEPTH, type Payload, PayloadError } from "./payload.ts";

/** Through the codec and through the text that stores keep. */
const carried = (value: unknown): unknown =>
  decodePayload(JSON.parse(JSON.stringify(encodePayload(value))) as Payload);

const refusal = (value: unknown): PayloadError => {
  try {
    encodePayload(value, "output");
  } catch (error) {
    if (error instanceof PayloadError) return error;
    throw error;
  }
  throw new Error("it was not refused");
};

const own = (key: string, value: unknown): object =>
  JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(value)}}`);

const nested = (levels: number, wrap: (inner: unknown) => unknown, core: unknown = 1): unknown => {
  let value = core;
  for (let i = 0; i < levels; i++) value = wrap(value);
  return value;
};

describe("plain JSON is stored as it stands", () => {
  const values: Json[] = [
    null,
    true,
    0,
    -1.5e300,
    "",
    "é\u0000\ud800x",
    [],
    {},
    [[], {}],
    { a: [1, { b: null }] },
    {
      __type: "Date",
      json: 1,
      meta: { values: ["Date"] },
      types: null,
      "a.b": { ".": "\\" },
      "": { "": 0 },
    },
    { constructor: 3, prototype: { toString: "x" }, toJSON: 1, length: 0, "ключ 🙂": 1 },
    own("__proto__", { polluted: true }) as Json,
  ];
  it.each(values.map((value) => [JSON.stringify(value), value] as const))("%s", (_, value) => {
    const payload = encodePayload(value);
    expect(isDeepStrictEqual(payload, { json: value })).toBe(true);
    expect(isDeepStrictEqual(carried(value), value)).toBe(true);
  });

  it("a stored __proto__ key is data and reaches no prototype", () => {
    const back = carried(own("__proto__", { polluted: true })) as object;
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
    expect(Object.keys(back)).toEqual(["__proto__"]);
  });

  it("undefined is no payload, and no payload is undefined", () => {
    expect(encodePayload(undefined)).toBeUndefined();
    expect(decodePayload(undefined)).toBeUndefined();
  });
});

describe("keys that JSON writes with an escape", () => {
  it.each(['say "hi"', "C:\\temp", "line\nbreak", "\u0000", "\ud800"])("are stored as entries: %j", (key) => {
    const value = { a: 1, [key]: { b: [2] } };
    const payload = encodePayload(value);
    expect(payload?.json).toEqual([
      ["a", 1],
      [key, { b: [2] }],
    ]);
    expect(isDeepStrictEqual(carried(value), value)).toBe(true);
  });

  it("survive a JSON.parse that mistakes one such key for another", () => {
    const backslash = { a: 1, "\\": 2 };
    const quote = { a: 1, '"': 2 };
    expect(Object.keys(carried(backslash) as object)).toEqual(["a", "\\"]);
    expect(Object.keys(carried(quote) as object)).toEqual(["a", '"']);
  });
});

describe("values beyond JSON come back as what they were", () => {
  const bytes = new Uint8Array([0, 255, 7]);
  const coded = Object.assign(new RangeError("far", { cause: { at: new Date(9) } }), {
    code: "E_FAR",
    "odd.key": 1n,
  });
  const renamed = Object.assign(new Error("gone"), { name: "TimeoutError" });
  const bare = Object.assign(Object.create(null), { a: 1, constructor: new Date(1) }) as object;
  const cases: [string, unknown][] = [
    ["a Date", new Date(1234)],
    ["a Date far away", [new Date(8.64e15), new Date(-8.64e15), new Date(-1)]],
    ["an invalid Date", { at: new Date(Number.NaN) }],
    ["undefined within", { a: undefined, b: [undefined, null] }],
    ["BigInts", [0n, -(2n ** 200n)]],
    ["odd numbers", [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0, 0]],
    ["a number alone", -0],
    ["bytes", { bytes, none: new Uint8Array(0) }],
    [
      "a Map of any keys",
      new Map<unknown, unknown>([
        [new Date(5), bytes],
        [bytes, new Set([1])],
        ["k", undefined],
        [{ a: 1 }, "o"],
      ]),
    ],
    [
      "a Set of any values",
      new Set<unknown>([new Date(1), "1970-01-01T00:00:00.001Z", bytes, new Map([[1n, Number.NaN]])]),
    ],
    ["a URL", new URL("https://user:pw@example.com:8080/a%20b?q=1#h")],
    ["RegExps", [/a\/b.c/giu, /[/]/d, /(?:)/, /\n/s]],
    ["an Error with a cause and properties", coded],
    ["a renamed Error", renamed],
    ["an Error without a message", [new TypeError(), new Error("", { cause: undefined })]],
    ["an AggregateError", new AggregateError([new Error("a"), 2], "both")],
    ["an object without a prototype", bare],
    ["a group of values", Object.groupBy([1, 2, 3], (n) => (n % 2 === 0 ? "even" : "odd"))],
    [
      "awkward keys beside rich values",
      { constructor: new Date(1), prototype: { constructor: { "a.b\\": 2n } }, __type: "Date" },
    ],
    ["a __proto__ key beside a rich value", Object.assign(own("__proto__", { x: 1 }), { at: new Date(1) })],
    [
      "dots and backslashes in keys of rich values",
      { "a.b": { "\\": { "": 1n, ".": 2n } }, "\\.": [3n], "a\\.b": 4n },
    ],
    [
      "NUL and lone surrogates in keys of rich values",
      { "\u0000": 1n, "\ud800": new Date(1), "": undefined },
    ],
    ["an author's own notes", { json: { at: new Date(1) }, meta: { values: { at: ["Date"] } } }],
  ];
  it.each(cases)("%s", (_, value) => {
    expect(isDeepStrictEqual(carried(value), value)).toBe(true);
  });

  it("an Error is equal in class, name, message, cause and properties; its stack is not kept", () => {
    const back = carried(coded) as RangeError & { code: string };
    expect(back).toBeInstanceOf(RangeError);
    expect([back.name, back.message, back.code, back.cause]).toEqual([
      "RangeError",
      "far",
      "E_FAR",
      { at: new Date(9) },
    ]);
    expect(back.stack).toBe("RangeError: far");
  });

  it("a Buffer comes back as a Uint8Array over memory of its own, stored as base64", () => {
    const payload = encodePayload(Buffer.from("hello").subarray(1, 4));
    expect(payload?.json).toBe("ZWxs");
    const back = carried(Buffer.from("ell")) as Uint8Array;
    expect(Object.getPrototypeOf(back)).toBe(Uint8Array.prototype);
    expect([...back]).toEqual([101, 108, 108]);
    expect(back.buffer.byteLength).toBe(3);
  });

  it("a reference that occurs twice becomes two copies, with and without rich values", () => {
    const shared = { n: 1 };
    for (const value of [
      { a: shared, b: shared },
      { a: shared, b: shared, at: new Date(1) },
    ]) {
      const back = carried(value) as { a: object; b: object };
      expect(back).toEqual(value);
      expect(back.a).not.toBe(back.b);
    }
  });

  it("deep nesting up to the limit, in containers of every kind", () => {
    const wraps: ((inner: unknown) => unknown)[] = [
      (inner) => [inner],
      (inner) => ({ inner }),
      (inner) => new Map([["k", inner]]),
      (inner) => new Set([inner]),
      (inner) => new Error("e", { cause: inner }),
      (inner) => ({ constructor: inner, at: 1n }),
      (inner) => Object.assign(new Error("e"), { constructor: inner }),
    ];
    for (const wrap of wraps) {
      const value = nested(MAX_PAYLOAD_DEPTH, wrap, "core");
      expect(JSON.stringify(encodePayload(carried(value)))).toBe(JSON.stringify(encodePayload(value)));
      expect(refusal(nested(MAX_PAYLOAD_DEPTH + 1, wrap)).message).toContain(
        "nested deeper than 1000 levels",
      );
    }
  });
});

describe("what cannot be carried is refused with its path", () => {
  class Point {
    x = 1;
  }
  class OwnError extends Error {}
  const cycle: { a: { list: unknown[] } } = { a: { list: [] } };
  cycle.a.list.push(0, cycle.a);
  const mapCycle = new Map<string, unknown>();
  mapCycle.set("me", { mapCycle });
  const called = (): never => {
    throw new Error("the accessor was called");
  };
  const sparse = [1, 2, 3];
  delete sparse[1];
  const hidden = Object.defineProperty({}, "secret", { value: 1, enumerable: false });
  const long = Object.assign(
    Array.from({ length: 100 }, (_, i) => i),
    { total: 1 },
  );
  const sticky = /a/y;
  sticky.lastIndex = 1;

  const cases: [string, unknown, string, string][] = [
    ["a function", { items: [0, 1, 2, { when: () => 1 }] }, "output.items[3].when", "a function"],
    ["a class", [Point], "output[0]", "a function"],
    ["a symbol", { a: Symbol("s") }, "output.a", "a symbol"],
    ["a symbol key", { a: { [Symbol("s")]: 1 } }, "output.a", "Symbol(s)"],
    ["a class instance", { "odd key": new Point() }, 'output["odd key"]', "an instance of Point"],
    ["a subclass of Map", new (class Tags extends Map {})(), "output", "an instance of Tags"],
    ["a subclass of Array", { l: new (class List extends Array {})() }, "output.l", "an instance of List"],
    ["a subclass of Error", { e: new OwnError("x") }, "output.e", "an instance of OwnError"],
    ["a boxed number", [Object(1)], "output[0]", "an instance of Number"],
    ["a promise", { p: Promise.resolve(1) }, "output.p", "Await it first"],
    ["a cycle", cycle, "output.a.list[1]", "a cycle back to output.a"],
    ["a cycle through a Map", mapCycle, 'output.get("me").mapCycle', "a cycle back to output"],
    ["a typed array", [new Float64Array(1)], "output[0]", "a Float64Array"],
    ["an ArrayBuffer", new ArrayBuffer(1), "output", "new Uint8Array(buffer)"],
    ["a DataView", new DataView(new ArrayBuffer(1)), "output", "a DataView"],
    ["a WeakMap", { w: new WeakMap() }, "output.w", "a WeakMap"],
    ["a hole", { s: sparse }, "output.s[1]", "a hole"],
    [
      "an accessor",
      {
        get a(): number {
          throw new Error("called");
        },
      },
      "output.a",
      "an accessor",
    ],
    ["a hidden property", { h: hidden }, "output.h.secret", "not enumerable"],
    ["a match array", "abc".match(/b/), "output.index", "a property added"],
    ["a long array with a name", { long }, "output.long.total", "a property added"],
    [
      "a Date with a property",
      [Object.assign(new Date(), { tz: "UTC" })],
      "output[0].tz",
      "a property added",
    ],
    ["a RegExp in use", sticky, "output", "lastIndex"],
    ["within a Map's value", new Map([["a", [() => 1]]]), 'output.get("a")[0]', "a function"],
    [
      "within a Map's odd key",
      new Map([
        [1n, 1],
        [2n, Symbol("s")],
      ] as [unknown, unknown][]),
      "output.values()[1]",
      "a symbol",
    ],
    [
      "within a Map's key",
      new Map([
        [1, 1],
        [{ f: () => 1 }, 1],
      ] as [unknown, unknown][]),
      "output.keys()[1].f",
      "a function",
    ],
    ["within a Set", new Set([1, [() => 1]]), "output.values()[1][0]", "a function"],
    ["within a cause", new Error("x", { cause: [new Point()] }), "output.cause[0]", "an instance of Point"],
    [
      "within an AggregateError",
      new AggregateError([new OwnError("x")]),
      "output.errors[0]",
      "an instance of OwnError",
    ],
    [
      "within an Error's property",
      Object.assign(new Error("x"), { req: { f: () => 1 } }),
      "output.req.f",
      "a function",
    ],
    [
      "below odd keys",
      { "": { "\u0000": { "\ud800": () => 1 } } },
      'output[""]["\\u0000"]["\\ud800"]',
      "a function",
    ],
    ["a fake URL", Object.create(URL.prototype), "output", "an instance of URL"],
    [
      "an accessor in an array",
      Object.defineProperty([1], 0, { get: called, enumerable: true }),
      "output[0]",
      "an accessor",
    ],
    [
      "an accessor on an Error",
      Object.defineProperty(new Error("x"), "message", { get: called }),
      "output.message",
      "must be text",
    ],
    [
      "an array with a hidden property",
      Object.defineProperty([1], "raw", { value: 1 }),
      "output.raw",
      "a property added",
    ],
    [
      "an array with a number that is no index",
      Object.assign([1], { "01": 2 }),
      'output["01"]',
      "a property added",
    ],
    ["a RegExp with a property", Object.assign(/a/, { note: 1 }), "output.note", "a property added"],
    ["a fake Date", Object.create(Date.prototype), "output", "an instance of Date"],
    ["the prototype of all objects", Object.prototype, "output.constructor", "not enumerable"],
  ];
  it.each(cases)("%s", (_, value, path, found) => {
    const error = refusal(value);
    expect(error.path).toBe(path);
    expect(error.message).toContain(found);
    expect(error.message.startsWith(`${path}: `)).toBe(true);
  });

  it("a wide cycle is found at once", () => {
    const a: Record<string, unknown> = {};
    for (let i = 0; i < 20; i++) a[`k${i}`] = a;
    expect(refusal(a).path).toBe("output.k0");
  });

  it("an error never quotes a value", () => {
    expect(refusal({ password: "hunter2", f: () => "hunter2" }).message).not.toContain("hunter2");
  });
});

describe("nobody reaches what is stored", () => {
  it("through the value that was encoded", () => {
    const value = { list: [1], bytes: new Uint8Array([1]), at: new Date(1) };
    const payload = encodePayload(value);
    value.list.push(2);
    value.bytes[0] = 9;
    value.at.setTime(0);
    expect(decodePayload(payload)).toEqual({ list: [1], bytes: new Uint8Array([1]), at: new Date(1) });
  });

  it("through a decoded value, which is fresh each time", () => {
    for (const value of [{ list: [1] }, { list: [1], at: new Date(1), constructor: [new Map([[1, [2]]])] }]) {
      const payload = encodePayload(value) as Payload;
      const before = JSON.stringify(payload);
      const first = decodePayload(payload) as { list: number[] };
      first.list.push(2);
      expect(JSON.stringify(payload)).toBe(before);
      expect(decodePayload(payload)).toEqual(value);
    }
  });
});
