/** Steps: their keys, their places, and when they are recorded. */
import { expect, test } from "vitest";
import { RunControl, type WorkflowContext, workflow } from "../../src/threads/index.ts";
import { failureOf, last, listed, stepsIn } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { inTime, pause, turns, withTimeAtRest } from "./time.ts";

withTimeAtRest();

/** A passage whose writes wait until they are let through, one by one, and which notes how they come. */
const heldWrites = () => {
  const waiting: (() => void)[] = [];
  let under = 0;
  let most = 0;
  return {
    read: <T>(work: () => Promise<T>): Promise<T> => work(),
    async write<T>(work: () => Promise<T>): Promise<T> {
      under += 1;
      most = Math.max(most, under);
      await new Promise<void>((go) => waiting.push(go));
      const answer = await work();
      under -= 1;
      return answer;
    },
    most: () => most,
    release: () => waiting.shift()?.(),
    /** Lets writes through until `end` has come. */
    async through<T>(end: Promise<T>): Promise<T> {
      let over = false;
      const note = (): void => {
        over = true;
      };
      end.then(note, note);
      for (let round = 0; round < 50 && !over; round += 1) {
        await turns(5);
        waiting.shift()?.();
      }
      return end;
    },
  };
};

onEach(STORES, "steps", (store) => {
  const run = (body: (context: WorkflowContext) => unknown, maxConcurrency = 16) =>
    workflow((_: undefined, context) => body(context), { checkpointer: store().worker(), maxConcurrency });

  test("calls of one name are numbered in their order, whatever becomes of them", async () => {
    let broken = true;
    const keys: string[] = [];
    const numbered = run(async ({ step }) => {
      const one = (fails: boolean) =>
        step("n", ({ name, key, attempt }) => {
          keys.push(`${name} ${key} ${attempt}`);
          if (fails && broken) throw new Error(`${key} is broken`);
          return key;
        });
      const [, second] = await Promise.allSettled([one(false), one(true), one(false)]);
      if (second.status === "rejected") throw second.reason;
      return one(false);
    });
    await failureOf(numbered.invoke(undefined, { threadId: "t" }));
    expect(Object.keys(stepsIn(await numbered.state("t"))).sort()).toEqual(["n", "n#3"]);
    broken = false;
    expect(await last(numbered.continue("t"))).toMatchObject({ output: "n#4" });
    expect(keys).toEqual(["n n 1", "n n#2 1", "n n#3 1", "n n#2 1", "n n#4 1"]);
  });

  test("a call that a drain refuses counts, too", async () => {
    const control = new RunControl();
    const refused = run(async ({ step }) => {
      await step("n", () => control.drain());
      await step("n", () => 2).catch(() => {});
      return step("n", ({ key }) => key);
    });
    await failureOf(refused.invoke(undefined, { threadId: "t", control }));
    expect(await last(refused.continue("t"))).toMatchObject({ output: "n#3" });
  });

  test("a throw is a rejection, and a plain value a result", async () => {
    const plain = run(async ({ step }) => {
      const thrown = await step("throws", () => {
        throw new Error("thrown");
      }).catch((error: Error) => error.message);
      const rejected = await step("rejects", () => Promise.reject(new Error("rejected"))).catch(
        (error: Error) => error.message,
      );
      return [thrown, rejected, await step("plain", () => 1), await step("promise", async () => 2)];
    });
    expect((await plain.invoke(undefined)).output).toEqual(["thrown", "rejected", 1, 2]);
  });

  test("who waits for a place gets it in the order of the calls, and nobody passes during a back-off", async () => {
    const began: string[] = [];
    const queued = run(({ step }) => {
      const one = (name: string) =>
        step(name, () => {
          began.push(name);
          return pause(1);
        });
      const flaky = step(
        "flaky",
        ({ attempt }) => {
          began.push(`flaky ${attempt}`);
          if (attempt === 1) throw new Error("once more");
        },
        { retry: { maxAttempts: 2, initialIntervalMs: 50, jitter: false } },
      );
      return Promise.all([flaky, one("b"), one("c"), one("d")]);
    }, 1);
    await inTime(queued.invoke(undefined));
    expect(began).toEqual(["flaky 1", "flaky 2", "b", "c", "d"]);
  });

  test("a step's place is free before its result is written, and its promise resolves after", async () => {
    const writes = heldWrites();
    const told: string[] = [];
    const held = workflow(
      async (_: undefined, { step }) => {
        const one = (name: string) =>
          step(name, () => {
            told.push(`${name} runs`);
          }).then(() => told.push(`${name} is recorded`));
        await Promise.all([one("a"), one("b")]);
      },
      { maxConcurrency: 1, checkpointer: store().worker(writes) },
    );
    const end = held.invoke(undefined, { threadId: "t" });
    await turns(20);
    expect(told).toEqual(["a runs", "b runs"]);
    expect(await store().worker().get("t")).toBeUndefined();
    writes.release();
    await turns(20);
    expect(told.slice(2)).toContain("a is recorded");
    expect((await writes.through(end)).status).toBe("completed");
  });

  test("a thread is written by one write at a time", async () => {
    const writes = heldWrites();
    const parallel = workflow(
      (_: undefined, { step }) =>
        Promise.all(["a", "b", "c", "d", "e"].map((name) => step(name, () => name))),
      { checkpointer: store().worker(writes) },
    );
    const { output } = await writes.through(parallel.invoke(undefined, { threadId: "t" }));
    expect(output).toEqual(["a", "b", "c", "d", "e"]);
    expect(writes.most()).toBe(1);
    const history = (await store().worker().history("t")).reverse();
    expect(history.map((one) => [one.step, Object.keys(stepsIn(one)).length])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [4, 4],
      [5, 5],
      [6, 5],
    ]);
  });

  test("a run that has returned awaits its steps before it ends, also those that began meanwhile", async () => {
    const hasty = run(({ step }) => {
      void step("first", () => pause(3)).then(() => void step("then", () => pause(3)));
      return "returned";
    });
    const events = await inTime(listed(hasty.stream(undefined, { threadId: "t" })));
    expect(events.map((event) => ("key" in event ? event.key : event.type))).toEqual([
      "first",
      "then",
      "done",
    ]);
  });

  test("a cached step waits for no place, and is answered during a drain", async () => {
    const control = new RunControl();
    const cached = run(async ({ step }) => {
      await step("a", () => 1);
      return Promise.all([step("a", () => 2), step("b", () => 3)]);
    }, 1);
    await cached.invoke(undefined, { threadId: "t" });
    control.drain();
    expect(await last(cached.continue("t", { control }))).toMatchObject({ type: "done", output: [2, 3] });
  });
});
