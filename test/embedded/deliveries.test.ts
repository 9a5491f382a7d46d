/** Deliveries on a real log: draining, broken subscriptions, undeclared workflows, workers that share a store. */
import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Runstream } from "../../src/embedded/runstream.ts";
import { stepSignal } from "../../src/engine/step-context.ts";
import type { AnyWorkflowDef } from "../../src/engine/workflow.ts";
import { workflow } from "../../src/engine/workflow.ts";
import type { HistoryEvent } from "../../src/events/catalogue.ts";
import { deferred } from "../engine/scene.ts";
import { breakable, embedded, recorder, STORES, until } from "./kit.ts";

const kit = embedded();

const eventsOf = async (runstream: Runstream, runId: string): Promise<HistoryEvent[]> => {
  const events: HistoryEvent[] = [];
  for await (const { event } of runstream.history(runId)) events.push(event);
  return events;
};

/** A workflow of one step that waits until the test lets it end. */
const held = () => {
  const gate = deferred();
  const bodies: string[] = [];
  let walking = 0;
  let most = 0;
  const def: AnyWorkflowDef = workflow({
    run: async (_input, ctx) => {
      walking += 1;
      most = Math.max(most, walking);
      try {
        return await ctx.step("hold", async () => {
          bodies.push(ctx.runId);
          await gate.promise;
          return "held";
        });
      } finally {
        walking -= 1;
      }
    },
  });
  return { def, gate, bodies, most: () => most };
};

