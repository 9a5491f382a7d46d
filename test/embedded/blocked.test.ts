/**
 * Runs that no walk can help as things stand: their key was deleted, or what is stored of them cannot be read. The worker says so once for
 * each of them and leaves them alone; nothing is recorded of it and no delivery is lost, and they go on when they can.
 */
import { randomUUID } from "node:crypto";
import { map } from "rxjs";
import { describe, expect, test } from "vitest";
import type { PayloadKey } from "../../src/embedded/sealed-log.ts";
import { FIRST_LOOK_MS } from "../../src/engine/blocked-runs.ts";
import { workflow } from "../../src/engine/workflow.ts";
import type { EventLog } from "../../src/events/event-log.ts";
import { runStream } from "../../src/events/stream-names.ts";
import { collect, delegate, embedded, recorder, STORES, until } from "./kit.ts";

const kit = embedded();

const HOUR = 3_600_000;
const naps = workflow({
  run: async (input, ctx) => {
    await Promise.all([
      ctx.sleep("a", HOUR, { correlationId: "a" }),
      ctx.sleep("b", HOUR, { correlationId: "b" }),
    ]);
    return ctx.step("last", async () => input.text);
  },
});
const workflows = { naps };

const keyTable = () => {
  const table = new Map<string, Uint8Array>();
  const keyFor = (runId: string): PayloadKey => table.get(runId);
  return { table, keyFor };
};

/** `log`, with what its consumers answer other than by an ack. */
const overheard = (log: EventLog, answers: unknown[]): EventLog => ({
  ...delegate(log),
  consume: (...args) =>
    log.consume(...args).pipe(
      map((delivery) => ({
        ...delivery,
        nack: (...answer: Parameters<typeof delivery.nack>) => {
          answers.push([delivery.event.type, answer[0], answer[2]]);
          delivery.nack(...answer);
        },
      })),
    ),
});

describe.each(STORES)("on %s, a run", (store) => {
  const parked = async () => {
    const keys = keyTable();
    const log = kit.log(store);
    const logger = recorder();
    const runId = "naps-1";
    keys.table.set(runId, new Uint8Array(32).fill(7));
    const worker = kit.open({ store: log, workflows, payloads: { keys }, logger });
    worker.work();
    await worker.start("naps", { text: "hello" }, { runId });
    await until("a parked run", async () => (await worker.index.waits(runId)).length === 2);
    const kept = keys.table.get(runId) as Uint8Array;
    const types = async () => (await collect(log.read(runStream(runId)))).map(({ type }) => type);
    return { keys, log, logger, worker, runId, kept, types };
  };

  test("whose key was deleted is said once, whatever is delivered of it, and goes on with the key", async () => {
    const { keys, log, worker: first, runId, kept, types } = await parked();
    await first.stop();
    keys.table.delete(runId);
    const answers: unknown[] = [];
    const logger = recorder();
    const worker = kit.open({ store: overheard(log, answers), workflows, payloads: { keys }, logger });
    worker.work();
    expect(await worker.wakeUp(runId, { correlationIds: ["a"] })).toBe(1);
    await until("a first look", () => answers.length === 1);
    expect(await worker.wakeUp(runId, { correlationIds: ["b"] })).toBe(1);
    await until("a second look", () => answers.length === 2);
    expect(answers).toEqual([
      ["SleepWoken", "retry", FIRST_LOOK_MS],
      ["SleepWoken", "retry", FIRST_LOOK_MS],
    ]);
    expect(logger.lines).toMatchObject([
      {
        level: "error",
        message: "Workflow run cannot go on; it is left alone, and looked at again within the hour",
        fields: { runId, error: expect.stringContaining("its key is gone") },
      },
    ]);
    const recorded = await types();
    expect(recorded.slice(-2)).toEqual(["SleepWoken", "SleepWoken"]);
    keys.table.set(runId, kept);
    await worker.stop();
    const later = kit.open({ store: log, workflows, payloads: { keys } });
    later.work();
    expect(await later.result(runId)).toMatchObject({ status: "completed", output: "hello" });
  });

  test("whose key was deleted under a worker that knows its values is said once as well", async () => {
    const { keys, logger, worker, runId, kept, types } = await parked();
    keys.table.delete(runId);
    await worker.wakeUp(runId);
    await until("a refused append", () => logger.lines.length > 0);
    expect(logger.lines).toMatchObject([
      {
        message: expect.stringContaining("cannot go on"),
        fields: { error: expect.stringContaining("no key") },
      },
    ]);
    expect(await types()).not.toContain("RunFailed");
    keys.table.set(runId, kept);
  });

  test("with an event that cannot be read is said once, and others are not affected", async () => {
    const { log, runId, keys, logger, worker } = await parked();
    const strange = { id: randomUUID(), type: "SleepPostponed", data: {}, metadata: { schemaVersion: 1 } };
    await log.append(runStream(runId), "any", [strange])();
    keys.table.set("naps-2", new Uint8Array(32));
    const woken = { id: randomUUID(), type: "SleepWoken", data: { key: "sleep!a", at: 1 }, metadata: {} };
    await log.append(runStream(runId), "any", [woken])();
    await until("a look", () => logger.lines.length > 0);
    expect(logger.lines).toMatchObject([
      { message: expect.stringContaining("cannot go on"), fields: { runId, error: expect.any(String) } },
    ]);
    await worker.start("naps", { text: "other" }, { runId: "naps-2" });
    await until("a parked run", async () => (await worker.index.waits("naps-2")).length === 2);
    await worker.wakeUp("naps-2");
    expect(await worker.result("naps-2")).toMatchObject({ output: "other" });
  });
});
