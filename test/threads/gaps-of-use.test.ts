/** G5, G8 and G12 to G19: options that are said and left unsaid, uses of a context that is over, and what is stored at the edges. */
import { expect, test, vi } from "vitest";
import type {
  RetryPolicy,
  StepContext,
  StepOptions,
  WorkflowContext,
  WorkflowOptions,
} from "../../src/threads/index.ts";
import { workflow } from "../../src/threads/index.ts";
import { mortal } from "./mortal-worker.ts";
import { failureOf, last, listed, listener, stepsIn } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { inTime, pause, turns, withTimeAtRest } from "./time.ts";

withTimeAtRest();

onEach(STORES, "gaps", (store) => {
  const run = (body: (context: WorkflowContext) => unknown, options: WorkflowOptions = {}) =>
    workflow((_: undefined, context) => body(context), { checkpointer: store().worker(), ...options });

  test("G8 a name that looks like a numbered one is not taken for it", async () => {
    const ran: string[] = [];
    const confusing = run(async ({ step }) => {
      const one = (name: string, say: string) =>
        step(name, () => {
          ran.push(say);
          return say;
        });
      return [await one("a#2", "literal"), await one("a", "first"), await one("a", "second")];
    });
    const output = ["literal", "first", "second"];
    expect((await confusing.invoke(undefined, { threadId: "t" })).output).toEqual(output);
    expect(await last(confusing.continue("t"))).toMatchObject({ output });
    expect(ran).toEqual(output);
  });

  test("G13 a context that outlived its run takes no more steps", async () => {
    const contexts: WorkflowContext[] = [];
    const ran: string[] = [];
    const leaking = run(async (context) => {
      contexts.push(context);
      return context.step("one", () => 1);
    });
    await leaking.invoke(undefined, { threadId: "t" });
    expect(await failureOf(contexts[0]!.step("late", () => ran.push("late")))).toBeInstanceOf(Error);
    await turns(3);
    expect([ran, (await leaking.state("t"))?.status]).toEqual([[], "completed"]);
    expect(await leaking.history("t")).toHaveLength(2);
  });

  test("G14 a heartbeat after its attempt sets no timer and aborts nothing", async () => {
    const contexts: StepContext[] = [];
    const beating = run(async ({ step }) => {
      await step(
        "one",
        async (context) => {
          contexts.push(context);
          context.heartbeat();
          await pause(1);
        },
        { timeout: { idleMs: 20, runMs: 100 } },
      );
    });
    await inTime(beating.invoke(undefined, { threadId: "t" }));
    contexts[0]!.heartbeat();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(contexts[0]!.signal.aborted).toBe(false);
  });

  test("G15 with its start recorded, a run goes on whose worker died in the first step", async () => {
    const early = (checkpointer = store().worker()) =>
      workflow((input: string, { step }) => step("one", () => `${input} 1`), {
        checkpointer,
        recordStart: true,
      });
    const life = mortal({ operation: 1, when: "before" });
    early(store().worker(life.passage)).stream("in", { threadId: "t" });
    await inTime(life.died);
    expect(await early().state("t")).toMatchObject({
      step: 1,
      status: "running",
      state: { input: "in", steps: {} },
    });
    expect(await last(early().continue("t"))).toMatchObject({ type: "done", output: "in 1", step: 3 });
  });

  test("G16 the output of the run before is not the output of one that goes on and fails", async () => {
    let broken = false;
    const breaking = run(async () => {
      if (broken) throw new Error("broken");
      return "the output";
    });
    await breaking.invoke(undefined, { threadId: "t" });
    broken = true;
    expect(await failureOf(listed(breaking.continue("t")))).toMatchObject({ message: "broken" });
    const failed = (await breaking.state("t"))!;
    expect(failed.status).toBe("failed");
    expect(failed.state).not.toHaveProperty("output");
  });

  test("G17 a thread's id that is used again starts the thread over", async () => {
    const ran: string[] = [];
    const again = run(({ step }) => step("one", () => ran.push("one")));
    await again.invoke(undefined, { threadId: "t" });
    await again.invoke(undefined, { threadId: "t" });
    expect(ran).toHaveLength(2);
  });

  test.each(["the first", "the second", "the last"])(
    "G18 19.4/27 a store that fails at %s write fails the run, and what was recorded stays",
    async (which) => {
      const failing = ["the first", "the second", "the last"].indexOf(which);
      const ran: string[] = [];
      let writes = 0;
      const recording = (checkpointer = store().worker()) =>
        run(
          async ({ step }) => {
            await step("one", () => ran.push("one")).catch(() => {});
            await step("two", () => ran.push("two")).catch(() => {});
            return "the end";
          },
          { checkpointer },
        );
      const passage = {
        read: <T>(work: () => Promise<T>) => work(),
        write: async <T>(work: () => Promise<T>) => {
          writes += 1;
          if (writes > failing) throw new Error("the disk is full");
          return work();
        },
      };
      const worker = recording(store().worker(passage));
      const error = await failureOf(worker.invoke(undefined, { threadId: "t" }));
      expect(String(error)).toContain("the disk is full");
      expect(writes).toBe(failing + 1);
      const stored = await recording().state("t");
      expect(stored?.status).toBe(failing === 0 ? undefined : "running");
      expect(Object.keys(stepsIn(stored))).toEqual(["one", "two"].slice(0, failing));
      ran.length = 0;
      const survivor = recording();
      const end = failing === 0 ? survivor.stream(undefined, { threadId: "t" }) : survivor.continue("t");
      expect(await last(end)).toMatchObject({ output: "the end" });
      expect(ran).toEqual(["one", "two"].slice(failing));
    },
  );
});

