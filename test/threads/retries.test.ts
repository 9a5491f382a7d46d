/** Attempts: which failures are tried again and when, what a limit does to an attempt, and what the listener hears of it. */
import { expect, test } from "vitest";
import { GraphError, type RetryPolicy, type StepOptions, workflow } from "../../src/threads/index.ts";
import { failureOf, listed, listener } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { aborted, inTime, pause, withTimeAtRest } from "./time.ts";

withTimeAtRest();

onEach(STORES, "attempts", (store) => {
  test("19.4/11 retryOn decides, for every error and also after the last attempt", async () => {
    const asked: unknown[] = [];
    const broken = new Error("broken");
    const deciding = (policy: RetryPolicy, bodies: number[]) =>
      workflow(
        (_: undefined, { step }) =>
          step(
            "fails",
            ({ attempt }): string => {
              bodies.push(attempt);
              throw broken;
            },
            {
              retry: { initialIntervalMs: 1, ...policy },
              onError: ({ attempts, error }) => `${attempts} ${error}`,
            },
          ),
        { checkpointer: store().worker() },
      );
    const once: number[] = [];
    const refused = deciding({ maxAttempts: 3, retryOn: () => false }, once);
    expect((await inTime(refused.invoke(undefined))).output).toBe("1 Error: broken");
    expect(once).toEqual([1]);
    const all: number[] = [];
    const retryOn = (error: unknown, attempt: number) => {
      asked.push([error, attempt]);
      return true;
    };
    const accepted = deciding({ maxAttempts: 2, retryOn }, all);
    expect((await inTime(accepted.invoke(undefined))).output).toBe("2 Error: broken");
    expect([all, asked]).toEqual([
      [1, 2],
      [
        [broken, 1],
        [broken, 2],
      ],
    ]);
  });

  test("19.4/11 by default a GraphError is not tried again, and a timeout of the step is", async () => {
    const attempts: string[] = [];
    const policy = { retry: { maxAttempts: 2, initialIntervalMs: 1 } };
    const graphError = new GraphError("not again", "MINE");
    const defaults = workflow(
      async (_: undefined, { step }) => {
        const timed = await step(
          "slow",
          async ({ attempt, signal }) => {
            attempts.push(`slow ${attempt}`);
            if (attempt === 1) await aborted(signal);
            return attempt;
          },
          { ...policy, timeoutMs: 10 },
        );
        await step(
          "final",
          ({ attempt }) => {
            attempts.push(`final ${attempt}`);
            throw graphError;
          },
          policy,
        );
        return timed;
      },
      { checkpointer: store().worker() },
    );
    expect(await failureOf(inTime(defaults.invoke(undefined)))).toBe(graphError);
    expect(attempts).toEqual(["slow 1", "slow 2", "final 1"]);
  });

  test("19.4/14 what a body answers after its limit is ignored, and the next attempt has its own signal and limits", async () => {
    const signals: AbortSignal[] = [];
    const heard: string[] = [];
    const overlapping = workflow(
      (_: undefined, { step }) =>
        step(
          "slow",
          async ({ attempt, signal }) => {
            signals.push(signal);
            signal.addEventListener("abort", () => heard.push(`abort ${attempt}`));
            await pause(attempt === 1 ? 25 : 18);
            heard.push(`end ${attempt}`);
            return attempt;
          },
          { timeoutMs: 20, retry: { maxAttempts: 2, initialIntervalMs: 3, jitter: false } },
        ),
      { checkpointer: store().worker() },
    );
    const result = await inTime(overlapping.invoke(undefined, { threadId: "t" }));
    expect([result.output, result.state.steps]).toEqual([2, { slow: { value: 2 } }]);
    expect(heard).toEqual(["abort 1", "end 1", "end 2"]);
    expect(signals.map((signal) => [signal.aborted, (signal.reason as Error | undefined)?.name])).toEqual([
      [true, "AbortError"],
      [false, undefined],
    ]);
    expect(signals[0]).not.toBe(signals[1]);
  });

  test.each([1, 3])(
    "19.4/15 onError is not asked about an abort, a question or a drain, with %i attempts",
    async (maxAttempts) => {
      const { types, onEvent } = listener();
      const asked: string[] = [];
      const stop = new AbortController();
      const control = { draining: false };
      const options = (name: string): StepOptions<unknown> => ({
        retry: { maxAttempts, initialIntervalMs: 1 },
        onError: () => asked.push(name),
      });
      const spared = (which: string) =>
        workflow(
          (_: undefined, { step, interrupt }) =>
            step(
              which,
              async ({ signal }) => {
                if (which === "question") return interrupt({ reason: "well?" });
                if (which === "abort") {
                  queueMicrotask(() => stop.abort());
                  await aborted(signal);
                  throw new Error("stopped in the middle");
                }
                control.draining = true;
                return step("refused", () => "never", options("the refused step"));
              },
              options(which),
            ),
          { checkpointer: store().worker() },
        );
      const stopped = await inTime(
        spared("abort").invoke(undefined, { threadId: "a", signal: stop.signal, onEvent }),
      );
      const asking = await inTime(spared("question").invoke(undefined, { threadId: "q" }));
      const drained = await failureOf(inTime(spared("drain").invoke(undefined, { threadId: "d", control })));
      expect([stopped.status, asking.status]).toEqual(["interrupted", "awaiting_input"]);
      expect(drained).toMatchObject({ name: "GraphDrainedError", threadId: "d", step: 1 });
      expect([asked, types()]).toEqual([[], ["task_start", "checkpoint"]]);
    },
  );

  const flow = (name: string, options: StepOptions<string>, failures: number) =>
    workflow(
      (_: undefined, { step }) =>
        step(
          name,
          ({ attempt }) => {
            if (attempt <= failures) throw new Error(`attempt ${attempt}`);
            return "fine";
          },
          options,
        ),
      { name: "flow", checkpointer: store().worker() },
    );
  const quick: RetryPolicy = { maxAttempts: 2, initialIntervalMs: 1 };
  const task = { step: 0, taskId: "work", node: "work" };
  const ending = [
    { type: "checkpoint", step: 1, status: "running", next: ["flow"] },
    { type: "checkpoint", step: 2, status: "completed", next: [] },
  ];

  test.each<[string, StepOptions<string>, number, object[]]>([
    [
      "success",
      {},
      0,
      [
        { type: "task_start", ...task, attempt: 1 },
        { type: "task_end", ...task, update: "fine" },
      ],
    ],
    [
      "a retry",
      { retry: quick },
      1,
      [
        { type: "task_start", ...task, attempt: 1 },
        { type: "task_retry", ...task, attempt: 1, error: "attempt 1" },
        { type: "task_start", ...task, attempt: 2 },
        { type: "task_end", ...task, update: "fine" },
      ],
    ],
    [
      "a recovery",
      { retry: quick, onError: async () => "instead" },
      2,
      [
        { type: "task_start", ...task, attempt: 1 },
        { type: "task_retry", ...task, attempt: 1, error: "attempt 1" },
        { type: "task_start", ...task, attempt: 2 },
        { type: "task_failed", ...task, attempts: 2, error: "attempt 2", recovered: true },
        { type: "task_end", ...task, update: "instead" },
      ],
    ],
  ])("19.4/17 what the listener hears of %s, in order", async (_, options, failures, told) => {
    const { heard, onEvent } = listener();
    await inTime(flow("work", options, failures).invoke(undefined, { threadId: "t", onEvent }));
    expect(heard).toEqual([...told, ...ending]);
  });

  test("19.4/17 a step that fails without onError says no more than that it started; a cached one says nothing", async () => {
    const failing = listener();
    await failureOf(flow("work", {}, 1).invoke(undefined, { threadId: "f", onEvent: failing.onEvent }));
    expect(failing.types()).toEqual(["task_start", "checkpoint"]);
    await flow("work", {}, 0).invoke(undefined, { threadId: "t" });
    const cached = listener();
    await listed(flow("work", {}, 0).continue("t", { onEvent: cached.onEvent }));
    expect(cached.heard).toEqual([{ type: "checkpoint", step: 3, status: "completed", next: [] }]);
  });

  test("19.4/17 the listener hears of a checkpoint before the stream yields the step", async () => {
    const order: string[] = [];
    const onEvent = ({ type }: { readonly type: string }): void => void order.push(type);
    for await (const { type } of flow("work", {}, 0).stream(undefined, { threadId: "t", onEvent })) {
      order.push(`stream ${type}`);
    }
    expect(order.indexOf("checkpoint")).toBeLessThan(order.indexOf("stream step"));
    expect(order.filter((entry) => entry.startsWith("stream"))).toEqual(["stream step", "stream done"]);
  });
});

