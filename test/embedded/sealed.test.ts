/**
 * Runs with sealed payloads, on both stores: they run as others do, another process with the keys goes on with them, the store holds none
 * of their values, and a run whose key was deleted can still be read, audited and cancelled, and is never walked on what is not there.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type KeyUse, type PayloadKey, sealedLog } from "../../src/embedded/sealed-log.ts";
import { workflow } from "../../src/engine/workflow.ts";
import { runStream } from "../../src/events/stream-names.ts";
import { decodePayload, type Payload, SealedPayload } from "../../src/index.ts";
import { describeEvent } from "../../src/projections/event-line.ts";
import { collect, embedded, recorder, STORES, until } from "./kit.ts";

const kit = embedded();

/** Keys in a table, as a service would have them: made when a run is, and deletable. */
const keyTable = () => {
  const table = new Map<string, Uint8Array>();
  return {
    table,
    keyFor: async (runId: string, use: KeyUse): Promise<PayloadKey> => {
      if (use === "create" && !table.has(runId)) table.set(runId, crypto.getRandomValues(new Uint8Array(32)));
      return table.get(runId);
    },
  };
};

const SECRET = "attack at dawn";
const rich = () => ({
  at: new Date(5),
  names: new Map([["who", new Set([SECRET])]]),
  big: SECRET.repeat(200),
});

const bodies: string[] = [];
const workflows = {
  order: workflow({
    run: async (input, ctx) => {
      const first = await ctx.step("first", async () => {
        bodies.push(`first ${ctx.runId}`);
        return { ...rich(), input };
      });
      const failed = await ctx
        .step("fails", () => Promise.reject(new Error(`no: ${SECRET}`)), { maxAttempts: 1 })
        .catch((error: unknown) => (error as Error).message);
      const answer = await ctx.waitFor(`ok/${ctx.runId}`);
      return { first, failed, answer };
    },
  }),
};

