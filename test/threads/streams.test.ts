/** Streams of a run's events: the run goes on by itself, the reader may be late, leave early or never come. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { workflow } from "../../src/threads/index.ts";
import { failureOf, last, listed, listener, stepsIn } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { inTime, pause, turns, withTimeAtRest } from "./time.ts";

withTimeAtRest();

/** What no caller handled, in all tests of this file. */
const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});
afterEach(async () => {
  await turns(3);
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

onEach(STORES, "streams", (store) => {
  const three = () =>
    workflow(
      async (input: string, { step }) => {
        for (const name of ["one", "two", "three"])
          await step(name, () => pause(1).then(() => `${input} ${name}`));
        return "the end";
      },
      { checkpointer: store().worker() },
    );
  const steps = (...names: string[]) =>
    Object.fromEntries(names.map((name) => [name, { value: `a ${name}` }]));

  /** Lets time pass until the thread has ended in storage. */
  const ended = (threadId: string, status = "completed"): Promise<void> => {
    const reader = three();
    const poll = async () => {
      while ((await reader.state(threadId))?.status !== status) await pause(1);
    };
    return inTime(poll());
  };

  test("19.4/5 a run yields its steps and its end, and a run over records the same steps from the record", async () => {
    const input = "a";
    const fresh = await inTime(listed(three().stream(input, { threadId: "t" })));
    const step = { type: "step", cached: false, status: "running" };
    expect(fresh).toEqual([
      { ...step, step: 1, name: "one", key: "one", state: { input, steps: steps("one") } },
      { ...step, step: 2, name: "two", key: "two", state: { input, steps: steps("one", "two") } },
      {
        ...step,
        step: 3,
        name: "three",
        key: "three",
        state: { input, steps: steps("one", "two", "three") },
      },
      {
        type: "done",
        step: 4,
        state: { input, steps: steps("one", "two", "three"), output: "the end" },
        status: "completed",
        output: "the end",
      },
    ]);
    const again = await listed(three().continue("t"));
    expect(again.map((event) => [event.type, event.step, "cached" in event && event.cached])).toEqual([
      ["step", 4, true],
      ["step", 4, true],
      ["step", 4, true],
      ["done", 5, false],
    ]);
  });

  test("each of several steps at once has the number of its own checkpoint", async () => {
    const { heard, onEvent } = listener();
    const parallel = workflow(
      (_: undefined, { step }) =>
        Promise.all([3, 1, 2].map((ms) => step(`s${ms}`, () => pause(ms).then(() => ms)))),
      { checkpointer: store().worker() },
    );
    const events = await inTime(listed(parallel.stream(undefined, { threadId: "t", onEvent })));
    expect(events.map((event) => [event.step, "key" in event ? event.key : event.type])).toEqual([
      [1, "s1"],
      [2, "s2"],
      [3, "s3"],
      [4, "done"],
    ]);
    for (const event of events) {
      if (event.type !== "step") continue;
      const stored = (await parallel.state("t", event.step))!;
      expect(stored.state.steps).toEqual(event.state.steps);
    }
    expect(heard.filter(({ type }) => type === "checkpoint").map(({ step }) => step)).toEqual([1, 2, 3, 4]);
  });

  test("a stream of a run that began long ago yields everything from the first event on", async () => {
    const stream = three().stream("a", { threadId: "t" });
    await ended("t");
    expect((await listed(stream)).map(({ type }) => type)).toEqual(["step", "step", "step", "done"]);
  });

  test("19.4/31 a reader that leaves early does not stop the run", async () => {
    const read = async () => {
      for await (const event of three().stream("a", { threadId: "t" })) if (event.step === 1) break;
    };
    await inTime(read());
    await ended("t");
    expect((await three().state("t"))?.state.output).toBe("the end");
  });

  test("19.4/31 a run whose stream nobody reads ends all the same", async () => {
    three().stream("a", { threadId: "t" });
    await ended("t");
    expect(await three().history("t")).toHaveLength(4);
  });

  const failing = () =>
    workflow(
      async (_: string, { step }) => {
        await step("one", () => pause(1));
        throw new Error("broken");
      },
      { checkpointer: store().worker() },
    );

  test("19.4/31 a failed run whose stream nobody reads, or leaves early, rejects nowhere", async () => {
    failing().stream("a", { threadId: "t" });
    await ended("t", "failed");
    const read = async () => {
      for await (const event of failing().stream("a", { threadId: "u" })) if (event.step === 1) break;
    };
    await inTime(read());
    await ended("u", "failed");
  });

  test("an error comes after everything that was yielded before it, once", async () => {
    const stream = failing().stream("a", { threadId: "t" })[Symbol.asyncIterator]();
    await ended("t", "failed");
    expect((await stream.next()).value).toMatchObject({ type: "step", key: "one" });
    await expect(stream.next()).rejects.toThrow("broken");
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test("an event that was yielded does not change with the steps that follow", async () => {
    const stream = three().stream("a", { threadId: "t" })[Symbol.asyncIterator]();
    const first = (await inTime(stream.next())).value!;
    await ended("t");
    expect(first.state.steps).toEqual(steps("one"));
    const second = (await stream.next()).value!;
    expect(second.state).toEqual({ input: "a", steps: steps("one", "two") });
  });

  test("no method throws: what is wrong with a call comes with the first event", async () => {
    const asking = workflow((_: unknown) => 1, { checkpointer: store().worker() });
    const wrong = [
      () => asking.stream(() => "no value", { threadId: "t" }),
      () => asking.continue("nobody"),
      () => asking.resume("nobody", 1),
      () => asking.stream(1, { tenantId: "acme", principal: { tenantId: "globex" } }),
    ].map((call) => call());
    for (const stream of wrong) await failureOf(stream[Symbol.asyncIterator]().next());
    expect(await asking.state("t")).toBeUndefined();
  });

  test("a value that no checkpoint can hold fails its step, which is not tried again, and the run", async () => {
    let bodies = 0;
    let recoveries = 0;
    const uncloneable = workflow(
      (_: undefined, { step }) =>
        step(
          "function",
          (): unknown => {
            bodies += 1;
            return () => "no value";
          },
          {
            retry: { maxAttempts: 3, initialIntervalMs: 1 },
            onError: () => {
              recoveries += 1;
            },
          },
        ),
      { checkpointer: store().worker() },
    );
    const failure = await failureOf(inTime(uncloneable.invoke(undefined, { threadId: "t" })));
    expect(failure).toMatchObject({ name: "DataCloneError" });
    expect([bodies, recoveries]).toEqual([1, 0]);
    expect(await uncloneable.state("t")).toMatchObject({ status: "failed", state: { steps: {} } });
  });

  test("19.4/16 a listener that throws disturbs nobody, and what is emitted reaches it without a checkpoint", async () => {
    const heard: unknown[] = [];
    const telling = workflow(
      async (_: undefined, { step, emit }) => {
        emit({ progress: 0 });
        await step("one", () => 1);
        emit({ progress: 1 });
        return "told";
      },
      { name: "teller", checkpointer: store().worker() },
    );
    const result = await telling.invoke(undefined, {
      threadId: "t",
      onEvent: (event) => {
        if (event.type === "custom") heard.push(event);
        throw new Error("the listener is broken");
      },
    });
    expect(result.output).toBe("told");
    const custom = { type: "custom", taskId: "teller", node: "teller" };
    expect(heard).toEqual([
      { ...custom, step: 0, data: { progress: 0 } },
      { ...custom, step: 1, data: { progress: 1 } },
    ]);
    expect(await telling.history("t")).toHaveLength(2);
  });

  test("19.4/26 what a step answered, undefined and null too, is what it answers from the record", async () => {
    const values = [undefined, null, false, 0, "", [], { deep: [1, { text: "ä\u0000😀" }] }];
    const seen: unknown[][] = [];
    const plain = workflow(
      async (_: undefined, { step }) => {
        const answers: unknown[] = [];
        for (const [index, value] of values.entries()) answers.push(await step(`v${index}`, () => value));
        seen.push(answers);
      },
      { checkpointer: store().worker() },
    );
    await plain.invoke(undefined, { threadId: "t" });
    await last(plain.continue("t"));
    expect(seen).toEqual([values, values]);
    const recorded = stepsIn(await plain.state("t"));
    expect(recorded.v0).not.toHaveProperty("value");
    expect(recorded.v1).toStrictEqual({ value: null });
  });
});
