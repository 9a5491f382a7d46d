/** Conformance of `append` and `head`: P1, P2, P3, and P4 where the log can be reopened. */
import assert from "node:assert/strict";
import type { EventData } from "../events/event-log.ts";
import { comparePositions } from "../events/event-log.ts";
import {
  assertAscending,
  belongsTo,
  collect,
  event,
  ids,
  numbered,
  ours,
  revisions,
  type Test,
  upTo,
} from "./event-log-conformance-kit.ts";

export const appendCases = (test: Test): void => {
  test("P1 the revisions of a stream are 0, 1, 2, … and an append answers the last of them", async (scope) => {
    const stream = scope.stream("a");
    assert.equal((await scope.put(stream, "none", numbered(1))).revision, 0);
    assert.equal((await scope.put(stream, 0, numbered(3))).revision, 3);
    assert.equal((await scope.put(stream, "any", numbered(1))).revision, 4);
    assert.deepEqual(revisions(await collect(scope.log.read(stream))), upTo(5));
  });

  test("P1 an append answers the position of its last event", async (scope) => {
    const answer = await scope.put(scope.stream("a"), "none", numbered(3));
    const last = (await collect(scope.log.read(scope.stream("a")))).at(-1);
    assert.equal(last?.position, answer.position);
  });

  test("P1 nothing is written until the task is run, and once for each time it is run", async (scope) => {
    const task = scope.log.append(scope.stream("a"), "none", numbered(2));
    assert.deepEqual(await collect(scope.log.read(scope.stream("a"))), []);
    assert.equal((await task())._tag, "Right");
    const second = await task();
    assert.deepEqual(second._tag === "Left" && second.left, {
      _tag: "WrongExpectedRevision",
      stream: scope.stream("a"),
      actual: 1,
    });
    assert.deepEqual(revisions(await collect(scope.log.read(scope.stream("a")))), [0, 1]);
  });

  for (const [name, length, expected, actual] of WRONG) {
    test(`P2 ${name} is refused with the stream's state, and nothing is written`, async (scope) => {
      const stream = scope.stream("a");
      const before = await scope.log.head();
      const there = numbered(length);
      if (length > 0) await scope.put(stream, "none", there);
      for (const events of [numbered(1), numbered(3), []]) {
        assert.deepEqual(await scope.refused(stream, expected, events), {
          _tag: "WrongExpectedRevision",
          stream,
          actual,
        });
      }
      assert.deepEqual(ids(await collect(scope.log.read(stream))), ids(there));
      assert.deepEqual(ids(await ours(scope, before)), ids(there));
    });
  }

  test("P2 `any` writes to a stream that is absent and to one that is not", async (scope) => {
    const events = numbered(3);
    for (const [n, one] of events.entries()) {
      assert.equal((await scope.put(scope.stream("a"), "any", [one])).revision, n);
    }
    assert.deepEqual(ids(await collect(scope.log.read(scope.stream("a")))), ids(events));
  });

  test("P2 an empty list writes nothing and answers the stream's state", async (scope) => {
    const stream = scope.stream("a");
    const before = await scope.log.head();
    for (const expected of ["none", "any"] as const) {
      assert.equal((await scope.put(stream, expected, [])).revision, -1);
    }
    const state = await scope.put(stream, "none", numbered(2));
    for (const expected of ["any", 1] as const) {
      assert.deepEqual(await scope.put(stream, expected, []), state);
    }
    assert.equal((await ours(scope, before)).length, 2);
  });

  test("P1 the events of an append stand next to each other, whatever else is written meanwhile", async (scope) => {
    const before = await scope.log.head();
    const batches = upTo(12).map((n) => ({
      stream: scope.stream(`s${n % 4}`),
      events: numbered(n === 0 ? 500 : 7),
    }));
    await Promise.all(batches.map(({ stream, events }) => scope.put(stream, "any", events)));
    const order = ids(await ours(scope, before));
    assert.equal(order.length, 500 + 11 * 7);
    for (const { events } of batches) {
      const start = order.indexOf(events[0]!.id);
      assert.deepEqual(order.slice(start, start + events.length), ids(events));
    }
  });

  test("P2 of many appends with one expectation exactly one is written", async (scope) => {
    const stream = scope.stream("a");
    await scope.put(stream, "none", numbered(1));
    for (let last = 0; last < 5; last++) {
      const tries = upTo(16).map(() => [event()]);
      const answers = await Promise.all(tries.map((events) => scope.log.append(stream, last, events)()));
      const winners = tries.filter((_, n) => answers[n]!._tag === "Right");
      assert.equal(winners.length, 1);
      for (const answer of answers) {
        if (answer._tag === "Right") continue;
        assert.deepEqual(answer.left, { _tag: "WrongExpectedRevision", stream, actual: last + 1 });
      }
      const written = await collect(scope.log.read(stream, { from: last + 1 }));
      assert.deepEqual(ids(written), ids(winners[0]!));
    }
  });

  test("P1 64 streams written at the same time each keep their own events in order", async (scope) => {
    const before = await scope.log.head();
    const written = new Map<string, EventData[]>();
    const writers = upTo(64).map(async (n) => {
      const stream = scope.stream(`s${n}`);
      const events = numbered(5);
      written.set(stream, events);
      for (const [at, one] of events.entries()) await scope.put(stream, at === 0 ? "none" : at - 1, [one]);
    });
    await Promise.all(writers);
    for (const [stream, events] of written) {
      const there = await collect(scope.log.read(stream));
      assert.deepEqual([ids(there), revisions(there)], [ids(events), upTo(5)]);
    }
    const all = await ours(scope, before);
    assert.equal(all.length, 64 * 5);
    assertAscending(all);
  });

  test("P3 what was acknowledged first stands first in the log, also across streams", async (scope) => {
    const before = await scope.log.head();
    const written: string[] = [];
    for (const n of upTo(30)) {
      const events = numbered(1 + (n % 2));
      await scope.put(scope.stream(`s${n % 3}`), "any", events);
      written.push(...ids(events));
    }
    assert.deepEqual(ids(await ours(scope, before)), written);
  });

  test("P3 `head` is the position of the last event", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(2));
    const { position } = await scope.put(scope.stream("b"), "none", numbered(3));
    const head = await scope.log.head();
    assert.ok(head !== undefined && comparePositions(head, position) >= 0);
    assert.deepEqual((await collect(scope.log.readAll({ after: head }))).filter(belongsTo(scope)), []);
    const next = await scope.put(scope.stream("a"), 1, numbered(1));
    assert.ok(comparePositions(next.position, head) > 0);
  });

  test("P4 what was acknowledged is there after a restart, the same in everything", async (scope) => {
    const before = await scope.log.head();
    for (const n of upTo(20)) await scope.put(scope.stream(`s${n % 3}`), "any", numbered(1 + (n % 4)));
    const written = await ours(scope, before);
    const restarted = await scope.reopened();
    assert.deepEqual(await ours(restarted, before), written);
    const { revision } = await restarted.put(scope.stream("s0"), "any", numbered(1));
    const stream = await collect(restarted.log.read(scope.stream("s0")));
    assert.equal(revision, stream.length - 1);
    assert.ok(comparePositions(stream.at(-1)!.position, written.at(-1)!.position) > 0);
    assert.equal(written.length + 1, (await ours(restarted, before)).length);
  });
};

/** A wrong expectation: its name, how many events the stream has, what is expected, and what must be answered as actual. */
const WRONG = [
  ["`none` of a stream of one event", 1, "none", 0],
  ["`none` of a stream of three", 3, "none", 2],
  ["revision 0 of an absent stream", 0, 0, "none"],
  ["revision 7 of an absent stream", 0, 7, "none"],
  ["revision −1 of an absent stream, which is not `none`,", 0, -1, "none"],
  ["a revision already passed", 3, 1, 2],
  ["revision 0 of a stream of two", 2, 0, 1],
  ["the revision after the last", 3, 3, 2],
  ["a revision far ahead", 2, 1_000, 1],
] as const;
