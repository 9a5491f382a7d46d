/** Conformance of `read` and `readAll`: P1 and P3 as a reader sees them. */
import assert from "node:assert/strict";
import type { EventFilter, Position, ReadOptions } from "../events/event-log.ts";
import {
  assertAscending,
  belongsTo,
  collect,
  event,
  ids,
  numbered,
  ours,
  revisions,
  type Scope,
  type Test,
  upTo,
} from "./event-log-conformance-kit.ts";

export const readCases = (test: Test): void => {
  streamCases(test);
  wholeLogCases(test);
};

const streamCases = (test: Test): void => {
  for (const [name, options, expected] of READS) {
    test(`P1 read ${name}`, async (scope) => {
      await scope.put(scope.stream("a"), "none", numbered(6));
      await scope.put(scope.stream("ab"), "none", numbered(9));
      assert.deepEqual(revisions(await collect(scope.log.read(scope.stream("a"), options))), expected);
    });
  }

  test("P1 a stream that does not exist has no events, in either direction and from anywhere", async (scope) => {
    await scope.put(scope.stream("ab"), "none", numbered(1));
    for (const direction of ["forwards", "backwards"] as const) {
      for (const options of [{ direction }, { direction, from: 3 }, { direction, max: 2 }]) {
        assert.deepEqual(await collect(scope.log.read(scope.stream("a"), options)), []);
      }
    }
  });

  test("P1 a long stream is read whole in both directions", async (scope) => {
    const events = numbered(2_500);
    await scope.put(scope.stream("a"), "none", events);
    assert.deepEqual(ids(await collect(scope.log.read(scope.stream("a")))), ids(events));
    const backwards = await collect(scope.log.read(scope.stream("a"), { direction: "backwards" }));
    assert.deepEqual(ids(backwards), ids(events).reverse());
    const tail = await collect(scope.log.read(scope.stream("a"), { from: 1_234, max: 1_100 }));
    assert.deepEqual(ids(tail), ids(events).slice(1_234, 2_334));
  });

  test("P1 a reader may stop early, and the log goes on", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(1_500));
    for (const source of [scope.log.read(scope.stream("a")), scope.log.readAll()]) {
      for await (const first of source) {
        assert.equal(typeof first.id, "string");
        break;
      }
    }
    assert.equal((await scope.put(scope.stream("a"), 1_499, numbered(1))).revision, 1_500);
  });

  test("P1 a read meets no gap and nothing twice while the stream grows", async (scope) => {
    const stream = scope.stream("a");
    const before = await scope.log.head();
    await scope.put(stream, "none", numbered(300));
    const seen: number[] = [];
    const seenOfAll: number[] = [];
    for await (const { revision } of scope.log.read(stream)) {
      if (revision < 300 && revision % 3 === 0) await scope.put(stream, "any", numbered(2));
      seen.push(revision);
    }
    assert.deepEqual(seen, upTo(seen.length));
    assert.ok(seen.length >= 300);
    const options = {
      filter: { streamPrefix: scope.prefix },
      ...(before === undefined ? {} : { after: before }),
    };
    for await (const { revision } of scope.log.readAll(options)) {
      if (revision < 300 && revision % 3 === 0) await scope.put(stream, "any", numbered(2));
      seenOfAll.push(revision);
    }
    assert.deepEqual(seenOfAll, upTo(seenOfAll.length));
    assert.ok(seenOfAll.length >= 500);
  });
};

