/**
 * What is known of all runs is kept in the run index beside the log: a start over many runs that are over reads none of them again, and
 * whatever became of the index's file, the answers are the log's.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { EventLog } from "../../src/events/event-log.ts";
import { sdkQueueStream } from "../../src/events/stream-names.ts";
import { createWorld, type RunstreamWorld } from "../../src/integrations/workflow-sdk/index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { hook, newRun, requests, send, worldOver } from "./worlds.ts";

const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), "world-scale-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
};

/** A log that counts the events read from it. */
const counting = (log: EventLog) => {
  const counter = { events: 0 };
  const counted = async function* <T>(events: AsyncIterable<T>): AsyncIterable<T> {
    for await (const event of events) {
      counter.events += 1;
      yield event;
    }
  };
  const watched: EventLog = {
    ...log,
    read: (...args) => counted(log.read(...args)),
    readAll: (options) => counted(log.readAll(options)),
  };
  return { watched, counter };
};

const endedRun = async (world: RunstreamWorld): Promise<string> => {
  const runId = await newRun(world);
  await send(world, runId, hook.created(`hook_${runId}`, runId), requests.completed);
  return runId;
};

/** What a World says of all runs. */
const told = async (world: RunstreamWorld) => ({
  runs: (await world.runs.list()).data.map(({ runId, status }) => `${runId} ${status}`),
  hooks: (await world.hooks.list({})).data.map(({ hookId }) => hookId),
});

describe("a start", () => {
  it("reads as much over many runs that are over as over few: two events", async () => {
    const index = join(folder(), "index");
    const log = createMemoryLog();
    const reads: number[] = [];
    for (const more of [3, 97]) {
      const first = worldOver(log, { index });
      for (let i = 0; i < more; i++) await endedRun(first);
      await first.runs.list({ pagination: { limit: 1 } });
      await first.close();
      const { watched, counter } = counting(log);
      const world = worldOver(watched, { index });
      await world.start();
      reads.push(counter.events);
      await world.close();
    }
    // The log's first event and the one that was indexed last: they say whose index this is.
    expect(reads).toEqual([2, 2]);
  });

  it("reads only what came since the last one, and finds in it the run that was left behind", async () => {
    const index = join(folder(), "index");
    const log = createMemoryLog();
    const before = worldOver(log, { index });
    for (let i = 0; i < 20; i++) await endedRun(before);
    await before.start();
    await before.close();
    const elsewhere = worldOver(log);
    const runId = await newRun(elsewhere);
    const { watched, counter } = counting(log);
    const world = worldOver(watched, { index });
    await world.start();
    expect(counter.events).toBe(4);
    const messages: unknown[] = [];
    for await (const { data } of log.read(sdkQueueStream(runId))) messages.push(data.queue);
    expect(messages).toEqual(["__wkf_workflow_wf"]);
    await world.close();
  });
});

describe("whatever became of the index, lists are those of the log:", () => {
  const spoiled = async (spoil: (index: string, log: EventLog) => Promise<void> | void): Promise<void> => {
    const index = join(folder(), "index");
    const log = createMemoryLog();
    const world = worldOver(log, { index });
    const open = await newRun(world);
    await send(world, open, hook.created("h", "t"));
    await endedRun(world);
    const before = await told(world);
    expect(before).toMatchObject({ runs: { length: 2 }, hooks: ["h"] });
    await world.close();
    await spoil(index, log);
    const again = worldOver(log, { index });
    expect(await told(again)).toEqual(await told(worldOver(log)));
    expect((await again.hooks.get("h")).runId).toBe(open);
    await again.close();
  };

  it("it is missing", () => spoiled((index) => rmSync(index)));
  it("it is empty", () => spoiled((index) => writeFileSync(index, "")));
  it("it is stale", () =>
    spoiled(async (_, log) => {
      await endedRun(worldOver(log));
    }));
  it("it is another log's", () =>
    spoiled(async (index) => {
      const other = worldOver(createMemoryLog(), { index });
      await endedRun(other);
      await told(other);
      await other.close();
    }));
  it("it is ahead of the log, which has lost its end", () =>
    spoiled(async (index, log) => {
      const longer = createMemoryLog();
      for await (const { stream, id, type, data, metadata } of log.readAll())
        await longer.append(stream, "any", [{ id, type, data, metadata }])();
      const ahead = worldOver(longer, { index });
      await endedRun(ahead);
      expect((await told(ahead)).runs).toHaveLength(3);
      await ahead.close();
    }));
  it("it is in use by another World", () =>
    spoiled(async (index, log) => {
      const other = worldOver(log, { index });
      await Promise.all([told(other), endedRun(other), told(other)]);
      onTestFinished(() => other.close());
    }));
});

it("lists go on from page to page in either order, hooks too, and refuse a cursor that is none of theirs", async () => {
  const world = worldOver(createMemoryLog());
  const runs: string[] = [];
  for (let i = 0; i < 5; i++) {
    runs.push(await newRun(world));
    await send(world, runs[i]!, hook.created(`h${i}`, `t${i}`));
  }
  const all = async (
    list: (pagination: object) => Promise<{ data: string[]; cursor: string | null; hasMore: boolean }>,
  ) => {
    const pages: string[][] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await list({ limit: 2, ...(cursor !== undefined && { cursor }) });
      pages.push(page.data);
      expect(page.cursor === null).toBe(page.data.length === 0);
      if (!page.hasMore) return pages;
      cursor = page.cursor!;
    }
  };
  const runPages = (sortOrder: "asc" | "desc") =>
    all(async (pagination) => {
      const page = await world.runs.list({ pagination: { ...pagination, sortOrder } });
      return { ...page, data: page.data.map(({ runId }) => runId) };
    });
  const hookPages = (sortOrder: "asc" | "desc") =>
    all(async (pagination) => {
      const page = await world.hooks.list({ pagination: { ...pagination, sortOrder } });
      return { ...page, data: page.data.map(({ hookId }) => hookId) };
    });
  const [a, b, c, d, e] = runs as [string, string, string, string, string];
  expect(await runPages("asc")).toEqual([[a, b], [c, d], [e]]);
  expect(await runPages("desc")).toEqual([[e, d], [c, b], [a]]);
  expect(await hookPages("asc")).toEqual([["h0", "h1"], ["h2", "h3"], ["h4"]]);
  expect(await hookPages("desc")).toEqual([["h4", "h3"], ["h2", "h1"], ["h0"]]);
  for (const cursor of ["?", "7", ""]) {
    await expect(world.runs.list({ pagination: { cursor } })).rejects.toMatchObject({ status: 400 });
    await expect(world.hooks.list({ pagination: { cursor } })).rejects.toMatchObject({ status: 400 });
  }
});

it("the index stands beside a file, and can be thrown away", async () => {
  const store = join(folder(), "runs.db");
  const first = createWorld({ store });
  const runId = await endedRun(first);
  expect((await told(first)).runs).toEqual([`${runId} completed`]);
  await first.close();
  rmSync(`${store}-index`);
  const second = createWorld({ store });
  expect((await told(second)).runs).toEqual([`${runId} completed`]);
  await second.close();
});
