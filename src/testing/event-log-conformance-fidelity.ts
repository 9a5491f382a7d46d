/** Conformance of what an event carries: it comes back as it was given, from every way of reading it. */
import assert from "node:assert/strict";
import type { RecordedEvent } from "../events/event-log.ts";
import type { JsonObject } from "../events/json.ts";
import { hookStream, runStream } from "../events/stream-names.ts";
import { collect, event, eventsOf, ids, numbered, type Test } from "./event-log-conformance-kit.ts";

export const fidelityCases = (test: Test): void => {
  for (const [name, make] of Object.entries(DATA)) {
    test(`data and metadata come back as they were given: ${name}`, async (scope) => {
      const json = make();
      const given = event("Noted", json, { also: json });
      await scope.put(scope.stream("a"), "none", [given]);
      const [read] = await collect(scope.log.read(scope.stream("a")));
      assert.deepEqual(given.data, make());
      assert.deepEqual(read?.data, make());
      assert.deepEqual(read?.metadata, { also: make() });
    });
  }

  test("a key `__proto__` is a key like any other", async (scope) => {
    const data = JSON.parse('{"__proto__":{"admin":true},"list":[{"__proto__":1}]}') as JsonObject;
    await scope.put(scope.stream("a"), "none", [event("Noted", data)]);
    const [read] = await collect(scope.log.read(scope.stream("a")));
    assert.ok(read !== undefined && Object.hasOwn(read.data, "__proto__"));
    assert.deepEqual(read.data, data);
    assert.equal("admin" in read.data, false);
  });

  test("id, type, stream and revision come back from every way of reading, and all ways agree", async (scope) => {
    const before = await scope.log.head();
    const stream = scope.stream("a");
    const given = [
      event("Noted", { n: 1 }, { who: "x" }),
      event('it\'s “ünïcode” 🚀 "quoted"', { n: 2 }, {}),
    ];
    await scope.put(stream, "none", given);
    const read = await collect(scope.log.read(stream));
    assert.deepEqual(
      read.map(({ position: _, recordedAt: __, ...rest }) => rest),
      given.map((one, revision) => ({ ...one, stream, revision })),
    );
    const filter = { streamPrefix: scope.prefix };
    assert.deepEqual(await collect(scope.log.readAll({ ...after(before), filter })), read);
    assert.deepEqual(await collect(scope.log.read(stream, { direction: "backwards" })), read.toReversed());
    const caught = scope.subscribe({ after: before ?? "start", filter });
    await caught.until("both events", (items) => eventsOf(items).length === 2);
    assert.deepEqual(eventsOf(caught.items), read);
    const consumed = scope.consume(scope.group());
    await consumed.until("both events", (items) => items.length === 2);
    assert.deepEqual(
      consumed.items.map((item) => item.event),
      read,
    );
  });

  test("a live subscriber gets the event that a later read gets", async (scope) => {
    const live = scope.subscribe({ after: "end", filter: { streamPrefix: scope.prefix } });
    await live.until("CaughtUp", (items) => items.length === 1);
    await scope.put(scope.stream("a"), "none", numbered(3));
    await live.until("the events", (items) => items.length === 4);
    assert.deepEqual(eventsOf(live.items), await collect(scope.log.read(scope.stream("a"))));
  });

  test("`recordedAt` is a whole number of milliseconds", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(2));
    for (const { recordedAt } of await collect(scope.log.read(scope.stream("a")))) {
      assert.ok(Number.isSafeInteger(recordedAt) && recordedAt >= 0, `recordedAt is ${recordedAt}`);
    }
  });

  test("what the appender does to its objects afterwards does not reach the log", async (scope) => {
    const data = { list: [1, 2], inner: { a: 1 } };
    const given = [event("Noted", data)];
    const task = scope.log.append(scope.stream("a"), "none", given)();
    data.list.push(3);
    data.inner.a = 2;
    given.push(event());
    assert.equal((await scope.within(task, "the answer"))._tag, "Right");
    data.list.push(4);
    const read = await collect(scope.log.read(scope.stream("a")));
    assert.deepEqual(
      read.map((one) => one.data),
      [{ list: [1, 2], inner: { a: 1 } }],
    );
  });

  test("what a reader does to an event does not reach the log", async (scope) => {
    await scope.put(scope.stream("a"), "none", [event("Noted", { list: [1, 2] })]);
    const [first] = await collect(scope.log.read(scope.stream("a")));
    const mutable = first as unknown as { type: string; data: { list: number[]; more?: number } };
    for (const edit of [
      () => mutable.data.list.push(3),
      () => (mutable.data.more = 1),
      () => (mutable.type = "Edited"),
    ]) {
      try {
        edit();
      } catch (error) {
        assert.ok(error instanceof TypeError, "an event that is frozen says so with a TypeError");
      }
    }
    const [second] = await collect(scope.log.read(scope.stream("a")));
    assert.deepEqual([second?.type, second?.data], ["Noted", { list: [1, 2] }]);
  });

  test("stream names made of any run id or token each name a stream of their own", async (scope) => {
    const names = UGLY.flatMap((text) => [runStream(scope.prefix + text), hookStream(scope.prefix + text)]);
    const written = new Map<string, string[]>();
    for (const name of names) {
      const events = numbered(2);
      await scope.put(name, "none", events);
      written.set(name, ids(events));
    }
    assert.equal(written.size, names.length);
    for (const [name, expected] of written) {
      const read = await collect(scope.log.read(name));
      assert.deepEqual(ids(read), expected);
      assert.ok(read.every((one: RecordedEvent) => one.stream === name));
    }
  });
};