const wholeLogCases = (test: Test): void => {
  test("P3 positions order the whole log and no two events share one", async (scope) => {
    const before = await scope.log.head();
    await mixed(scope);
    const all = await ours(scope, before);
    assert.equal(all.length, 24);
    assertAscending(all);
    assert.equal(new Set(all.map((one) => one.position)).size, all.length);
    assert.deepEqual(await ours(scope, undefined), all);
  });

  test("P3 resuming after any position answers exactly the rest", async (scope) => {
    const before = await scope.log.head();
    await mixed(scope);
    const all = await ours(scope, before);
    for (const [n, one] of all.entries()) {
      assert.deepEqual(ids(await ours(scope, one.position)), ids(all.slice(n + 1)));
    }
  });

  test("P3 paging with `max` and `after` answers every event once", async (scope) => {
    const filter = { streamPrefix: scope.prefix, types: ["Even"] };
    let after = await scope.log.head();
    const before = after;
    await mixed(scope);
    const pages: string[][] = [];
    for (;;) {
      const page = await collect(scope.log.readAll({ filter, max: 5, ...from(after) }));
      if (page.length === 0) break;
      pages.push(ids(page));
      after = page.at(-1)!.position;
    }
    assert.deepEqual(
      pages.map((page) => page.length),
      [5, 5, 2],
    );
    const expected = (await ours(scope, before)).filter(({ type }) => type === "Even");
    assert.deepEqual(pages.flat(), ids(expected));
  });

  for (const [name, filter, passes] of FILTERS) {
    test(`P3 readAll answers what passes the filter and nothing else: ${name}`, async (scope) => {
      const before = await scope.log.head();
      await mixed(scope);
      const own = filter(scope.prefix);
      const got = (await collect(scope.log.readAll({ filter: own, ...from(before) }))).filter(
        belongsTo(scope),
      );
      const expected = (await ours(scope, before)).filter((one) =>
        passes(one.stream.slice(scope.prefix.length), one.type),
      );
      assert.deepEqual(got, expected);
    });
  }

  test("P3 `max` is a bound on what is answered, and 0 answers nothing", async (scope) => {
    const before = await scope.log.head();
    await mixed(scope);
    const filter = { streamPrefix: scope.prefix };
    const all = await ours(scope, before);
    for (const max of [0, 1, 23, 24, 1_000]) {
      const got = await collect(scope.log.readAll({ filter, max, ...from(before) }));
      assert.deepEqual(ids(got), ids(all.slice(0, max)));
    }
  });
};

/** 24 events in four streams whose names are hard to tell apart for a pattern, of two types and one that is odd. */
const mixed = async (scope: Scope): Promise<void> => {
  const streams = ["a_b", "aXb", "A_b", "a_bc"];
  for (const n of upTo(24)) {
    const type = n % 2 === 0 ? "Even" : n % 3 === 0 ? "it's, odd" : "Odd";
    await scope.put(scope.stream(streams[Math.floor(n / 2) % 4]!), "any", [event(type, { n })]);
  }
};

const from = (after: Position | undefined) => (after === undefined ? {} : { after });

const READS: readonly (readonly [string, ReadOptions, readonly number[]])[] = [
  ["answers the whole stream, first event first", {}, [0, 1, 2, 3, 4, 5]],
  ["backwards answers the last event first", { direction: "backwards" }, [5, 4, 3, 2, 1, 0]],
  ["begins at `from`, inclusive", { from: 2 }, [2, 3, 4, 5]],
  ["from 0 is the whole stream", { from: 0 }, [0, 1, 2, 3, 4, 5]],
  ["backwards begins at `from`, inclusive", { direction: "backwards", from: 2 }, [2, 1, 0]],
  ["backwards from 0 is the first event", { direction: "backwards", from: 0 }, [0]],
  ["answers `max` events at most", { max: 2 }, [0, 1]],
  ["backwards answers `max` events at most", { direction: "backwards", max: 2 }, [5, 4]],
  ["takes `from` and `max` together", { from: 3, max: 2 }, [3, 4]],
  ["backwards takes `from` and `max` together", { direction: "backwards", from: 3, max: 2 }, [3, 2]],
  ["with more `max` than there is answers what there is", { from: 4, max: 100 }, [4, 5]],
  ["with `max` 0 answers nothing", { max: 0 }, []],
  ["past the end answers nothing", { from: 6 }, []],
  [
    "backwards from past the end begins at the last event",
    { direction: "backwards", from: 99, max: 2 },
    [5, 4],
  ],
];

const FILTERS: readonly (readonly [
  string,
  (prefix: string) => EventFilter,
  (label: string, type: string) => boolean,
])[] = [
  ["a prefix", (prefix) => ({ streamPrefix: `${prefix}a_b` }), (label) => label.startsWith("a_b")],
  [
    "a prefix is no pattern",
    (prefix) => ({ streamPrefix: `${prefix}a_` }),
    (label) => label.startsWith("a_"),
  ],
  [
    "a prefix of another case",
    (prefix) => ({ streamPrefix: `${prefix}A` }),
    (label) => label.startsWith("A"),
  ],
  ["a type", () => ({ types: ["Even"] }), (_, type) => type === "Even"],
  ["several types", () => ({ types: ["Odd", "it's, odd"] }), (_, type) => type !== "Even"],
  [
    "a prefix and types",
    (prefix) => ({ streamPrefix: `${prefix}a_bc`, types: ["Odd", "Even"] }),
    (label, type) => label === "a_bc" && type !== "it's, odd",
  ],
  ["a type nobody has", () => ({ types: ["even"] }), () => false],
  ["no type at all", () => ({ types: [] }), () => false],
  ["an empty prefix", () => ({ streamPrefix: "" }), () => true],
  ["an empty filter", () => ({}), () => true],
];