/** The gaps between the attempts of a step that always fails, in milliseconds. */
const gaps = async (policy: RetryPolicy): Promise<number[]> => {
  const at: number[] = [];
  const failing = workflow(
    (_: undefined, { step }) =>
      step("fails", () => {
        at.push(Date.now());
        throw new Error("broken");
      }),
    { retry: policy },
  );
  await failureOf(inTime(failing.invoke(undefined)));
  return at.slice(1).map((time, index) => time - at[index]!);
};

test("19.4/12 without jitter the delays are 250, 500, 1000 and so on, up to 30 s", async () => {
  expect(await gaps({ maxAttempts: 10, jitter: false })).toEqual([
    250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
  ]);
});

test("19.4/12 a policy says where the delays begin, how they grow and where they end", async () => {
  const policy = {
    maxAttempts: 5,
    initialIntervalMs: 10,
    backoffFactor: 3,
    maxIntervalMs: 100,
    jitter: false,
  };
  expect(await gaps(policy)).toEqual([10, 30, 90, 100]);
});

test("19.4/12 jitter, which is the default, makes a delay shorter by up to a half and never longer", async () => {
  const policy = { maxAttempts: 60, initialIntervalMs: 1_000, backoffFactor: 1 };
  const delays = await gaps(policy);
  expect(delays).toHaveLength(59);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(500);
  expect(Math.max(...delays)).toBeLessThanOrEqual(1_000);
  expect(new Set(delays).size).toBeGreaterThan(10);
  expect(delays.every(Number.isInteger)).toBe(true);
});