/** As a caller writes it who has no value: TypeScript would not let an absent option be said as `undefined`. */
const said = <T>(options: Record<string, unknown>): T => options as T;

test("G12 an option that is said to be undefined is not said", async () => {
  let attempts = 0;
  const failing = (options: WorkflowOptions, stepOptions: StepOptions<unknown>) => {
    attempts = 0;
    return failureOf(
      inTime(
        workflow(
          (_: undefined, { step }) =>
            step(
              "fails",
              () => {
                attempts += 1;
                throw new Error("broken");
              },
              stepOptions,
            ),
          options,
        ).invoke(undefined),
      ),
    );
  };
  const unsaid = said<RetryPolicy>({
    maxAttempts: undefined,
    initialIntervalMs: undefined,
    backoffFactor: undefined,
    maxIntervalMs: undefined,
    jitter: undefined,
    retryOn: undefined,
  });
  await failing({}, { retry: unsaid });
  expect(attempts).toBe(1);
  const before = Date.now();
  await failing({ retry: { maxAttempts: 2, initialIntervalMs: 7, jitter: false } }, { retry: unsaid });
  expect([attempts, Date.now() - before]).toEqual([2, 7]);
  await failing(
    said({ retry: undefined, stepDefaults: undefined }),
    said({ retry: undefined, onError: undefined }),
  );
  expect(attempts).toBe(1);
});

test("G12 limits and names that are said to be undefined are the defaults", async () => {
  const slow = workflow(
    (_: undefined, { step }) =>
      step(
        "slow",
        () => pause(100),
        said({ timeoutMs: undefined, timeout: { runMs: undefined, idleMs: undefined } }),
      ),
    { stepDefaults: { timeout: { runMs: 30 } } },
  );
  expect(await failureOf(inTime(slow.invoke(undefined)))).toMatchObject({ kind: "run", timeoutMs: 30 });
  const unsaid = workflow(
    (_: undefined, { threadId, ...context }) => [threadId.length > 0, "tenantId" in context],
    said({
      name: undefined,
      checkpointer: undefined,
      maxConcurrency: undefined,
      now: undefined,
      store: undefined,
    }),
  );
  const runOptions = said<object>({
    threadId: undefined,
    signal: undefined,
    tenantId: undefined,
    metadata: undefined,
  });
  const result = await unsaid.invoke(undefined, runOptions);
  expect([unsaid.name, result.output]).toEqual(["workflow", [true, false]]);
  expect((await unsaid.state(result.threadId))?.metadata).toEqual({ graph: "workflow" });
});