const after = (position: RecordedEvent["position"] | undefined) =>
  position === undefined ? {} : { after: position };

const nested = (depth: number): JsonObject => {
  let json: JsonObject = { bottom: true };
  for (let n = 0; n < depth; n++) json = n % 2 === 0 ? { in: json } : { list: [json] };
  return json;
};

const DATA: Readonly<Record<string, () => JsonObject>> = {
  "nothing at all": () => ({}),
  "empty things": () => ({ object: {}, list: [], text: "", nothing: null, "": "empty key" }),
  "truth and numbers": () => ({
    yes: true,
    no: false,
    numbers: [0, 1, -1, 0.1, 1e308, -1e308, 5e-324, 2 ** 53 - 1, -(2 ** 53) + 1, 1e21, 123456789.12345679],
  }),
  "text in many scripts": () => ({
    text: "Grüße, 世界 — 👩‍👩‍👧 é é \u202ertl\u202c \t\r\n\\ \"'`",
    "schlüssel 🔑": 1,
  }),
  "NUL and control characters": () => ({ text: "a\0b\u0001\u001f\u007f\u2028\u2029", "key\0": "\0" }),
  "lone surrogates": () => ({ high: "a\ud800", low: "\udc00z", swapped: "\udc00\ud800" }),
  "keys that objects are born with": () => ({
    constructor: 1,
    toString: "x",
    hasOwnProperty: null,
    length: 3,
  }),
  "keys that look like numbers": () => ({ b: 1, 2: "two", 1: "one", "-1": "minus", "01": "octal" }),
  "deep nesting": () => nested(400),
  "a list of lists": () => ({ list: [[], [[]], [[1], [null, { a: [] }]]] }),
  "ten thousand items": () => ({
    list: Array.from({ length: 10_000 }, (_, n) => ({ n, text: `item ${n}` })),
  }),
  "a megabyte of text": () => ({ text: "0123456789abcdéf".repeat(65_536) }),
};

const UGLY: readonly string[] = [
  "",
  " ",
  "__proto__",
  "constructor",
  "a/b",
  "a%2fb",
  "%",
  "%%0000",
  "*",
  "a_b",
  "aXb",
  "a",
  "A",
  "a ",
  "é",
  "e\u0301",
  "世界🚀",
  "\0",
  "\ud800",
  "\udfff",
  "'; drop table events; --",
  "x".repeat(2_000),
];
