/** Conformance of several subscriptions, and of what a subscriber does in its callback: P5. */
import assert from "node:assert/strict";
import { config, take } from "rxjs";
import {
  assertAscending,
  event,
  eventsOf,
  type Item,
  ids,
  isEvent,
  numbered,
  revisions,
  type Test,
  upTo,
  type Watch,
} from "./event-log-conformance-kit.ts";
import { hasCaughtUp } from "./event-log-conformance-subscribe.ts";

export const subscriberCases = (test: Test): void => {
  test("P5 several subscriptions each get everything", async (scope) => {
    const filter = { streamPrefix: scope.prefix };
    const watches = upTo(5).map(() => scope.subscribe({ after: "end", filter }));
    for (const watch of watches) await watch.until("CaughtUp", hasCaughtUp);
    const events = numbered(20);
    for (const one of events) await scope.put(scope.stream("a"), "any", [one]);
    for (const watch of watches) {
      await watch.until("20 events", (items) => items.length === 21);
      assert.deepEqual(ids(eventsOf(watch.items)), ids(events));
    }
  });

  test("P5 the same observable subscribed twice is two subscriptions", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(3));
    const source = scope.log.subscribe({ after: "start", filter: { streamPrefix: scope.prefix } });
    const firsts = await scope.within(
      Promise.all(
        upTo(2).map(
          () =>
            new Promise<Item>((resolve, reject) =>
              source.pipe(take(1)).subscribe({ next: resolve, error: reject }),
            ),
        ),
      ),
      "both first events",
    );
    assert.deepEqual(
      firsts.filter(isEvent).map((one) => one.revision),
      [0, 0],
    );
  });

  test("P5 after unsubscribing nothing comes", async (scope) => {
    const filter = { streamPrefix: scope.prefix };
    const stopped = scope.subscribe({ after: "end", filter });
    const witness = scope.subscribe({ after: "end", filter });
    await stopped.until("CaughtUp", hasCaughtUp);
    await witness.until("CaughtUp", hasCaughtUp);
    await scope.put(scope.stream("a"), "none", numbered(1));
    await stopped.until("the event", (items) => items.length === 2);
    stopped.stop();
    await scope.put(scope.stream("a"), 0, numbered(5));
    await witness.until("all six", (items) => items.length === 7);
    assert.equal(stopped.items.length, 2);
  });

  test("P5 a subscriber may unsubscribe in its callback, while it catches up and live", async (scope) => {
    const filter = { streamPrefix: scope.prefix };
    await scope.put(scope.stream("a"), "none", numbered(5));
    const catchingUp: Watch<Item> = scope.subscribe({ after: "start", filter }, () => catchingUp.stop());
    await catchingUp.until("an event", (items) => items.length > 0);
    const live: Watch<Item> = scope.subscribe({ after: "end", filter }, (item) => {
      if (isEvent(item)) live.stop();
    });
    const witness = scope.subscribe({ after: "end", filter });
    await live.until("CaughtUp", hasCaughtUp);
    await witness.until("CaughtUp", hasCaughtUp);
    await scope.put(scope.stream("a"), 4, numbered(3));
    await live.until("an event", (items) => items.length > 1);
    await witness.until("all three", (items) => items.length === 4);
    assert.deepEqual([revisions(eventsOf(catchingUp.items)), revisions(eventsOf(live.items))], [[0], [5]]);
  });

  test("P5 a subscriber may append from its callback, and sees what it appended", async (scope) => {
    const filter = { streamPrefix: scope.prefix };
    const answers: Promise<unknown>[] = [];
    const watch = scope.subscribe({ after: "end", filter }, (item) => {
      if (isEvent(item) && item.type === "Asked") {
        answers.push(scope.put(scope.stream("answers"), "any", [event("Answered", item.data)]));
      }
    });
    const witness = scope.subscribe({ after: "end", filter });
    await watch.until("CaughtUp", hasCaughtUp);
    await witness.until("CaughtUp", hasCaughtUp);
    for (const one of numbered(20, "Asked")) await scope.put(scope.stream("questions"), "any", [one]);
    await watch.until("20 answers", (items) => eventsOf(items).length === 40);
    await witness.until("20 answers", (items) => eventsOf(items).length === 40);
    await scope.within(Promise.all(answers), "the answers' appends");
    const answered = eventsOf(watch.items).filter(({ type }) => type === "Answered");
    assert.deepEqual(
      answered.map(({ data }) => data.n),
      upTo(20),
    );
    assertAscending(eventsOf(watch.items));
    assert.deepEqual(ids(eventsOf(witness.items)), ids(eventsOf(watch.items)));
  });

  test("P5 a subscriber that throws harms neither the others nor the appender", async (scope) => {
    const thrown: unknown[] = [];
    const previous = config.onUnhandledError;
    let reported = () => {};
    const all = new Promise<void>((resolve) => {
      reported = resolve;
    });
    config.onUnhandledError = (error) => {
      thrown.push(error);
      if (thrown.length === 3) reported();
    };
    try {
      const filter = { streamPrefix: scope.prefix };
      scope.subscribe({ after: "end", filter }, (item) => {
        if (isEvent(item)) throw new Error("a subscriber's own fault");
      });
      const other = scope.subscribe({ after: "end", filter });
      await other.until("CaughtUp", hasCaughtUp);
      const events = numbered(3);
      for (const one of events) await scope.put(scope.stream("a"), "any", [one]);
      await other.until("all events", (items) => eventsOf(items).length === 3);
      assert.deepEqual(ids(eventsOf(other.items)), ids(events));
      await scope.within(all, "the subscriber's faults to be reported");
      assert.deepEqual(
        thrown.map((error) => (error as Error).message),
        Array(3).fill("a subscriber's own fault"),
      );
    } finally {
      config.onUnhandledError = previous;
    }
  });
};
