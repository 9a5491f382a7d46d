/** Conformance of one subscription, from catching up to live: P5. Several at once are in the subscribers' cases. */
import assert from "node:assert/strict";
import type { Position, RecordedEvent } from "../events/event-log.ts";
import { comparePositions } from "../events/event-log.ts";
import {
  assertAscending,
  belongsTo,
  event,
  eventsOf,
  type Item,
  ids,
  isEvent,
  numbered,
  ours,
  type Scope,
  type Test,
  upTo,
} from "./event-log-conformance-kit.ts";

export const subscribeCases = (test: Test): void => {
  catchUpCases(test);
  seamCases(test);
};

const catchUpCases = (test: Test): void => {
  test("P5 from the start a subscription delivers all that was there, then CaughtUp, then what comes", async (scope) => {
    const there = numbered(5);
    await scope.put(scope.stream("a"), "none", there);
    const watch = scope.subscribe({ after: "start" });
    await watch.until("CaughtUp", hasCaughtUp);
    const later = numbered(3);
    await scope.put(scope.stream("b"), "none", later);
    await watch.until("what came later", (items) => own(scope, items).length === 8);
    assert.deepEqual(ids(own(scope, watch.items)), ids([...there, ...later]));
    assertCaughtUpOnce(watch.items, own(scope, watch.items)[4]!.position);
  });

  test("P5 after a position a subscription delivers exactly the rest", async (scope) => {
    const before = await scope.log.head();
    for (const n of upTo(6)) await scope.put(scope.stream(`s${n % 2}`), "any", numbered(1));
    const all = await ours(scope, before);
    for (const [n, { position }] of all.entries()) {
      const watch = scope.subscribe({ after: position });
      await watch.until("CaughtUp", hasCaughtUp);
      assert.deepEqual(ids(own(scope, watch.items)), ids(all.slice(n + 1)));
      assertCaughtUpOnce(watch.items, all.at(-1)!.position);
      watch.stop();
    }
  });

  test("P5 from the end a subscription delivers only what comes next", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(3));
    const watch = scope.subscribe({ after: "end" });
    await watch.until("CaughtUp", hasCaughtUp);
    const next = numbered(2);
    const { position } = await scope.put(scope.stream("a"), 2, next);
    await watch.until("the new events", (items) => own(scope, items).length === 2);
    assert.deepEqual(ids(own(scope, watch.items)), ids(next));
    const caughtUp = watch.items.find((item) => !isEvent(item));
    assert.ok(caughtUp?.position !== undefined && comparePositions(caughtUp.position, position) < 0);
  });

  test("P5 a subscription that nothing matches catches up all the same, and says how far it has looked", async (scope) => {
    const { position } = await scope.put(scope.stream("a"), "none", numbered(3));
    const watch = scope.subscribe({ after: "start", filter: { streamPrefix: scope.stream("nobody") } });
    await watch.until("CaughtUp", hasCaughtUp);
    assert.equal(watch.items.length, 1);
    assertCaughtUpOnce(watch.items, position);
  });

  test("P5 a subscription delivers what passes its filter and nothing else, old and new", async (scope) => {
    const before = await scope.log.head();
    const watches = [
      {
        filter: { streamPrefix: scope.stream("a") },
        wanted: (one: RecordedEvent) => one.stream.startsWith(scope.stream("a")),
      },
      {
        filter: { streamPrefix: scope.prefix, types: ["X", "Y"] },
        wanted: (one: RecordedEvent) => one.type !== "Z",
      },
      {
        filter: { streamPrefix: scope.stream("b"), types: ["Z"] },
        wanted: (one: RecordedEvent) => one.type === "Z" && one.stream === scope.stream("b"),
      },
    ];
    const write = async () => {
      for (const stream of ["a", "b", "ab"]) {
        await scope.put(scope.stream(stream), "any", [event("X"), event("Z"), event("Y")]);
      }
    };
    await write();
    const running = watches.map(({ filter }) => scope.subscribe({ after: before ?? "start", filter }));
    for (const watch of running) await watch.until("CaughtUp", hasCaughtUp);
    await write();
    // Each filter passes one of these two, so what it should not have passed would have come before that.
    await scope.put(scope.stream("ab"), "any", [event("X")]);
    await scope.put(scope.stream("b"), "any", [event("Z")]);
    const all = await ours(scope, before);
    for (const [n, { wanted }] of watches.entries()) {
      const expected = ids(all.filter(wanted));
      await running[n]!.until(
        `${expected.length} events`,
        (items) => eventsOf(items).length >= expected.length,
      );
      assert.deepEqual(ids(eventsOf(running[n]!.items)), expected);
    }
  });
};