test("19.4/12 a delay of nothing does not wait, and fewer than one attempt is one", async () => {
  expect(await gaps({ maxAttempts: 3, initialIntervalMs: 0 })).toEqual([0, 0]);
  expect(await gaps({ maxAttempts: -1 })).toEqual([]);
});

test("19.4/13 a step's own limits are laid over the defaults field by field, and timeoutMs beats both", async () => {
  const failing = (options: StepOptions<void>) =>
    failureOf(
      inTime(
        workflow((_: undefined, { step }) => step("slow", () => pause(1_000), options), {
          stepDefaults: { timeout: { idleMs: 40, runMs: 60 } },
        }).invoke(undefined),
      ),
    );
  expect(await failing({ timeout: { runMs: 500 } })).toMatchObject({ kind: "idle", timeoutMs: 40 });
  expect(await failing({ timeout: { idleMs: 500 } })).toMatchObject({ kind: "run", timeoutMs: 60 });
  expect(await failing({ timeout: { runMs: 500 }, timeoutMs: 20 })).toMatchObject({
    kind: "run",
    timeoutMs: 20,
  });
});

test("19.4/13 retry policies are laid over each other field by field: workflow, all steps, the step", async () => {
  const at: number[] = [];
  const layered = workflow(
    (_: undefined, { step }) =>
      step(
        "fails",
        () => {
          at.push(Date.now());
          throw new Error("broken");
        },
        { retry: { backoffFactor: 10 } },
      ),
    {
      retry: { maxAttempts: 2, initialIntervalMs: 7, jitter: false, backoffFactor: 5 },
      stepDefaults: { retry: { maxAttempts: 3 } },
    },
  );
  await failureOf(inTime(layered.invoke(undefined)));
  expect(at.slice(1).map((time, index) => time - at[index]!)).toEqual([7, 70]);
});

test("onError of all steps serves where a step has none of its own", async () => {
  const defaulted = workflow(
    async (_: undefined, { step }) => {
      const fail = (): string => {
        throw new Error("broken");
      };
      return [await step("a", fail), await step("b", fail, { onError: () => "own" })];
    },
    { stepDefaults: { onError: ({ name }) => `default for ${name}` } },
  );
  expect((await defaulted.invoke(undefined)).output).toEqual(["default for a", "own"]);
});
