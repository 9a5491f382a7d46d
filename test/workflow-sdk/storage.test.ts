/** What is read from a World: lists in pages, events by cursor, entities by id, and what comes with a write. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as published from "@workflow/world";
import { afterAll, describe, expect, expectTypeOf, it } from "vitest";
import { sdkTokenStream } from "../../src/events/stream-names.ts";
import { createWorld } from "../../src/integrations/workflow-sdk/index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { hook, logOf, memoryWorld, newRun, requests, send, step, textOf, wait, worldOver } from "./worlds.ts";

const folder = mkdtempSync(join(tmpdir(), "runstream-storage-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("events", () => {
  it("are listed oldest first, with a cursor on every page that holds something", async () => {
    const world = memoryWorld();
    const runId = await newRun(world);
    await send(world, runId, step.lazy("s"), step.completed("s"));
    const types: string[] = [];
    let cursor: string | undefined;
    for (;;) {
      const page = await world.events.list({
        runId,
        pagination: { limit: 2, ...(cursor !== undefined && { cursor }) },
      });
      types.push(...page.data.map(({ eventType }) => eventType));
      expect(page.cursor === null).toBe(page.data.length === 0);
      if (!page.hasMore) {
        cursor = page.cursor!;
        break;
      }
      cursor = page.cursor!;
    }
    expect(types).toEqual(["run_created", "run_started", "step_created", "step_started", "step_completed"]);
    expect(await world.events.list({ runId, pagination: { cursor } })).toEqual({
      data: [],
      cursor: null,
      hasMore: false,
    });
    await send(world, runId, step.lazy("t"));
    const { data } = await world.events.list({ runId, pagination: { cursor } });
    expect(data.map(({ eventType }) => eventType)).toEqual(["step_created", "step_started"]);
    const newest = await world.events.list({ runId, pagination: { sortOrder: "desc", limit: 1 } });
    expect(newest.data[0]?.correlationId).toBe("t");
    expect(newest.hasMore).toBe(true);
    await expect(world.events.list({ runId, pagination: { cursor: "x" } })).rejects.toMatchObject({
      status: 400,
    });
  });

  it("lose their payload, and nothing else, where only the rest is asked for", async () => {
    const world = memoryWorld();
    const runId = await newRun(world);
    await send(world, runId, step.created("s"), requests.completed);
    const { data } = await world.events.list({ runId, resolveData: "none" });
    expect(data.map(({ eventData }) => eventData)).toEqual([
      { deploymentId: "dpl_1", workflowName: "wf" },
      undefined,
      { stepName: "add" },
      undefined,
    ]);
    const one = await world.events.get(runId, data[2]!.eventId);
    expect(textOf((one.eventData as { input: unknown }).input)).toBe("devl[1]");
    await expect(world.events.get(runId, "evnt_unknown")).rejects.toMatchObject({ status: 404 });
  });

  it("come with a run's start, and with a step's end those that the caller has not seen", async () => {
    const world = memoryWorld();
    const runId = await newRun(world, false);
    const started = await world.events.create(runId, requests.started);
    expect(started.events?.map(({ eventType }) => eventType)).toEqual(["run_created", "run_started"]);
    const bare = await world.events.create(await newRun(world, false), requests.started, {
      skipPreload: true,
    });
    expect(bare.events).toBe(undefined);
    const sinceCursor = started.cursor!;
    await send(world, runId, step.lazy("s"), hook.created("h", "t"), hook.received("h"));
    const ended = await world.events.create(runId, step.completed("s"), { sinceCursor });
    const listed = await world.events.list({ runId, pagination: { cursor: sinceCursor, sortOrder: "asc" } });
    expect({ data: ended.events, cursor: ended.cursor, hasMore: ended.hasMore }).toEqual(listed);
    expect(listed.data).toHaveLength(5);
    const quiet = await world.events.create(runId, step.lazy("u"), { sinceCursor });
    expect(quiet.events).toBe(undefined);
  });

  it("are found by what they are about, in whichever run", async () => {
    const world = memoryWorld();
    const [one, two] = [await newRun(world), await newRun(world)];
    await send(world, one, step.lazy("s"));
    await send(world, two, step.created("other"), step.created("s"));
    const { data } = await world.events.listByCorrelationId({ correlationId: "s" });
    expect(data.map(({ runId, eventType }) => [runId, eventType])).toEqual([
      [one, "step_created"],
      [one, "step_started"],
      [two, "step_created"],
    ]);
  });

  it("keep when they happened by the writer's clock", async () => {
    const world = memoryWorld();
    const runId = await newRun(world);
    const occurredAt = new Date(1_600_000_000_000);
    await world.events.create(runId, step.created("s"), { occurredAt });
    expect((await world.events.list({ runId })).data[2]?.occurredAt).toEqual(occurredAt);
  });
});

describe("runs", () => {
  it("are listed newest first, by workflow and status, in pages", async () => {
    const world = memoryWorld();
    const runs = [];
    for (let i = 0; i < 5; i++) runs.push(await newRun(world, i % 2 === 0));
    await send(world, runs[0]!, requests.completed);
    const ids = (list: { data: { runId: string }[] }) => list.data.map(({ runId }) => runId);
    expect(ids(await world.runs.list())).toEqual([...runs].reverse());
    expect(ids(await world.runs.list({ status: "running" }))).toEqual([runs[4], runs[2]]);
    expect(ids(await world.runs.list({ workflowName: "other" }))).toEqual([]);
    const first = await world.runs.list({ pagination: { limit: 2 }, resolveData: "none" });
    expect(ids(first)).toEqual([runs[4], runs[3]]);
    expect(first.data[0]).toMatchObject({ input: undefined, status: "running" });
    await newRun(world);
    const second = await world.runs.list({ pagination: { limit: 9, cursor: first.cursor! } });
    expect(ids(second)).toEqual([runs[2], runs[1], runs[0]]);
    expect([first.hasMore, second.hasMore]).toEqual([true, false]);
  });
});

describe("steps and hooks", () => {
  it("are listed newest first; hooks that are over are none", async () => {
    const world = memoryWorld();
    const [one, two] = [await newRun(world), await newRun(world)];
    await send(
      world,
      one,
      step.created("s1"),
      step.created("s2"),
      hook.created("h1", "a"),
      hook.created("h2", "b"),
    );
    await send(world, two, hook.created("h3", "c"), hook.created("h4", "a"));
    const steps = await world.steps.list({ runId: one, resolveData: "none" });
    expect(steps.data.map(({ stepId, input }) => [stepId, input])).toEqual([
      ["s2", undefined],
      ["s1", undefined],
    ]);
    const hookIds = async (runId?: string) =>
      (await world.hooks.list(runId === undefined ? {} : { runId })).data.map(({ hookId }) => hookId);
    expect(await hookIds(one)).toEqual(["h2", "h1"]);
    expect(await hookIds()).toEqual(["h3", "h2", "h1"]);
    await send(world, one, hook.disposed("h2"));
    expect(await hookIds()).toEqual(["h3", "h1"]);
    await send(world, one, requests.cancelled);
    expect(await hookIds()).toEqual(["h3"]);
    await expect(world.steps.get(one, "none")).rejects.toMatchObject({ status: 404 });
  });

  it("a hook is found by its token and by its id while it lives", async () => {
    const world = memoryWorld();
    const runId = await newRun(world);
    const { hook: made } = await world.events.create(runId, hook.created("h", "t"));
    expect(made).toMatchObject({ hookId: "h", token: "t", runId, isWebhook: false, isSystem: false });
    expect(textOf((await world.hooks.getByToken("t")).metadata)).toBe('devl["meta"]');
    expect((await world.hooks.get("h", { resolveData: "none" })).metadata).toBe(undefined);
    await send(world, runId, hook.received("h"), hook.received("h"), hook.disposed("h"));
    const gone = { name: "HookNotFoundError" };
    await expect(world.hooks.getByToken("t")).rejects.toMatchObject(gone);
    await expect(world.hooks.get("h")).rejects.toMatchObject(gone);
    await expect(world.hooks.getByToken("never")).rejects.toMatchObject(gone);
    expect(await logOf(world, runId)).toEqual([
      "run_created",
      "run_started",
      "hook_created h",
      "hook_received h",
      "hook_received h",
      "hook_disposed h",
    ]);
  });

  it("a token that is taken is a conflict that names its run, and is no hook", async () => {
    const log = createMemoryLog();
    const world = worldOver(log);
    const [one, two] = [await newRun(world), await newRun(world)];
    await send(world, one, hook.created("h", "t"));
    const { event, hook: none } = await world.events.create(two, hook.created("h", "t"));
    expect(event).toMatchObject({
      eventType: "hook_conflict",
      correlationId: "h",
      eventData: { token: "t", conflictingRunId: one },
    });
    expect(none).toBe(undefined);
    expect(await send(world, one, hook.created("h", "t"))).toEqual(["EntityConflictError"]);
    expect(await send(world, one, hook.created("h2", "t"))).toEqual(["hook_conflict"]);
    const refused = await newRun(world);
    await send(world, refused, requests.completed, hook.created("h", "free"));
    for await (const _ of log.read(sdkTokenStream("free")))
      throw new Error("a refused hook reserved a token");
  });
});

describe("a World", () => {
  it("goes on where another one left off", async () => {
    const path = join(folder, "again.db");
    const first = createWorld({ store: path });
    const runId = await newRun(first);
    const at = new Date(1_800_000_000_000);
    await send(
      first,
      runId,
      step.lazy("s"),
      step.retrying("s", at),
      wait.created("w", at),
      hook.created("h", "t"),
    );
    const before = [
      await first.runs.get(runId),
      await first.steps.get(runId, "s"),
      await first.events.list({ runId }),
    ];
    await first.close();
    await first.close();
    await expect(first.runs.get(runId)).rejects.toThrow(/is closed/);
    const second = createWorld({ store: path });
    expect([
      await second.runs.get(runId),
      await second.steps.get(runId, "s"),
      await second.events.list({ runId }),
    ]).toEqual(before);
    expect((await second.steps.get(runId, "s")).retryAfter).toEqual(at);
    await second.close();
  });

  it("makes no file before it is used", async () => {
    const path = join(folder, "unused", "none.db");
    const world = createWorld({ store: path });
    expect(world.specVersion).toBe(5);
    expect(await world.getDeploymentId()).toBe("dpl_runstream");
    await world.close();
    const broken = createWorld({ store: path });
    await expect(broken.runs.list()).rejects.toMatchObject({ name: "StoreError" });
    await broken.close();
  });

  it("leaves a log that it was given to its owner", async () => {
    const log = openSqliteLog(":memory:");
    const world = worldOver(log);
    await newRun(world);
    await world.close();
    expect(await log.head()).toBeTypeOf("string");
    await log.close();
  });

  it("encrypts where it has a key, and gives each run its own", async () => {
    expect(memoryWorld().getEncryptionKeyForRun).toBe(undefined);
    const world = memoryWorld({ encryptionKey: Buffer.alloc(32, 7).toString("base64") });
    const key = await world.getEncryptionKeyForRun!("wrun_1");
    expect(key).toHaveLength(32);
    expect(await world.getEncryptionKeyForRun!("wrun_2")).not.toEqual(key);
    const same = memoryWorld({ encryptionKey: Buffer.alloc(32, 7).toString("hex") });
    expect(await same.getEncryptionKeyForRun!("wrun_1")).toEqual(key);
    expect(() => memoryWorld({ encryptionKey: "short" })).toThrow(/it is 32 bytes/);
    expect(() => memoryWorld({ concurrency: 0 })).toThrow(/whole number/);
    expect(() => memoryWorld({ durability: "none" as "full" })).toThrow(/it is "full" or "normal"/);
  });

  it("is one for the published types", () => {
    const world: published.World = createWorld({ store: ":memory:" });
    expectTypeOf(world.specVersion).toEqualTypeOf<number>();
    expect(world.processExitTriggersQueueRedelivery).toBe(undefined);
  });

  it("stores payloads that are text as text, and others as base64", async () => {
    const log = createMemoryLog();
    const world = worldOver(log);
    const runId = await newRun(world);
    await send(world, runId, step.lazy("s"));
    const zstd = new Uint8Array([0x7a, 0x73, 0x74, 0x64, 0x28, 0xb5, 0x2f, 0xfd]);
    await world.events.create(runId, {
      eventType: "step_completed",
      correlationId: "s",
      eventData: { result: zstd, ttfs: 3, optimizations: ["turbo"] },
    });
    const stored = [];
    for await (const { type, data } of log.readAll({ filter: { streamPrefix: "run-" } }))
      stored.push({ type, data });
    expect(stored[0]).toMatchObject({
      type: "SdkRunCreated",
      data: {
        bytes: { text: 'devl["in"]' },
        eventData: { deploymentId: "dpl_1", workflowName: "wf" },
        specVersion: 5,
      },
    });
    expect(stored[4]).toMatchObject({
      type: "SdkStepCompleted",
      data: {
        correlationId: "s",
        bytes: { base64: "enN0ZCi1L/0=" },
        eventData: { ttfs: 3, optimizations: ["turbo"] },
      },
    });
    expect((await world.steps.get(runId, "s")).output).toEqual(zstd);
  });
});
