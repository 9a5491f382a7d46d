/** Conformance of `close`, and P7: what goes wrong is a value, or a StoreError where there is no place for one. */
import assert from "node:assert/strict";
import { isLeft, isRight } from "fp-ts/lib/Either.js";
import { StoreError } from "../events/store-error.ts";
import { collect, ids, isEvent, numbered, type Test, upTo } from "./event-log-conformance-kit.ts";

export const closeCases = (test: Test): void => {
  test("P7 a refused append is a value: its promise does not reject", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(1));
    const answers = await Promise.allSettled(
      (["none", 5, -1] as const).map((expected) =>
        scope.log.append(scope.stream("a"), expected, numbered(1))(),
      ),
    );
    for (const answer of answers) {
      assert.ok(answer.status === "fulfilled" && isLeft(answer.value));
      assert.deepEqual(answer.value.left, {
        _tag: "WrongExpectedRevision",
        stream: scope.stream("a"),
        actual: 0,
      });
    }
  });

  test("P7 an append to a closed log is answered Unavailable, and does not throw", async (scope) => {
    const before = scope.log.append(scope.stream("a"), "any", numbered(1));
    await scope.within(scope.log.close(), "close");
    for (const task of [
      before,
      scope.log.append(scope.stream("a"), "none", []),
      scope.log.append(scope.stream("a"), 3, numbered(1)),
    ]) {
      const answer = await scope.within(task(), "an answer");
      assert.ok(isLeft(answer));
      assert.equal(answer.left._tag, "Unavailable");
      assert.equal(answer.left._tag === "Unavailable" && answer.left.reason.length > 0, true);
    }
  });

  test("P7 closing twice, also at once, is closing", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(1));
    await scope.within(Promise.all([scope.log.close(), scope.log.close()]), "both closes");
    await scope.within(scope.log.close(), "a third close");
  });

  test("P7 subscriptions and consumers complete when the log is closed", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(3));
    const filter = { streamPrefix: scope.prefix };
    const watches = [
      scope.subscribe({ after: "start", filter }),
      scope.subscribe({ after: "end", filter }),
      scope.consume(scope.group("one"), { maxInFlight: 1 }),
    ];
    await watches[0]!.until("CaughtUp", (items) => items.length === 4);
    await watches[2]!.until("an event", (items) => items.length === 1);
    await scope.within(scope.log.close(), "close");
    for (const watch of watches) {
      await watch.end();
      assert.equal(watch.error, undefined);
    }
    assert.equal(watches[2]!.items.length, 1);
  });

  test("P7 a subscriber may close the log from its callback", async (scope) => {
    await scope.put(scope.stream("a"), "none", numbered(3));
    let closing: Promise<void> | undefined;
    const watch = scope.subscribe({ after: "start", filter: { streamPrefix: scope.prefix } }, (item) => {
      if (isEvent(item)) closing ??= scope.log.close();
    });
    await watch.until("an event", (items) => items.length > 0);
    await watch.end();
    assert.equal(watch.error, undefined);
    await scope.within(closing!, "close");
  });

  test("P7 appends under way when the log is closed are each answered", async (scope) => {
    const appends = upTo(20).map(() => scope.log.append(scope.stream("a"), "any", numbered(2))());
    const [answers] = await scope.within(
      Promise.all([Promise.all(appends), scope.log.close()]),
      "answers and close",
    );
    for (const answer of answers) assert.ok(isRight(answer) || answer.left._tag === "Unavailable");
  });

  test("P4 appends under way when the log is closed are there after a restart if they were acknowledged", async (scope) => {
    const batches = upTo(20).map(() => numbered(2));
    const appends = batches.map((events) => scope.log.append(scope.stream("a"), "any", events)());
    const [answers, restarted] = await Promise.all([Promise.all(appends), scope.reopened()]);
    const acknowledged = batches.filter((_, n) => isRight(answers[n]!));
    assert.deepEqual(ids(await collect(restarted.log.read(scope.stream("a")))), ids(acknowledged.flat()));
  });

  for (const [name, use] of AFTER_CLOSE) {
    test(`P7 ${name} of a closed log ends, in a StoreError if in an error`, async (scope) => {
      await scope.put(scope.stream("a"), "none", numbered(1));
      await scope.within(scope.log.close(), "close");
      try {
        await scope.within(use(scope), name);
      } catch (error) {
        assert.ok(StoreError.is(error), `failed with ${String(error)}`);
        assert.equal(error.error._tag, "Unavailable");
      }
    });
  }
};

type Use = (scope: Parameters<Parameters<Test>[1]>[0]) => Promise<unknown>;

const AFTER_CLOSE: readonly (readonly [string, Use])[] = [
  ["read", (scope) => collect(scope.log.read(scope.stream("a")))],
  ["readAll", (scope) => collect(scope.log.readAll())],
  ["head", (scope) => scope.log.head()],
  ["subscribe", (scope) => scope.log.subscribe({ after: "start" }).forEach(() => {})],
  ["consume", (scope) => scope.log.consume(scope.group()).forEach(() => {})],
];
