/** runWorkflow on our own journal and on somebody else's: a test sees the same run on both. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryJournal } from "../../src/embedded/memory-journal.ts";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { workflow } from "../../src/engine/workflow.ts";
import { DEFAULT_MAX_DELIVERIES, runWorkflow } from "../../src/testing/run-workflow.ts";
import { createReferenceJournal } from "../reference-journal/reference-journal.ts";

const DAY = 86_400_000;

const journals: readonly (readonly [string, () => JournalStore])[] = [
  ["a memory journal", createMemoryJournal],
  ["somebody else's journal", createReferenceJournal],
];

describe.each(journals)("runWorkflow on %s", (_, makeJournal) => {
  const run: typeof runWorkflow = (def, input, options) =>
    runWorkflow(def, input, { journal: makeJournal(), ...options });

  const napping = (ran: string[]) =>
    workflow({
      run: async (_input, ctx) => {
        const before = await ctx.step("before", () => {
          ran.push("before");
          return "early";
        });
        await ctx.sleep("nap", DAY);
        return { before, after: await ctx.step("after", () => "late") };
      },
    });

  const asking = (token: string, timeoutMs?: number) =>
    workflow({
      run: async (_input, ctx) => {
        if (timeoutMs === undefined) return ctx.waitFor<unknown>(token);
        const answer = await ctx.waitFor<unknown>(token, { timeoutMs });
        return answer === undefined ? "timed out" : { answer };
      },
    });

  const twoSteps = (ran: string[]) =>
    workflow({
      run: async (_input, ctx) => {
        await ctx.step("first", () => void ran.push("first"));
        await ctx.step("second", () => void ran.push("second"));
        return "done";
      },
    });

  it("answers the output of a body, and its one step tried once, after one delivery", async () => {
    const greet = workflow({
      run: async (input, ctx) => ctx.step("greet", () => `hello ${String(input.name)}`),
    });
    const handle = await run(greet, { name: "Ada" });
    expect(handle.status).toBe("completed");
    expect(handle.output).toBe("hello Ada");
    expect(handle.error).toBeUndefined();
    expect(handle.steps).toEqual([
      { key: "greet#0", name: "greet", status: "ok", output: "hello Ada", attempts: 1 },
    ]);
    expect(handle.deliveries).toBe(1);
    expect(handle.crashed).toBe(false);
    expect(handle.signalled).toBe(false);
  });

  it("reports what a body throws as the error of a failed run", async () => {
    const broken = workflow({
      run: async () => {
        throw new Error("no paper");
      },
    });
    const handle = await run(broken, {});
    expect(handle.status).toBe("failed");
    expect(handle.error).toBe("no paper");
    expect(handle.output).toBeUndefined();
  });

  it("leaves a sleeping run running, with its deadline and the step before it", async () => {
    const start = Date.now();
    const handle = await run(napping([]), {});
    expect(handle.status).toBe("running");
    expect(handle.wakeAt).toBeGreaterThanOrEqual(start + DAY);
    expect(handle.steps.map(({ key }) => key)).toEqual(["before#0"]);
    expect(handle.deliveries).toBe(1);
  });

  it("completes a sleeper on its second delivery, and runs no step again", async () => {
    const ran: string[] = [];
    const handle = await run(napping(ran), {});
    expect(await handle.advanceSleep()).toBe(handle);
    expect(handle.status).toBe("completed");
    expect(handle.output).toEqual({ before: "early", after: "late" });
    expect(handle.deliveries).toBe(2);
    expect(handle.wakeAt).toBeUndefined();
    expect(ran).toEqual(["before"]);
  });

  it("wakes only the sleeps that declared the id it is given", async () => {
    const twoNaps = workflow({
      run: async (_input, ctx) => {
        await ctx.sleep("one", DAY, { correlationId: "one" });
        await ctx.sleep("two", DAY);
        return "rested";
      },
    });
    const handle = await run(twoNaps, {});
    await handle.advanceSleep(["two"]);
    expect(handle.deliveries).toBe(1);
    await handle.advanceSleep(["one"]);
    expect(handle.deliveries).toBe(2);
    expect(handle.status).toBe("running");
    await handle.advanceSleep();
    expect(handle.output).toBe("rested");
  });

  it("leaves a run that waits without a deadline running, without a wakeAt", async () => {
    const handle = await run(asking("t"), {});
    expect(handle.status).toBe("running");
    expect(handle.wakeAt).toBeUndefined();
  });

  it("completes a waiting run by its signal", async () => {
    const handle = await run(asking("t"), {});
    expect(await handle.signal("t", { approved: true })).toBe(handle);
    expect(handle.signalled).toBe(true);
    expect(handle.status).toBe("completed");
    expect(handle.output).toEqual({ approved: true });
  });

  it("leaves a missing payload missing", async () => {
    const handle = await run(asking("t"), {});
    await handle.signal("t");
    expect(handle.status).toBe("completed");
    expect(handle.output).toBeUndefined();
  });

  it("says that nobody waits for an unknown token, and leaves the run as it is", async () => {
    const handle = await run(asking("t"), {});
    await handle.signal("other", 1);
    expect(handle.signalled).toBe(false);
    expect(handle.status).toBe("running");
    expect(handle.deliveries).toBe(1);
  });

  it("shows the end of a window as the deadline", async () => {
    const start = Date.now();
    const handle = await run(asking("t", DAY), {});
    expect(handle.status).toBe("running");
    expect(handle.wakeAt).toBeGreaterThanOrEqual(start + DAY);
  });

  it("takes the body down its timeout branch when the windows expire, and changes no recorded deadline", async () => {
    const handle = await run(asking("t", DAY), {});
    const before = await handle.journal.readSleeps(handle.runId);
    expect(await handle.expireWaits()).toBe(handle);
    expect(handle.status).toBe("completed");
    expect(handle.output).toBe("timed out");
    const after = await handle.journal.readSleeps(handle.runId);
    expect(after.map(({ wakeAt }) => wakeAt)).toEqual(before.map(({ wakeAt }) => wakeAt));
    await handle.signal("t", "too late");
    expect(handle.signalled).toBe(false);
  });

  it("keeps an answer that came before the windows expire", async () => {
    const handle = await run(asking("t", DAY), {});
    await handle.signal("t", "in time");
    await handle.expireWaits();
    expect(handle.status).toBe("completed");
    expect(handle.output).toEqual({ answer: "in time" });
  });

  it("keeps an answer that is there but was not delivered to the body when the windows expire", async () => {
    const handle = await run(asking("t", DAY), {});
    expect(await handle.journal.deliverHook("t", "in time")).toBe(handle.runId);
    await handle.expireWaits();
    expect(handle.output).toEqual({ answer: "in time" });
  });

  it("does not reach a window by a bare wake", async () => {
    const handle = await run(asking("t", DAY), {});
    await handle.advanceSleep();
    expect(handle.status).toBe("running");
    expect(handle.deliveries).toBe(1);
  });

  it("does not end a sleep when the windows expire", async () => {
    const handle = await run(napping([]), {});
    await handle.expireWaits();
    expect(handle.status).toBe("running");
    expect(handle.deliveries).toBe(2);
    expect(handle.wakeAt).toBeGreaterThan(Date.now());
  });

  it("counts a delivery and changes nothing when the windows of a completed run expire", async () => {
    const handle = await run(asking("t", DAY), {});
    await handle.expireWaits();
    await handle.expireWaits();
    expect(handle.output).toBe("timed out");
    expect(handle.deliveries).toBe(3);
  });

  it("shows a step that failed twice and then succeeded as one entry of three attempts", async () => {
    let tries = 0;
    const flaky = workflow({
      run: async (_input, ctx) =>
        ctx.step("flaky", () => {
          tries += 1;
          if (tries < 3) throw new Error("not yet");
          return tries;
        }),
    });
    const handle = await run(flaky, {});
    expect(handle.steps).toEqual([{ key: "flaky#0", name: "flaky", status: "ok", output: 3, attempts: 3 }]);
  });

  it("shows a step that failed for good with its message", async () => {
    const broken = workflow({
      run: async (_input, ctx) =>
        ctx.step(
          "broken",
          () => {
            throw new Error("no ink");
          },
          { maxAttempts: 2 },
        ),
    });
    const handle = await run(broken, {});
    expect(handle.steps).toEqual([
      { key: "broken#0", name: "broken", status: "failed", error: "no ink", attempts: 2 },
    ]);
    expect(handle.status).toBe("failed");
  });

  it("kills the delivery that reaches a step before its body runs, and a restart runs each body once", async () => {
    const ran: string[] = [];
    const handle = await run(twoSteps(ran), {}, { crashAt: "second" });
    expect(handle.crashed).toBe(true);
    expect(handle.status).toBe("running");
    expect(handle.steps.map(({ key }) => key)).toEqual(["first#0"]);
    expect(ran).toEqual(["first"]);

    expect(await handle.restart()).toBe(handle);
    expect(handle.status).toBe("completed");
    expect(handle.output).toBe("done");
    expect(ran).toEqual(["first", "second"]);
    expect(handle.deliveries).toBe(2);
  });

  it("charges the attempt that it kills, and the settled step says one attempt", async () => {
    const lone = workflow({ run: async (_input, ctx) => ctx.step("only", () => "done") });
    const handle = await run(lone, {}, { crashAt: "only" });
    expect(handle.crashed).toBe(true);
    expect(await handle.journal.claimAttempt(handle.runId, "only#0", "somebody", DAY)).toBe(2);
    await handle.journal.releaseAttempt(handle.runId, "only#0", "somebody");
    await handle.restart();
    expect(handle.steps).toEqual([
      { key: "only#0", name: "only", status: "ok", output: "done", attempts: 1 },
    ]);
  });

  it("does not take a step for another whose name it begins", async () => {
    const lone = workflow({ run: async (_input, ctx) => ctx.step("ab", () => "done") });
    const handle = await run(lone, {}, { crashAt: "a" });
    expect(handle.crashed).toBe(false);
    expect(handle.status).toBe("completed");
  });

  it("orders steps by name, and one name's occurrences as numbers", async () => {
    const polling = workflow({
      run: async (_input, ctx) => {
        await Promise.all(Array.from({ length: 11 }, (_, n) => ctx.step("poll", () => n)));
        await ctx.step("file", () => "filed");
      },
    });
    const handle = await run(polling, {});
    expect(handle.steps.map(({ key }) => key)).toEqual([
      "file#0",
      ...Array.from({ length: 11 }, (_, n) => `poll#${n}`),
    ]);
  });

  it("keeps the reads apart from the steps", async () => {
    const reading = workflow({
      run: async (_input, ctx) => [
        await ctx.now(),
        await ctx.now(),
        await ctx.uuid(),
        await ctx.step("now", () => "a step"),
      ],
    });
    const handle = await run(reading, {});
    const [first, second, uuid] = handle.output ?? [];
    expect(handle.reads).toEqual([
      { key: "now!0", kind: "now", value: first },
      { key: "now!1", kind: "now", value: second },
      { key: "uuid!0", kind: "uuid", value: uuid },
    ]);
    expect(handle.steps.map(({ key }) => key)).toEqual(["now#0"]);
  });

  it("answers a read with the same value after a crash and a restart", async () => {
    const seen: number[] = [];
    const drawing = workflow({
      run: async (_input, ctx) => {
        seen.push(await ctx.random());
        await ctx.step("after", () => "done");
        return seen.at(-1);
      },
    });
    const handle = await run(drawing, {}, { crashAt: "after" });
    await handle.restart();
    expect(seen).toHaveLength(2);
    expect(seen[1]).toBe(seen[0]);
    expect(handle.output).toBe(seen[0]);
    expect(handle.reads).toEqual([{ key: "random!0", kind: "random", value: seen[0] }]);
  });

  it("refuses an input that the schema does not accept", async () => {
    const strict = workflow({ input: z.object({ url: z.string() }), run: async ({ url }) => url });
    await expect(run(strict, { url: 7 }, { name: "digest" })).rejects.toThrow(
      "workflow digest refused that input",
    );
  });

  it("hands the body what the schema makes of the input", async () => {
    const lenient = workflow({
      input: z.object({ count: z.coerce.number().default(3) }),
      run: async ({ count }) => count * 2,
    });
    expect((await run(lenient, {})).output).toBe(6);
    expect((await run(lenient, { count: "5" })).output).toBe(10);
  });

  it("rejects when a run takes more deliveries than it may", async () => {
    const restless = workflow({
      run: async (_input, ctx) => {
        for (;;) await ctx.sleep("nap", DAY);
      },
    });
    const handle = await run(restless, {}, { maxDeliveries: 3, name: "restless" });
    await handle.advanceSleep();
    await handle.advanceSleep();
    await expect(handle.advanceSleep()).rejects.toThrow(
      `run ${handle.runId} of workflow restless took 3 deliveries without settling`,
    );
    expect(DEFAULT_MAX_DELIVERIES).toBe(50);
  });

  it("puts two runs into one journal", async () => {
    const journal = makeJournal();
    const greet = workflow({ run: async (input, ctx) => ctx.step("greet", () => String(input.name)) });
    const ada = await run(greet, { name: "Ada" }, { journal, name: "greet" });
    const bob = await run(greet, { name: "Bob" }, { journal, name: "greet" });
    expect(ada.runId).not.toBe(bob.runId);
    const listed = await journal.listRuns("greet", 10);
    expect(listed.map(({ runId }) => runId).sort()).toEqual([ada.runId, bob.runId].sort());
    expect(ada.output).toBe("Ada");
    expect(bob.output).toBe("Bob");
  });

  it("shows the body the name of the workflow and the id of the run", async () => {
    const self = workflow({ run: async (_input, ctx) => [ctx.workflow, ctx.runId] });
    const named = await run(self, {}, { name: "named" });
    expect(named.output).toEqual(["named", named.runId]);
    const unnamed = await run(self, {});
    expect(unnamed.output?.[0]).toBe("workflow");
  });

  it("rejects with what the journal rejects with, and the run stays running", async () => {
    const store = makeJournal();
    const trouble = new Error("the disk is gone");
    let broken = true;
    const journal: JournalStore = {
      ...store,
      claimSleep: (...args) => (broken ? Promise.reject(trouble) : store.claimSleep(...args)),
    };
    await expect(run(napping([]), {}, { journal, name: "napping" })).rejects.toBe(trouble);
    broken = false;
    const [record] = await store.listRuns("napping", 1);
    expect(record?.status).toBe("running");
  });

  it("does one thing after another, also for a test that does not wait in between", async () => {
    const handle = await run(
      workflow({
        run: async (_input, ctx) => [await ctx.waitFor("a"), await ctx.waitFor("b")],
      }),
      {},
    );
    await Promise.all([handle.signal("a", 1), handle.signal("b", 2)]);
    expect(handle.output).toEqual([1, 2]);
    await handle.close();
  });
});
