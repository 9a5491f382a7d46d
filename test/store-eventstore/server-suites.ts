/**
 * What is asked of every server: of the stand-in always, of others where they are to be had (`test/esdb-servers`). The server takes appends
 * of 4 MiB, may hold whatever it likes, and keeps what a suite wrote.
 */
import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import {
  createJournal,
  createMemoryStreams,
  createWorkflowEngine,
  openRunIndex,
  workflow,
} from "../../src/index.ts";
import { type EventStoreLogOptions, openEventStoreLog } from "../../src/store-eventstore/index.ts";
import { eventLogConformance } from "../../src/testing/event-log-conformance.ts";
import { journalStoreConformance } from "../../src/testing/index.ts";
import { event, ids, numbered, put, testScene, until } from "./kit.ts";

/** `server` is asked when a case begins. */
export const logConformance = (server: () => string, options?: EventStoreLogOptions): void => {
  eventLogConformance(
    async () => {
      const log = await openEventStoreLog(server(), options);
      return { log, reopen: () => openEventStoreLog(server(), options), dispose: () => log.close() };
    },
    { describe, it, deadlineMs: 30_000 },
  );
};

export const journalConformance = (server: () => string, options?: EventStoreLogOptions): void => {
  journalStoreConformance(
    async () => {
      const log = await openEventStoreLog(server(), options);
      const index = openRunIndex(log, { path: ":memory:" });
      return {
        store: createJournal(log, { index: () => index }),
        dispose: async () => {
          await index.close();
          await log.close();
        },
      };
    },
    { describe, it, afterAll },
  );
};

/** Somebody else's client, with no code of Runstream: it can read a run's stream and understand it. */
export const rawReader = (server: () => string): void => {
  const scene = testScene();

  it("a run's stream is JSON events with the types of the catalogue, and its metadata is JSON", async () => {
    const log = await scene.open(server());
    const order = workflow({
      async run(input: { readonly item: string }, ctx) {
        const price = await ctx.step("price", () => ({ item: input.item, cents: 1_250 }));
        return { paid: price.cents, at: new Date(0) };
      },
    });
    // An engine without a worker: what others left in the database is not this test's to walk.
    const index = openRunIndex(log, { path: ":memory:" });
    const engine = createWorkflowEngine({
      workflows: { order },
      journal: createJournal(log, { index: () => index }),
      streams: createMemoryStreams(),
      dispatch: () => {},
    });
    const runId = await engine.start("order", [{ item: "tea" }]);
    expect(await engine.execute(runId)).toBe("completed");
    await index.close();

    const events: { readonly type: string; readonly data: unknown; readonly metadata: unknown }[] = [];
    for await (const { event: read } of scene.raw(server()).readStream(`run-${runId}`)) {
      expect(read?.isJson).toBe(true);
      events.push({ type: read!.type, data: read!.data, metadata: read!.metadata });
    }
    expect(events.map(({ type }) => type)).toEqual([
      "RunCreated",
      "RunStarted",
      "AttemptClaimed",
      "StepSettled",
      "RunCompleted",
    ]);
    expect(events[0]?.data).toMatchObject({ workflow: "order", input: { item: "tea" } });
    expect(events[3]?.data).toMatchObject({
      name: "price",
      status: "ok",
      output: { item: "tea", cents: 1_250 },
    });
    expect(events[4]?.data).toMatchObject({ output: { paid: 1_250, at: "1970-01-01T00:00:00.000Z" } });
    for (const { metadata } of events) expect(metadata).toMatchObject({ v: 1 });
  });
};

/** Several processes on one consumer group, and one of them killed. */
export const takeover = (server: () => string): void => {
  const scene = testScene();

  it("P6 what a process that is killed had not acked goes to another, counted, and in order", async () => {
    const log = await scene.open(server());
    const stream = `takeover-${randomUUID()}`;
    const filter = { streamPrefix: stream };
    await put(log, stream, "none", ...numbered(4));
    const dying = scene.start("consumer-process.ts", [server(), stream, stream, "1"]);
    for (const n of [0, 1, 2, 3]) expect((await dying.lines.next()).value).toBe(`${n} 0`);
    const watch = scene.consume(log, stream, { filter }, (item) => item.ack());
    dying.child.kill("SIGKILL");
    // The ack of the first one may have been on its way when its process died: then that one comes again as well.
    const left = () => watch.items.filter((item) => item.event.revision > 0);
    await until("what it left", () => left().length >= 3);
    const fresh = event();
    await put(log, stream, 3, fresh);
    await until("what is new", () => left().length >= 4);
    expect(left().map((item) => [item.event.revision, item.redeliveries])).toEqual([
      [1, 1],
      [2, 1],
      [3, 1],
      [4, 0],
    ]);
    expect(ids([left()[3]!.event])).toEqual([fresh.id]);
  });
};

export const batchedLog = (server: () => string): void => {
  describe("the log, with batched appends", () => logConformance(server, { appends: "batch" }));
};

/** All but {@link batchedLog}. */
export const plainSuites = (server: () => string): void => {
  describe("the log", () => logConformance(server));
  describe("the journal", () => journalConformance(server));
  describe("a raw reader", () => rawReader(server));
  describe("a takeover", () => takeover(server));
};

export const everySuite = (server: () => string): void => {
  plainSuites(server);
  batchedLog(server);
};