test("fewer than one slot is one", async () => {
  let running = 0;
  let most = 0;
  const narrow = workflow(
    (_: undefined, { step }) =>
      Promise.all(
        ["a", "b"].map((name) =>
          step(name, async () => {
            running += 1;
            most = Math.max(most, running);
            await pause(1);
            running -= 1;
          }),
        ),
      ),
    { maxConcurrency: -3 },
  );
  expect((await inTime(narrow.invoke(undefined))).steps).toBe(2);
  expect(most).toBe(1);
});

test("by default sixteen steps run at once", async () => {
  let running = 0;
  let most = 0;
  const wide = workflow((_: undefined, { step }) =>
    Promise.all(
      Array.from({ length: 40 }, (_each, index) =>
        step(`s${index}`, async () => {
          running += 1;
          most = Math.max(most, running);
          await pause(1);
          running -= 1;
        }),
      ),
    ),
  );
  expect((await inTime(wide.invoke(undefined))).steps).toBe(40);
  expect(most).toBe(16);
});

test("G5 without a checkpointer the listener hears what it would hear with one", async () => {
  const body = async (_: undefined, { step }: WorkflowContext) => step("one", () => 1);
  const [kept, unkept] = [listener(), listener()];
  await workflow(body).invoke(undefined, { onEvent: kept.onEvent });
  await workflow(body, { checkpointer: false }).invoke(undefined, { onEvent: unkept.onEvent });
  expect(unkept.heard).toEqual(kept.heard);
  expect(unkept.of("checkpoint")).toHaveLength(2);
});

test("G15 nothing is stored before the first step has ended: N steps are N + 1 checkpoints", async () => {
  const seen: unknown[] = [];
  const early = workflow(async (_: undefined, { step, threadId }) => {
    await step("one", async () => {
      seen.push(await early.state(threadId));
    });
    seen.push((await early.state(threadId))?.step);
  });
  await early.invoke(undefined, { threadId: "t" });
  expect(seen).toEqual([undefined, 1]);
  expect(await early.history("t")).toHaveLength(2);
});

const MONTH = 30 * 24 * 60 * 60_000;

test.each<[string, StepOptions<string>]>([
  ["timeoutMs", { timeoutMs: MONTH }],
  ["runMs", { timeout: { runMs: 2 ** 31 } }],
  ["idleMs", { timeout: { idleMs: 2 ** 40 } }],
  ["an endless limit", { timeoutMs: Number.POSITIVE_INFINITY }],
])("G19 a limit longer than a timer can hold does not fire at once: %s", async (_, options) => {
  const patient = workflow((_input: undefined, { step }) =>
    step(
      "slow",
      ({ heartbeat }) =>
        pause(50)
          .then(heartbeat)
          .then(() => "in time"),
      options,
    ),
  );
  const result = await inTime(patient.invoke(undefined));
  expect(result.output).toBe("in time");
});

test("G19 nor is a delay that long over at once", async () => {
  const stop = new AbortController();
  const attempts: number[] = [];
  const patient = workflow((_: undefined, { step }) =>
    step(
      "fails",
      ({ attempt }) => {
        attempts.push(attempt);
        setTimeout(() => stop.abort(), 1_000);
        throw new Error("broken");
      },
      { retry: { maxAttempts: 2, initialIntervalMs: MONTH, maxIntervalMs: MONTH, jitter: false } },
    ),
  );
  expect((await inTime(patient.invoke(undefined, { signal: stop.signal }))).status).toBe("interrupted");
  expect(attempts).toEqual([1]);
});