const seamCases = (test: Test): void => {
  test("P5 nothing is lost and nothing comes twice at the seam while a writer is busy", async (scope) => {
    const before = await scope.log.head();
    const filter = { streamPrefix: scope.prefix };
    const watches: {
      readonly after: Position | undefined;
      readonly watch: ReturnType<Scope["subscribe"]>;
    }[] = [];
    for (const n of upTo(240)) {
      const writing = scope.put(scope.stream(`s${n % 3}`), "any", numbered(1 + (n % 3)));
      // Subscribed while an append is under way, from the start of the case and from where the log stood a moment ago.
      if (n % 30 === 7)
        watches.push({ after: before, watch: scope.subscribe({ after: before ?? "start", filter }) });
      const { position } = await writing;
      if (n % 30 === 22)
        watches.push({ after: position, watch: scope.subscribe({ after: position, filter }) });
    }
    const all = await ours(scope, before);
    for (const { after, watch } of watches) {
      const rest = all.filter((one) => after === undefined || comparePositions(one.position, after) > 0);
      await watch.until(
        `${rest.length} events`,
        (items) => eventsOf(items).length >= rest.length && hasCaughtUp(items),
      );
      assert.deepEqual(ids(eventsOf(watch.items)), ids(rest));
      assertCaughtUpOnce(watch.items, undefined);
    }
  });

  test("P5 a long log is caught up with whole and in order", async (scope) => {
    const before = await scope.log.head();
    for (const n of upTo(5)) await scope.put(scope.stream(`s${n}`), "none", numbered(700));
    const watch = scope.subscribe({ after: before ?? "start" });
    await watch.until("CaughtUp", hasCaughtUp);
    const events = own(scope, watch.items);
    assert.equal(events.length, 3_500);
    assertAscending(events);
    assertCaughtUpOnce(watch.items, events.at(-1)!.position);
  });

  test("P5 an event is delivered only once it can be read", async (scope) => {
    const stream = scope.stream("a");
    const reads: Promise<number>[] = [];
    const watch = scope.subscribe({ after: "end", filter: { streamPrefix: stream } }, (item) => {
      if (isEvent(item)) reads.push(lengthOf(scope, stream));
    });
    await watch.until("CaughtUp", hasCaughtUp);
    for (const n of upTo(10)) await scope.put(stream, "any", numbered(1 + (n % 2)));
    await watch.until("15 events", (items) => eventsOf(items).length === 15);
    for (const [revision, length] of (await Promise.all(reads)).entries()) assert.ok(length > revision);
  });
};

const own = (scope: Scope, items: readonly Item[]): RecordedEvent[] =>
  eventsOf(items).filter(belongsTo(scope));

export const hasCaughtUp = (items: readonly Item[]): boolean => items.some((item) => !isEvent(item));

/** CaughtUp came once, after all at or before its position and before all that is later, having looked `atLeast` so far. */
const assertCaughtUpOnce = (items: readonly Item[], atLeast: Position | undefined): void => {
  const at = items.findIndex((item) => !isEvent(item));
  const caughtUp = items[at];
  assert.equal(items.filter((item) => !isEvent(item)).length, 1, "CaughtUp is said once");
  assert.ok(caughtUp !== undefined);
  const { position } = caughtUp;
  if (atLeast !== undefined) assert.ok(position !== undefined && comparePositions(position, atLeast) >= 0);
  for (const [n, item] of items.entries()) {
    if (n === at || item.position === undefined) continue;
    const earlier = position !== undefined && comparePositions(item.position, position) <= 0;
    assert.equal(earlier, n < at, `${item.position} is on the wrong side of CaughtUp at ${position}`);
  }
};

const lengthOf = async (scope: Scope, stream: string): Promise<number> => {
  let length = 0;
  for await (const _ of scope.log.read(stream)) length++;
  return length;
};
