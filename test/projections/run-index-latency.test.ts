/** Latencies in the run index: read from a run's own stream when they are asked for first, and kept. */
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import type { RunEvent } from "../../src/events/catalogue.ts";
import type { EventLog } from "../../src/events/event-log.ts";
import { openRunIndex } from "../../src/projections/run-index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { completed, created, ofNewerVersion, put, started, temporaryPath } from "./scene.ts";

const step = (key: string, at: number, until: number): RunEvent[] => [
  { type: "AttemptClaimed", data: { key, holder: "h", at } },
  {
    type: "StepSettled",
    data: { key, name: key, status: "ok", attempts: 1, startedAt: at, finishedAt: until },
  },
];

/** The log, counting the streams that are read. */
const counting = (log: EventLog) => {
  const read: string[] = [];
  return {
    read,
    log: {
      append: log.append,
      readAll: log.readAll,
      subscribe: log.subscribe,
      consume: log.consume,
      head: log.head,
      close: log.close,
      read: (...args: Parameters<EventLog["read"]>) => {
        read.push(args[0]);
        return log.read(...args);
      },
    } satisfies EventLog,
  };
};

it("are answered of runs that are over, read once, and kept in the index's file", async () => {
  const { log, read } = counting(createMemoryLog());
  const path = temporaryPath();
  await put(
    log,
    "r1",
    created("w", 1_000),
    started(1_001),
    ...step("a", 1_005, 1_010),
    ...step("b", 1_012, 1_020),
    completed(1_021),
  );
  await put(log, "r2", created("w", 2_000), started(2_001), ...step("a", 2_005, 2_010));
  await put(log, "r3", created("w", 3_000), completed(3_001));
  await put(log, "r4", created("w", 4_000), ofNewerVersion(started()), completed());

  const index = openRunIndex(log, { path });
  expect((await index.list()).runs.map(({ latency }) => latency)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(read).toEqual([]);
  const wanted = [
    ["r4", undefined],
    ["r3", {}],
    ["r2", undefined],
    ["r1", { timeToFirstStepMs: 5, stepToStep: { count: 1, medianMs: 2, maxMs: 2 } }],
  ];
  const answered = async (from = index) =>
    (await from.list({ latency: true })).runs.map(({ runId, latency }) => [runId, latency]);
  expect(await answered()).toEqual(wanted);
  expect(read.splice(0)).toEqual(["run-r3", "run-r1"]);
  expect(await answered()).toEqual(wanted);
  expect(read).toEqual([]);
  await index.close();

  const later = openRunIndex(log, { path });
  expect(await answered(later)).toEqual(wanted);
  expect(read.filter((stream) => stream === "run-r1")).toEqual([]);
  await later.rebuild();
  expect(await answered(later)).toEqual(wanted);
  expect(read.filter((stream) => stream === "run-r1")).toEqual(["run-r1"]);
  await later.close();
});

it("leave a page's order, limit and cursor as they are", async () => {
  const log = createMemoryLog();
  for (let at = 0; at < 5; at++) await put(log, `r${at}`, created("w", at), completed(at));
  const index = openRunIndex(log);
  const first = await index.list({ latency: true, limit: 3 });
  expect(first.runs.map(({ runId }) => runId)).toEqual(["r4", "r3", "r2"]);
  const next = await index.list({ latency: true, limit: 3, cursor: first.cursor as string });
  expect(next.runs.map(({ runId }) => runId)).toEqual(["r1", "r0"]);
  await index.close();
});

it("come with an index of today's tables: one of older tables is filled again", async () => {
  const log = createMemoryLog();
  const path = temporaryPath();
  await put(log, "r1", created("w", 1_000), completed(1_021));
  const older = new DatabaseSync(path);
  older.exec("PRAGMA application_id = 1381198200; PRAGMA user_version = 2; CREATE TABLE runs (x)");
  older.close();
  const index = openRunIndex(log, { path });
  expect((await index.list({ latency: true })).runs).toMatchObject([{ runId: "r1", latency: {} }]);
  await index.close();
});
