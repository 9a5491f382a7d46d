/** Conformance of `consume` when consumers leave, refuse or set aside: P6. */
import assert from "node:assert/strict";
import type { Consumed } from "../events/event-log.ts";
import { ackAtOnce } from "./event-log-conformance-consume.ts";
import {
  consumedIds,
  event,
  ids,
  numbered,
  type Test,
  upTo,
  type Watch,
} from "./event-log-conformance-kit.ts";

export const redeliveryCases = (test: Test): void => {
  leavingCases(test);
  refusalCases(test);
};

const leavingCases = (test: Test): void => {
  test("P6 what a leaving consumer had not acked comes again, counted, and what it had acked does not", async (scope) => {
    const group = scope.group();
    const events = numbered(6);
    await scope.put(scope.stream("a"), "none", events);
    const first = scope.consume(group);
    await first.until("6 events", (items) => items.length === 6);
    for (const n of [0, 1, 3]) first.items[n]!.ack();
    first.stop();
    const second = scope.consume(group);
    await second.until("the three unacked", (items) => items.length === 3);
    assert.deepEqual(described(second), [
      [2, 1],
      [4, 1],
      [5, 1],
    ]);
    second.stop();
    const third = scope.consume(group, {}, ackAtOnce);
    await scope.put(scope.stream("a"), 5, [event()]);
    await third.until("the three and a new one", (items) => items.length === 4);
    assert.deepEqual(described(third), [
      [2, 2],
      [4, 2],
      [5, 2],
      [6, 0],
    ]);
  });

  test("P6 an ack is final: after all are acked the next consumer gets only what is new", async (scope) => {
    const group = scope.group();
    await scope.put(scope.stream("a"), "none", numbered(20));
    const first = scope.consume(group, { maxInFlight: 5 }, ackAtOnce);
    await first.until("20 events", (items) => items.length === 20);
    first.stop();
    const fresh = event();
    await scope.put(scope.stream("b"), "none", [fresh]);
    const second = scope.consume(group, {}, ackAtOnce);
    await second.until("the new event", (items) => items.length >= 1);
    assert.deepEqual(consumedIds(second.items), [fresh.id]);
  });

  test("P6 what a consumer loses goes to one that lives, before anything later of its stream", async (scope) => {
    const group = scope.group();
    await scope.put(scope.stream("a"), "none", numbered(4));
    const dying = scope.consume(group, { maxInFlight: 2 });
    await dying.until("2 events", (items) => items.length === 2);
    const living = scope.consume(group, {}, ackAtOnce);
    dying.stop();
    await living.until("the whole stream", (items) => items.length === 4);
    assert.deepEqual(described(living), [
      [0, 1],
      [1, 1],
      [2, 0],
      [3, 0],
    ]);
  });

  test("P6 a group nobody consumes keeps its place", async (scope) => {
    const group = scope.group();
    const early = numbered(2);
    await scope.put(scope.stream("a"), "none", early);
    const first = scope.consume(group, {}, ackAtOnce);
    await first.until("2 events", (items) => items.length === 2);
    first.stop();
    const missed = numbered(3);
    for (const one of missed) await scope.put(scope.stream("a"), "any", [one]);
    const second = scope.consume(group, {}, ackAtOnce);
    await second.until("3 events", (items) => items.length >= 3);
    assert.deepEqual(consumedIds(second.items), ids(missed));
  });

  test("P6 a consumer may unsubscribe in its callback, and then holds nothing back", async (scope) => {
    const group = scope.group();
    await scope.put(scope.stream("a"), "none", numbered(5));
    const first: Watch<Consumed> = scope.consume(group, {}, (item) => {
      if (item.event.revision === 0) item.ack();
      else first.stop();
    });
    await first.until("2 events", (items) => items.length === 2);
    const second = scope.consume(group, {}, ackAtOnce);
    await second.until("the rest", (items) => items.length === 4);
    assert.equal(first.items.length, 2);
    assert.deepEqual(
      second.items.map((item) => item.event.revision),
      [1, 2, 3, 4],
    );
    assert.equal(second.items[0]!.redeliveries, 1);
  });

  test("P6 an answer that comes after its consumer has left does not count", async (scope) => {
    const group = scope.group();
    await scope.put(scope.stream("a"), "none", numbered(1));
    const first = scope.consume(group);
    await first.until("the event", (items) => items.length === 1);
    first.stop();
    const second = scope.consume(group);
    await second.until("the event", (items) => items.length === 1);
    first.items[0]!.ack();
    first.items[0]!.nack("park", "too late");
    second.stop();
    const third = scope.consume(group, {}, ackAtOnce);
    await third.until("the event", (items) => items.length === 1);
    assert.deepEqual(described(third), [[0, 2]]);
  });
};

