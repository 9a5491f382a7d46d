/** Threads on a log whose payloads are sealed: with the key they are threads like any other, without it they are not gone on with. */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { type PayloadKey, sealedLog } from "../../../src/embedded/sealed-log.ts";
import { readHistory, threadStateAt } from "../../../src/projections/history.ts";
import { runReport } from "../../../src/projections/run-report.ts";
import { presentPlace } from "../../../src/projections/thread-state.ts";
import { createMemoryLog } from "../../../src/store-memory/index.ts";
import { logCheckpointer, workflow } from "../../../src/threads/index.ts";
import { viewCheckpoint } from "../../../src/threads/log/checkpoint-view.ts";
import { all } from "../../projections/scene.ts";
import { plain, settled } from "./kit.ts";

const scene = () => {
  const log = createMemoryLog();
  const keys = new Map<string, Uint8Array>();
  const keyFor = (threadId: string, use: string): PayloadKey => {
    if (use === "create" && !keys.has(threadId)) keys.set(threadId, randomBytes(32));
    return keys.get(threadId);
  };
  const refunds = (on = sealedLog(log, { keys: { keyFor } })) =>
    workflow(
      async (input: { total: number }, { step, interrupt }) => {
        const total = await step("load", () => input.total);
        return interrupt<boolean>({ reason: `Refund ${total}?` }) ? total : 0;
      },
      { name: "refunds", checkpointer: logCheckpointer(on) },
    );
  return { log, keys, refunds };
};

test("with its key, a thread is read and carried on, and the log holds none of its values", async () => {
  const { log, refunds } = scene();
  await refunds().invoke({ total: 4711 }, { threadId: "t" });
  expect(JSON.stringify(await all(log.readAll()))).not.toContain("4711");
  expect(await refunds().resumeWith("t", true)).toMatchObject({ status: "completed", output: 4711 });
});

test("without keys a thread is locked, and when its key is gone it is erased: nothing goes on from it", async () => {
  const { log, keys, refunds } = scene();
  await refunds().invoke({ total: 4711 }, { threadId: "t" });
  await expect(refunds(log).state("t")).rejects.toMatchObject({
    name: "RejectionError",
    reason: "PayloadsLocked",
  });
  keys.clear();
  await expect(refunds().history("t")).rejects.toMatchObject({ reason: "PayloadsErased" });
  await expect(refunds().resumeWith("t", true)).rejects.toMatchObject({ reason: "PayloadsErased" });
  expect(await all(log.readAll())).toHaveLength(4);
});

test("what it did and asks can be seen without the key, and not what was said", async () => {
  const { log, refunds } = scene();
  await refunds().invoke({ total: 4711 }, { threadId: "t" });
  expect(runReport(await all(readHistory(log, "t")))).toMatchObject({
    status: "awaiting_input",
    steps: { ok: 1 },
    waitingFor: [{ kind: "question", key: "refunds:interrupt:0", reason: "" }],
  });
  const state = await threadStateAt(log, "t");
  const shown = viewCheckpoint("t", presentPlace(state!), (payload) => payload?.sealed);
  expect(plain(shown)).toMatchObject({
    id: "t:2",
    status: "awaiting_input",
    state: { input: "locked", steps: { load: { value: "locked" } } },
    interrupts: [{ id: "refunds:interrupt:0", reason: "locked" }],
  });
});

test("a checkpoint that was put whole is refused alike, and so is what goes on from it", async () => {
  const { log, refunds } = scene();
  await refunds().invoke({ total: 1 }, { threadId: "t" });
  const [latest] = await refunds().history("t");
  const sealed = sealedLog(log, { keys: { keyFor: () => randomBytes(32).fill(7) } });
  await logCheckpointer(sealed).put({ ...latest!, threadId: "copy", id: "copy:2" });
  expect(await logCheckpointer(sealed).get("copy")).toMatchObject({
    state: { steps: { load: settled("load", 1).record } },
  });
  await expect(logCheckpointer(log).get("copy")).rejects.toMatchObject({ reason: "PayloadsLocked" });
  const state = await threadStateAt(log, "copy");
  expect(viewCheckpoint("copy", presentPlace(state!), (payload) => payload?.sealed)).toMatchObject({
    id: "copy:2",
    status: "awaiting_input",
  });
});