describe.each(STORES)("deliveries on %s", (store) => {
  test("stop lets a walk under way finish, and begins no other", async () => {
    const log = kit.log(store);
    const { def, gate, bodies } = held();
    const worker = kit.open({ store: log, workflows: { def }, concurrency: 1 });
    worker.work();
    const first = await worker.start(def);
    await until("the step", () => bodies.length === 1);
    const second = await worker.start(def);
    const stopping = worker.stop();
    gate.resolve();
    await stopping;
    const other = kit.open({ store: log, workflows: { def } });
    expect(await other.get(first)).toMatchObject({ status: "completed", output: "held" });
    expect(await other.get(second)).toMatchObject({ status: "pending" });
    expect(bodies).toEqual([first]);
    other.work();
    expect(await other.result(second)).toMatchObject({ status: "completed" });
  });

  test("a walk that outlasts the grace is aborted, and another worker goes on from the last settled step", async () => {
    const log = kit.log(store);
    const logger = recorder();
    const bodies: string[] = [];
    let stuck = true;
    const def = workflow({
      run: async (_input, ctx) => {
        await ctx.step("first", () => void bodies.push("first"));
        await ctx.step("second", async () => {
          bodies.push("second");
          if (!stuck) return;
          const signal = stepSignal()!;
          await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        });
      },
    });
    const worker = kit.open({ store: log, workflows: { def }, logger });
    worker.work();
    const runId = await worker.start(def);
    await until("the second step", () => bodies.includes("second"));
    await worker.stop({ graceMs: 10 });
    expect(worker.walking).toBe(0);
    expect(logger.lines).toEqual([]);
    stuck = false;
    const other = kit.open({ store: log, workflows: { def } });
    other.work();
    expect(await other.result(runId)).toMatchObject({ status: "completed" });
    expect(bodies).toEqual(["first", "second", "second"]);
  });

  test("V1 a subscription that breaks is opened again, and the walk under way is neither lost nor doubled", async () => {
    const log = breakable(kit.log(store));
    const logger = recorder();
    const { def, gate, bodies, most } = held();
    const worker = kit.open({ store: log, workflows: { def }, logger });
    worker.work();
    const runId = await worker.start(def);
    await until("the step", () => bodies.length === 1);
    log.breakOff(new Error("the line is down"));
    await until("the subscription", () => log.opened === 2);
    log.breakOff(new Error("the line is down"));
    await until("the subscription", () => log.opened === 3);
    const other = await worker.start(def);
    await until("the other run's step", () => bodies.includes(other));
    gate.resolve();
    expect(await worker.result(runId)).toMatchObject({ status: "completed" });
    expect(await worker.result(other)).toMatchObject({ status: "completed" });
    expect(bodies.filter((id) => id === runId)).toHaveLength(1);
    expect(most()).toBe(2);
    expect(logger.said("broke off").map(({ fields }) => fields.error)).toEqual([
      "the line is down",
      "the line is down",
    ]);
  });

  test("a run of an undeclared workflow is left alone, said once a workflow, and walked by a worker that declares it", async () => {
    const log = kit.log(store);
    const logger = recorder();
    const known = workflow({ run: async () => "known" });
    const unknown = workflow({ run: async () => "unknown" });
    const client = kit.open({ store: log, workflows: { known, unknown } });
    const runs = [await client.start(unknown), await client.start(unknown)];
    const worker = kit.open({ store: log, workflows: { known }, logger });
    worker.work();
    expect(await client.result(await client.start(known))).toMatchObject({ output: "known" });
    await until("the line", () => logger.lines.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(logger.lines.map(({ level, fields }) => [level, fields.workflow])).toEqual([["error", "unknown"]]);
    expect(await eventsOf(client, runs[0]!)).toHaveLength(1);
    await worker.stop();
    client.work();
    for (const runId of runs) expect(await client.result(runId)).toMatchObject({ output: "unknown" });
  });

  test("a run that fails to be walked for ever does not hold up the others, with one place only", async () => {
    const log = kit.log(store);
    const known = workflow({ run: async () => "known" });
    const unknown = workflow({ run: async () => "unknown" });
    const client = kit.open({ store: log, workflows: { known, unknown } });
    for (let n = 0; n < 50; n += 1) await client.start(unknown);
    const worker = kit.open({ store: log, workflows: { known }, concurrency: 1 });
    worker.work();
    const runIds = await Promise.all(Array.from({ length: 20 }, () => client.start(known)));
    for (const runId of runIds) expect(await client.result(runId)).toMatchObject({ output: "known" });
  });

  test("V3 cancelling a run aborts its walk, also when another Runstream cancels it", async () => {
    const log = kit.log(store);
    let reason: unknown;
    let begun = false;
    const def = workflow({
      run: (_input, ctx) =>
        ctx.step("long", async () => {
          begun = true;
          const signal = stepSignal()!;
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          reason = signal.reason;
        }),
    });
    const worker = kit.open({ store: log, workflows: { def } });
    worker.work();
    const client = kit.open({ store: log, workflows: { def } });
    const runId = await client.start(def);
    await until("the step", () => begun);
    expect(await client.cancel(runId)).toBe(true);
    await until("the abort", () => reason !== undefined);
    expect(String(reason)).toContain("was cancelled");
    await until("rest", () => worker.walking === 0);
    expect((await eventsOf(client, runId)).map(({ type }) => type)).toEqual([
      ...["RunCreated", "RunStarted", "AttemptClaimed", "RunCancelled"],
    ]);
  });

  test("V4 a signal and a wake by another Runstream win a race at once, while the slow step still runs", async () => {
    const log = kit.log(store);
    const gate = deferred();
    const won: unknown[] = [];
    const racing = workflow({
      run: async (_input, ctx) => {
        const slow = ctx.step("slow", () => gate.promise);
        won.push(await Promise.race([slow, ctx.waitFor("stop")]));
        won.push(await Promise.race([slow, ctx.sleep("nap", 3_600_000).then(() => "woken")]));
        await slow;
      },
    });
    const worker = kit.open({ store: log, workflows: { racing } });
    const other = kit.open({ store: log, workflows: { racing } });
    worker.work();
    const runId = await worker.start(racing);
    await until("the hook", () => other.signal("stop", "answered"));
    await until("the signal", () => won.length === 1);
    await until("the sleep", async () => (await other.wakeUp(runId)) === 1);
    await until("the wake", () => won.length === 2);
    gate.resolve();
    expect(await other.result(runId)).toMatchObject({ status: "completed" });
    expect(won).toEqual(["answered", "woken"]);
  });

  test("a log that is closed under a worker is said, and stop still ends", async () => {
    const log = kit.log(store);
    const logger = recorder();
    const worker = kit.open({ store: log, logger });
    worker.work();
    await new Promise((resolve) => setImmediate(resolve));
    await log.close();
    await until("the line", () => logger.said("the log was closed").length === 1);
    await worker.stop();
  });
});

describe("workers that share a SQLite file", () => {
  test("two in one process share the runs and never walk one run at once", async () => {
    const path = kit.path();
    const walking = new Map<string, number>();
    const overlaps: string[] = [];
    const by = [0, 0];
    const made = (worker: number) =>
      workflow({
        run: async (_input, ctx) => {
          by[worker]! += 1;
          if (walking.has(ctx.runId)) overlaps.push(ctx.runId);
          walking.set(ctx.runId, worker);
          for (let n = 0; n < 5; n += 1) {
            await ctx.step("work", async () => new Promise((resolve) => setImmediate(resolve)));
          }
          await ctx.sleep("pause", 5);
          walking.delete(ctx.runId);
        },
      });
    const workers = [0, 1].map((worker) => kit.open({ store: path, workflows: { job: made(worker) } }));
    for (const worker of workers) worker.work();
    const runIds = await Promise.all(Array.from({ length: 200 }, (_, n) => workers[n % 2]!.start("job")));
    await Promise.all(runIds.map((runId, n) => workers[(n + 1) % 2]!.result(runId)));
    for (const runId of runIds) {
      const types = (await eventsOf(workers[0]!, runId)).map(({ type }) => type);
      expect(types.filter((type) => type === "StepSettled")).toHaveLength(5);
      expect(types.filter((type) => type === "AttemptClaimed")).toHaveLength(5);
      expect(types.filter((type) => type === "SleepElapsed")).toHaveLength(1);
    }
    expect(by[0]).toBeGreaterThan(20);
    expect(by[1]).toBeGreaterThan(20);
  });

  test("5,000 deliveries that were handed back for an hour do not keep a new one from its consumer", async () => {
    const log = kit.log("sqlite");
    const write = (stream: string, type: string) =>
      log.append(stream, "none", [{ id: randomUUID(), type, data: {}, metadata: {} }])();
    await Promise.all(Array.from({ length: 5_000 }, (_, n) => write(`run-${n}`, "Old")));
    const handedBack = new Set<string>();
    const taken: string[] = [];
    const subscription = log.consume("group", { maxInFlight: 1_024 }).subscribe((delivery) => {
      const { stream, type } = delivery.event;
      if (type === "New") taken.push(stream);
      else handedBack.add(stream);
      if (type === "New") delivery.ack();
      else delivery.nack("retry", "not now", 3_600_000);
    });
    await until("the old ones", () => handedBack.size === 5_000);
    await write("run-new", "New");
    await until("the new one", () => taken.length > 0);
    expect(taken).toEqual(["run-new"]);
    subscription.unsubscribe();
  });
});