const refusalCases = (test: Test): void => {
  test("P6 `retry` hands the event out again, counted, and what was not refused goes on", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(3));
    const consumer = scope.consume(scope.group(), {}, (item) => {
      if (item.event.revision === 1 && item.redeliveries < 3) item.nack("retry", "not yet");
      else item.ack();
    });
    await consumer.until("6 deliveries", (items) => items.length === 6);
    const refused = consumer.items.filter((item) => item.event.revision === 1);
    assert.deepEqual(
      refused.map((item) => item.redeliveries),
      [0, 1, 2, 3],
    );
    const others = described(consumer).filter(([revision]) => revision !== 1);
    assert.deepEqual(others, [
      [0, 0],
      [2, 0],
    ]);
  });

  test("P6 `retry` makes room, also where one event is all a consumer may hold", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(3));
    const consumer = scope.consume(scope.group(), { maxInFlight: 1 }, (item) => {
      if (item.redeliveries === 0) item.nack("retry", "once more");
      else item.ack();
    });
    await consumer.until("each event twice", (items) => items.length === 6);
    const acked = consumer.items.filter((item) => item.redeliveries === 1).map((item) => item.event.revision);
    assert.deepEqual(acked.toSorted(), [0, 1, 2]);
  });

  test("P6 `retry` with a delay comes again when that is over and not before", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(1));
    const delayMs = 40;
    const times: number[] = [];
    const consumer = scope.consume(scope.group(), {}, (item) => {
      times.push(performance.now());
      if (item.redeliveries === 0) item.nack("retry", "later", delayMs);
      else item.ack();
    });
    await consumer.until("2 deliveries", (items) => items.length === 2);
    assert.equal(consumer.items[1]!.redeliveries, 1);
    // A timer of Node may fire a millisecond early by this clock, and a store may keep whole milliseconds.
    assert.ok(times[1]! - times[0]! >= delayMs - 2, `came again after ${times[1]! - times[0]!} ms`);
  });

  test("P6 an event that waits for its retry holds nothing up, not even in its own stream", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(3));
    const consumer = scope.consume(scope.group(), { maxInFlight: 1 }, (item) => {
      if (item.event.revision === 0) item.nack("retry", "in an hour", 3_600_000);
      else item.ack();
    });
    await consumer.until("the others", (items) => items.length === 3);
    assert.deepEqual(described(consumer), [
      [0, 0],
      [1, 0],
      [2, 0],
    ]);
  });

  test("P6 what waits for a retry comes at once when its consumer leaves: who asked for the delay is gone", async (scope) => {
    const group = scope.group();
    await scope.put(scope.stream("a"), "none", numbered(2));
    const first = scope.consume(group);
    await first.until("2 events", (items) => items.length === 2);
    first.items[0]!.nack("retry", "in an hour", 3_600_000);
    first.items[1]!.nack("retry", "now");
    first.stop();
    const second = scope.consume(group, {}, ackAtOnce);
    await second.until("both", (items) => items.length === 2);
    assert.deepEqual(described(second).toSorted(byRevision), [
      [0, 1],
      [1, 1],
    ]);
  });

  test("P6 `park` sets an event aside for good, and the others go on", async (scope) => {
    const group = scope.group();
    await scope.put(scope.stream("a"), "none", numbered(3));
    const first = scope.consume(group, {}, (item) => {
      if (item.event.revision === 1) item.nack("park", "cannot be read");
      else item.ack();
    });
    await first.until("3 events", (items) => items.length === 3);
    first.stop();
    const second = scope.consume(group, {}, ackAtOnce);
    await scope.put(scope.stream("a"), 2, numbered(2));
    await second.until("what is new", (items) => items.length >= 2);
    assert.deepEqual(described(second), [
      [3, 0],
      [4, 0],
    ]);
  });

  test("P6 the first answer counts, and others are ignored", async (scope) => {
    const group = scope.group();
    await scope.put(scope.stream("a"), "none", numbered(3));
    const first = scope.consume(group, {}, (item) => {
      const answers = [item.ack, () => item.nack("park", "set aside"), () => item.nack("retry", "again")];
      for (const n of upTo(3)) answers[(item.event.revision + item.redeliveries + n) % 3]!();
    });
    // Revision 2 says `retry` first, and `ack` first when it comes again.
    await first.until("4 deliveries", (items) => items.length >= 4);
    await scope.put(scope.stream("a"), 2, numbered(1));
    await first.until("5 deliveries", (items) => items.length >= 5);
    assert.deepEqual(described(first), [
      [0, 0],
      [1, 0],
      [2, 0],
      [2, 1],
      [3, 0],
    ]);
    first.stop();
    const second = scope.consume(group, {}, ackAtOnce);
    const fresh = event();
    await scope.put(scope.stream("b"), "none", [fresh]);
    await second.until("what is new", (items) => items.length >= 1);
    assert.deepEqual(consumedIds(second.items), [fresh.id]);
  });

  test("P6 what is parked stays parked after a restart", async (scope) => {
    const group = scope.group();
    await scope.put(scope.stream("a"), "none", numbered(2));
    const first = scope.consume(group);
    await first.until("2 events", (items) => items.length === 2);
    first.items[0]!.nack("park", "cannot be read");
    const restarted = await scope.reopened();
    const second = restarted.consume(group, {}, ackAtOnce);
    await restarted.put(scope.stream("b"), "none", numbered(1));
    await second.until("the unacked and the new one", (items) => items.length >= 2);
    assert.deepEqual(
      second.items.map((item) => [item.event.stream, item.event.revision]),
      [
        [scope.stream("a"), 1],
        [scope.stream("b"), 0],
      ],
    );
  });
};

/** What came, each as its revision and how often it had been handed out before. */
const described = (watch: Watch<Consumed>): (readonly [number, number])[] =>
  watch.items.map((item) => [item.event.revision, item.redeliveries]);

const byRevision = (a: readonly [number, number], b: readonly [number, number]): number => a[0] - b[0];