describe.each(STORES)("sealed payloads on %s", (store) => {
  const parked = async (payloads: Parameters<typeof kit.open>[0]["payloads"]) => {
    const file = kit.path();
    const log = kit.log(store, file);
    const first = kit.open({ store: log, workflows, ...(payloads && { payloads }) });
    first.work();
    const runId = await first.start("order", { text: SECRET }, { key: "k1", metadata: { kept: true } });
    await until("a parked run", async () => (await first.index.waits(runId)).length === 1);
    return { file, log, first, runId };
  };

  it("run as others do, and are gone on with by another process that has the keys", async () => {
    const keys = keyTable();
    const { log, first, runId } = await parked({ compress: true, keys });
    await first.stop();
    const second = kit.open({ store: log, workflows, payloads: { keys } });
    second.work();
    expect(await second.signal(`ok/${runId}`, { when: new Date(7), why: SECRET })).toBe(true);
    expect(await second.result(runId)).toEqual({
      runId,
      workflow: "order",
      createdAt: expect.any(Number),
      key: "k1",
      status: "completed",
      output: {
        first: { ...rich(), input: { text: SECRET } },
        failed: `no: ${SECRET}`,
        answer: { when: new Date(7), why: SECRET },
      },
    });
    expect(bodies.filter((line) => line === `first ${runId}`)).toHaveLength(1);
  });

  it("leave none of their values in the store, and say in the metadata what is sealed and how", async () => {
    const keys = keyTable();
    const { file, log, first, runId } = await parked({ compress: true, keys });
    await first.signal(`ok/${runId}`, { why: SECRET });
    await first.result(runId);
    const stored = await collect(log.read(runStream(runId)));
    expect(JSON.stringify(stored)).not.toContain("dawn");
    expect(
      stored
        .filter(({ metadata }) => metadata.sealed !== undefined)
        .map(({ type, metadata }) => [type, metadata]),
    ).toEqual([
      ["RunCreated", { v: 1, sealed: { input: { enc: "A256GCM" } } }],
      ["StepSettled", { v: 1, sealed: { output: { enc: "A256GCM", zip: "zstd" } } }],
      ["StepSettled", { v: 1, sealed: { error: { enc: "A256GCM" } } }],
      ["HookDelivered", { v: 1, sealed: { payload: { enc: "A256GCM" } } }],
      ["RunCompleted", { v: 1, sealed: { output: { enc: "A256GCM", zip: "zstd" } } }],
    ]);
    expect(stored[0]?.data).toMatchObject({ workflow: "order", key: "k1", metadata: { kept: true } });
    await first.stop();
    await log.close();
    if (store === "sqlite")
      for (const part of ["", "-wal"].filter((end) => existsQuietly(file + end)))
        expect(readFileSync(file + part).includes("dawn")).toBe(false);
  });

  it("are one with the same run unsealed, event by event", async () => {
    const shape = async (payloads: Parameters<typeof parked>[0]) => {
      const { first, runId } = await parked(payloads);
      await first.signal(`ok/${runId}`, rich());
      await first.result(runId);
      const history = await collect(first.history(runId));
      return history.map(({ event }) => [event.type, payloadsOf(event.data)]);
    };
    const plain = await shape(undefined);
    expect(await shape({ compress: true })).toEqual(plain);
    expect(await shape({ keys: keyTable() })).toEqual(plain);
  });

  it("go on after the keys were set up in the middle of a run, with what was written before", async () => {
    const { log, first, runId } = await parked(undefined);
    await first.stop();
    const key = new Uint8Array(32).fill(1);
    const second = kit.open({ store: log, workflows, payloads: { keys: { keyFor: () => key } } });
    second.work();
    await second.signal(`ok/${runId}`, SECRET);
    expect(await second.result(runId)).toMatchObject({ status: "completed", output: { answer: SECRET } });
    const stored = await collect(log.read(runStream(runId)));
    expect(stored.map(({ metadata }) => metadata.sealed !== undefined)).toContain(false);
    expect(stored.at(-1)?.metadata.sealed).toEqual({ output: { enc: "A256GCM" } });
  });

  describe("of a run whose key was deleted", () => {
    const erased = async () => {
      const keys = keyTable();
      const { log, first, runId } = await parked({ keys });
      await first.stop();
      const kept = keys.table.get(runId) as Uint8Array;
      keys.table.delete(runId);
      return { log, runId, keys, kept };
    };

    it("read as erased, in a history that says everything else", async () => {
      const { log, runId, keys } = await erased();
      const reader = kit.open({ store: log, workflows, payloads: { keys } });
      const history = await collect(reader.history(runId));
      const [created] = history;
      expect(describeEvent(created!)).toBe('Run of workflow "order" created under key "k1", input erased');
      const input = (created!.event.data as { input: Payload }).input;
      expect(SealedPayload.is(decodePayload(input))).toBe(true);
      expect(
        history.map((entry) => describeEvent(entry)).find((line) => line.includes("failed for good")),
      ).toMatch(/^Step "fails#0" failed for good.*\(sealed\)$/);
      const state = await reader.stateAt(runId, history.length - 1);
      expect(state?.steps.get("first#0")).toMatchObject({ status: "ok", output: { sealed: "erased" } });
      expect(await reader.get(runId)).toMatchObject({ status: "running", key: "k1" });
    });

    it("are never walked on: the run is refused by name, nothing is recorded of that, and it goes on when the key is back", async () => {
      const keys = keyTable();
      const { log, first, runId } = await parked({ keys });
      await first.signal(`ok/${runId}`, "later");
      await first.result(runId);
      const other = await first.start("order", {});
      await until("a parked run", async () => (await first.index.waits(other)).length === 1);
      await first.stop();
      const kept = keys.table.get(other) as Uint8Array;
      keys.table.delete(other);
      const before = (await collect(log.read(runStream(other)))).length;
      const logger = recorder();
      const worker = kit.open({ store: log, workflows, payloads: { keys }, logger });
      worker.work();
      await expect(worker.signal(`ok/${other}`, "now")).rejects.toMatchObject({
        name: "RejectionError",
        reason: "PayloadsErased",
        runId: other,
        message: expect.stringContaining(other),
      });
      expect(await worker.wakeUp(other)).toBe(0);
      expect((await collect(log.read(runStream(other)))).length).toBe(before);
      await worker.stop();
      keys.table.set(other, kept);
      const later = kit.open({ store: log, workflows, payloads: { keys } });
      later.work();
      await later.signal(`ok/${other}`, "now");
      expect(await later.result(other)).toMatchObject({ status: "completed", output: { answer: "now" } });
    });

    it("go on in the same process when the key is back", async () => {
      const { log, runId, keys, kept } = await erased();
      const worker = kit.open({ store: log, workflows, payloads: { keys } });
      worker.work();
      await expect(worker.signal(`ok/${runId}`, "now")).rejects.toMatchObject({ reason: "PayloadsErased" });
      expect((await worker.get(runId))?.status).toBe("running");
      keys.table.set(runId, kept);
      expect(await worker.signal(`ok/${runId}`, "now")).toBe(true);
      expect(await worker.result(runId)).toMatchObject({ status: "completed", output: { answer: "now" } });
    });

    it("can be cancelled", async () => {
      const { log, runId, keys } = await erased();
      const operator = kit.open({ store: log, workflows, payloads: { keys } });
      expect(await operator.cancel(runId, { reason: "erased on request" })).toBe(true);
      expect(await operator.get(runId)).toMatchObject({ status: "cancelled" });
    });
  });

  it("are locked for who has no keys: read, and neither walked nor answered", async () => {
    const { log, first, runId } = await parked({ keys: keyTable() });
    await first.stop();
    const keyless = kit.open({ store: log, workflows });
    expect(describeEvent((await collect(keyless.history(runId)))[0]!)).toContain("input locked");
    await expect(keyless.signal(`ok/${runId}`, SECRET)).rejects.toMatchObject({
      reason: "PayloadsLocked",
      runId,
    });
  });

  it("refuse a delivery of a run that cannot be read, and leave the run as it is", async () => {
    const log = kit.log(store);
    const keys = keyTable();
    const author = kit.open({ store: log, workflows, payloads: { keys } });
    const runId = await author.start("order", {});
    await author.stop();
    const kept = keys.table.get(runId) as Uint8Array;
    keys.table.delete(runId);
    const logger = recorder();
    const worker = kit.open({ store: log, workflows, payloads: { keys }, logger });
    worker.work();
    await until("a refused delivery", () => logger.said("cannot go on").length > 0);
    expect(logger.lines.map(({ fields }) => fields)).toEqual([
      {
        runId,
        error: expect.stringMatching(`^The payloads of run "${runId}" are sealed and its key is gone`),
      },
    ]);
    expect((await collect(log.read(runStream(runId)))).map(({ type }) => type)).toEqual(["RunCreated"]);
    keys.table.set(runId, kept);
    await worker.stop();
    const later = kit.open({ store: log, workflows, payloads: { keys } });
    later.work();
    await until("a parked run", async () => (await later.index.waits(runId)).length === 1);
  });

  it("say so where the key is another one, and nothing else breaks", async () => {
    const keys = keyTable();
    const { log, first, runId } = await parked({ keys });
    const other = await first.start("order", {});
    await until("a parked run", async () => (await first.index.waits(other)).length === 1);
    await first.stop();
    keys.table.set(runId, new Uint8Array(32));
    const reader = kit.open({ store: log, workflows, payloads: { keys } });
    await expect(collect(reader.history(runId))).rejects.toMatchObject({
      name: "StoreError",
      error: { _tag: "Corrupt" },
      message: expect.stringMatching(`run "${runId}" cannot be read at revision 0.*does not open`),
    });
    expect(await collect(reader.history(other))).not.toEqual([]);
    expect((await reader.recent("order")).map((run) => run.runId)).toEqual([other]);
  });

  it("of a finished run whose key was deleted are an output that says so", async () => {
    const keys = keyTable();
    const { log, first, runId } = await parked({ keys });
    await first.signal(`ok/${runId}`, SECRET);
    await first.result(runId);
    await first.stop();
    keys.table.delete(runId);
    const worker = kit.open({ store: log, workflows, payloads: { keys } });
    worker.work();
    const outcome = await worker.result(runId);
    expect(outcome).toMatchObject({ status: "completed", output: { state: "erased" } });
    expect(SealedPayload.is((outcome as { output: unknown }).output)).toBe(true);
  });
});

describe("the option", () => {
  it("is checked when the store is opened", () => {
    for (const payloads of [null, 5, { keys: {} }, { keys: { keyFor: "no" } }] as never[])
      expect(() => kit.open({ store: ":memory:", payloads })).toThrow(/keyFor\(runId, use\)/);
  });

  it("asks for no keys where none are needed: a log that nobody reads values of", async () => {
    const log = kit.log("memory");
    const keys = keyTable();
    await collect(sealedLog(log, { keys }).readAll());
    const first = kit.open({ store: log, workflows, payloads: { keys } });
    const runId = await first.start("order", {});
    await first.stop();
    const shut = { keyFor: () => Promise.reject(new Error("shut")) };
    const lister = kit.open({ store: log, workflows, payloads: { keys: shut } });
    expect((await lister.list()).runs.map((run) => run.runId)).toEqual([runId]);
  });
});

const payloadsOf = (data: object): readonly unknown[] =>
  Object.values(data)
    .filter((value) => typeof value === "object" && value !== null && ("json" in value || "message" in value))
    .map((value) => ("json" in value ? decodePayload(value) : value));

const existsQuietly = (file: string): boolean => {
  try {
    readFileSync(file);
    return true;
  } catch {
    return false;
  }
};
