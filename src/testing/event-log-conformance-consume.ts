/** Conformance of `consume` while all goes well: P6. What happens when consumers leave or refuse is in the redelivery cases. */
import assert from "node:assert/strict";
import type { Consumed } from "../events/event-log.ts";
import {
  consumedIds,
  event,
  ids,
  numbered,
  ours,
  type Scope,
  type Test,
  upTo,
  type Watch,
} from "./event-log-conformance-kit.ts";

export const consumeCases = (test: Test): void => {
  test("P6 a group begins at the beginning of the log and goes on with what comes", async (scope) => {
    const there = numbered(5);
    await scope.put(scope.stream("a"), "none", there);
    const consumer = scope.consume(scope.group(), {}, ackAtOnce);
    await consumer.until("what was there", (items) => items.length === 5);
    const later = numbered(5);
    for (const one of later) await scope.put(scope.stream("b"), "any", [one]);
    await consumer.until("what came later", (items) => items.length === 10);
    assert.deepEqual(consumedIds(consumer.items), ids([...there, ...later]));
    assert.ok(consumer.items.every((item) => item.redeliveries === 0));
  });

  test("P6 each event goes to exactly one of several consumers, and a stream's events in order to one", async (scope) => {
    const group = scope.group();
    const consumers = upTo(3).map(() => scope.consume(group, {}, ackAtOnce));
    await writeRounds(scope, 20, 5);
    await scope.total(consumers, 100);
    await scope.put(scope.stream("s0"), "any", numbered(1));
    await scope.total(consumers, 101);
    const got = consumers.flatMap((consumer) => consumedIds(consumer.items));
    assert.deepEqual(got.toSorted(), ids(await ours(scope, undefined)).toSorted());
    assertSticky(consumers);
  });

  test("P6 a stream stays with its consumer while that lives, whoever else joins", async (scope) => {
    const group = scope.group();
    const first = scope.consume(group, { maxInFlight: 4 }, ackAtOnce);
    await writeRounds(scope, 6, 2);
    await scope.total([first], 12);
    const consumers = [first, ...upTo(2).map(() => scope.consume(group, { maxInFlight: 4 }, ackAtOnce))];
    await writeRounds(scope, 12, 4);
    await scope.total(consumers, 12 + 48);
    assertSticky(consumers);
    const streamsOfFirst = new Set(first.items.map((item) => item.event.stream));
    for (const n of upTo(6)) assert.ok(streamsOfFirst.has(scope.stream(`s${n}`)));
  });

  test("P6 a stream whose consumer is full waits for it, and other streams go on with the others", async (scope) => {
    const group = scope.group();
    await scope.put(scope.stream("a"), "none", numbered(3));
    let full = true;
    const slow = scope.consume(group, { maxInFlight: 1 }, (item) => {
      if (!full) item.ack();
    });
    await slow.until("the first event", (items) => items.length === 1);
    const quick = scope.consume(group, {}, ackAtOnce);
    for (const n of upTo(20)) await scope.put(scope.stream(`b${n}`), "none", numbered(1));
    await quick.until("an event of another stream", (items) => items.length >= 1);
    assert.equal(slow.items.length, 1);
    full = false;
    slow.items[0]!.ack();
    await scope.total([slow, quick], 23);
    const revisionsOfA = (watch: Watch<Consumed>) =>
      watch.items
        .filter((item) => item.event.stream === scope.stream("a"))
        .map((item) => item.event.revision);
    assert.deepEqual([revisionsOfA(slow), revisionsOfA(quick)], [[0, 1, 2], []]);
    const got = [...slow.items, ...quick.items];
    assert.equal(new Set(consumedIds(got)).size, 23);
  });

  test("P6 a consumer never holds more than `maxInFlight` unacked events", async (scope) => {
    await writeRounds(scope, 5, 6);
    let holding = 0;
    let most = 0;
    const consumer = scope.consume(scope.group(), { maxInFlight: 3 }, () => {
      holding++;
      most = Math.max(most, holding);
    });
    for (const n of upTo(30)) {
      const full = Math.min(n + 3, 30);
      await consumer.until(`${full} events, ${n} of them acked`, (items) => items.length >= full);
      assert.equal(consumer.items.length, full);
      holding--;
      consumer.items[n]!.ack();
    }
    assert.equal(most, 3);
    assert.deepEqual(consumedIds(consumer.items), ids(await ours(scope, undefined)));
  });

  test("P6 without `maxInFlight` a consumer is given as many as 1,024 and no more", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(1_100));
    const consumer = scope.consume(scope.group());
    await consumer.until("1,024 events", (items) => items.length >= 1_024);
    assert.equal(consumer.items.length, 1_024);
    consumer.items[0]!.ack();
    await consumer.until("one more", (items) => items.length >= 1_025);
    assert.equal(consumer.items.length, 1_025);
  });

  test("P6 a group delivers what passes its filter and nothing else", async (scope) => {
    const filter = { streamPrefix: scope.stream("a"), types: ["X", "Y"] };
    const consumer = scope.consume(scope.group(), { filter }, ackAtOnce);
    for (const stream of ["a", "b", "ab", "a"]) {
      await scope.put(scope.stream(stream), "any", [event("X"), event("Z"), event("Y")]);
    }
    const expected = (await ours(scope, undefined)).filter(
      (one) => one.stream !== scope.stream("b") && one.type !== "Z",
    );
    await consumer.until("6 events", (items) => items.length >= 6);
    assert.deepEqual(consumedIds(consumer.items), ids(expected));
  });

  test("P6 two groups are independent", async (scope) => {
    const [one, two] = [
      scope.consume(scope.group("one"), {}, ackAtOnce),
      scope.consume(scope.group("two"), { maxInFlight: 2 }),
    ];
    const events = numbered(10);
    for (const each of events) await scope.put(scope.stream("a"), "any", [each]);
    await one.until("10 events", (items) => items.length === 10);
    await two.until("2 events", (items) => items.length === 2);
    assert.deepEqual(consumedIds(one.items), ids(events));
    for (const n of upTo(10)) {
      await two.until(`event ${n}`, (items) => items.length > n);
      two.items[n]!.ack();
    }
    assert.deepEqual(consumedIds(two.items), ids(events));
  });

  test("P6 a consumer may append and ack from its callback", async (scope) => {
    const appends: Promise<unknown>[] = [];
    const consumer = scope.consume(scope.group(), { maxInFlight: 1 }, ({ event: { type, data }, ack }) => {
      if (type === "Asked")
        appends.push(scope.put(scope.stream("answers"), "any", [event("Answered", data)]));
      ack();
    });
    for (const one of numbered(20, "Asked")) await scope.put(scope.stream("questions"), "any", [one]);
    await consumer.until("20 answers", (items) => items.length === 40);
    await scope.within(Promise.all(appends), "the answers' appends");
    assert.deepEqual(consumedIds(consumer.items), ids(await ours(scope, undefined)));
  });

  test("P6 many events pass through a small window, acked one by one later", async (scope) => {
    for (const n of upTo(20)) await scope.put(scope.stream(`s${n}`), "none", numbered(50));
    const group = scope.group();
    const later = (item: Consumed) => void Promise.resolve().then(item.ack);
    const consumers = upTo(2).map(() => scope.consume(group, { maxInFlight: 8 }, later));
    await scope.total(consumers, 1_000);
    const got = consumers.flatMap((consumer) => consumedIds(consumer.items));
    assert.equal(new Set(got).size, 1_000);
    assert.equal(got.length, 1_000);
    assertSticky(consumers);
  });

  test("P6 a group that is consumed again after a restart goes on behind what was acked", async (scope) => {
    const group = scope.group();
    const events = numbered(10);
    await scope.put(scope.stream("a"), "none", events);
    const consumer = scope.consume(group, { maxInFlight: 6 });
    await consumer.until("6 events", (items) => items.length === 6);
    for (const n of [0, 1, 2, 4]) consumer.items[n]!.ack();
    await consumer.until("all", (items) => items.length === 10);
    const restarted = await scope.reopened();
    const again = restarted.consume(group, {}, ackAtOnce);
    await restarted.put(
      scope.stream("b"),
      "none",
      events.slice(0, 1).map(() => event()),
    );
    await again.until("the unacked and the new one", (items) => items.length >= 7);
    assert.deepEqual(
      again.items.map(({ event: { stream, revision } }) => [stream, revision]),
      [...[3, 5, 6, 7, 8, 9].map((n) => [scope.stream("a"), n]), [scope.stream("b"), 0]],
    );
  });
};

export const ackAtOnce = (item: Consumed): void => item.ack();

/** `rounds` times one event to each of `streams` streams. */
const writeRounds = async (scope: Scope, streams: number, rounds: number): Promise<void> => {
  for (const _ of upTo(rounds)) {
    for (const n of upTo(streams)) await scope.put(scope.stream(`s${n}`), "any", numbered(1));
  }
};

const assertSticky = (consumers: readonly Watch<Consumed>[]): void => {
  const owner = new Map<string, number>();
  for (const [n, consumer] of consumers.entries()) {
    const last = new Map<string, number>();
    for (const {
      event: { stream, revision },
    } of consumer.items) {
      assert.equal(owner.get(stream) ?? n, n, `${stream} came to two consumers that both live`);
      assert.equal(revision, (last.get(stream) ?? -1) + 1, `${stream} came out of order`);
      owner.set(stream, n);
      last.set(stream, revision);
    }
  }
};
