/**
 * The run index over EventStoreDB: kept in a local file, it answers what the server holds, whatever happened to it or to the connection
 * meanwhile. It reads the log itself, so that a subscription's duplicates and checkpoints are no matter of its own; here they are made all
 * the same, with workers on the same node.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openRunstream, type Runstream } from "../../src/embedded/runstream.ts";
import { workflow } from "../../src/engine/workflow.ts";
import type { EventLog } from "../../src/events/event-log.ts";
import { openRunIndex, type RunIndex } from "../../src/projections/run-index.ts";
import { event, put, testScene } from "./kit.ts";

const folder = mkdtempSync(join(tmpdir(), "runstream-esdb-index-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const freshFile = (): string => join(folder, `index-${files++}`);

const workflows = {
  quick: workflow({ run: async (_input, ctx) => ctx.step("one", () => 1) }),
  waits: workflow({ run: async (_input, ctx) => ctx.waitFor(`answer-${ctx.runId}`) }),
};

const listed = async (index: RunIndex): Promise<string[]> =>
  (await index.list({ limit: 1_000 })).runs.map(({ runId, status }) => `${runId} ${status}`).sort();

describe("the run index on EventStoreDB", () => {
  const scene = testScene();

  const working = (store: EventLog): Runstream => {
    const runstream = openRunstream({ store, workflows });
    runstream.work();
    return runstream;
  };

  const runs = async (runstream: Runstream, from: number, to: number): Promise<string[]> => {
    const all: string[] = [];
    for (let n = from; n < to; n += 1) {
      const waits = n % 3 === 0;
      const runId = await runstream.start(waits ? "waits" : "quick", {}, { runId: `r${n}` });
      if (!waits) await runstream.result(runId);
      all.push(`${runId} ${waits ? "running" : "completed"}`);
    }
    for (;;) {
      const { runs: waiting } = await runstream.list({ status: "pending" });
      if (waiting.length === 0) return all;
    }
  };

  it("goes on from its checkpoint when it is opened again, over a node that was restarted meanwhile", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString);
    const runstream = working(log);
    const path = freshFile();
    const before = openRunIndex(log, { path });
    expect(await listed(before)).toEqual([]);
    const first = await runs(runstream, 0, 6);
    expect(await listed(before)).toEqual(first.toSorted());
    await before.close();

    const second = await runs(runstream, 6, 12);
    await node.restart();
    const read: number[] = [];
    const again = openRunIndex(log, { path, onProgress: ({ events }) => read.push(events) });
    expect(await listed(again)).toEqual([...first, ...second].toSorted());
    // What it had seen was not read again: of the six runs before, only what has happened since counts.
    const inAll = openRunIndex(log, { onProgress: ({ events }) => read.push(-events) });
    expect(await listed(inAll)).toEqual([...first, ...second].toSorted());
    const [goneOn, anew] = [Math.max(...read), -Math.min(...read)];
    expect(goneOn).toBeLessThan(anew);
    await again.close();
    await inAll.close();
    await runstream.stop();
  });

  it("is the same made anew, and as it was kept while events came twice and subscriptions broke", async () => {
    const node = await scene.node({ tickMs: 50 });
    node.faults.switches.poisonCheckpoint = true;
    node.faults.switches.caughtUpAgainAfter = 3;
    const log = await scene.open(node.connectionString, { heartbeatMs: 200 });
    const runstream = working(log);
    const path = freshFile();
    const kept = openRunIndex(log, { path });
    const all: string[] = [];
    for (let round = 0; round < 5; round += 1) {
      node.faults.add({ on: "subscribe", kind: "duplicate" });
      node.faults.add({ on: "consume", kind: "duplicate" });
      node.faults.add({ on: "read", kind: "cancelled", skip: 3 });
      all.push(...(await runs(runstream, 4 * round, 4 * round + 4)));
      node.redeliver();
      expect(await listed(kept)).toEqual(all.toSorted());
    }
    const anew = openRunIndex(log);
    expect(await listed(anew)).toEqual(all.toSorted());
    await kept.rebuild();
    expect(await listed(kept)).toEqual(all.toSorted());
    await Promise.all([kept.close(), anew.close(), runstream.stop()]);
  });

  it("says how far behind it is, and that it is not when it has caught up", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString);
    const index = openRunIndex(log);
    await put(log, "run-a", "none", event("RunCreated", { workflow: "w", createdAt: 1 }));
    expect((await index.lag()).caughtUp).toBe(false);
    await index.catchUp();
    const { caughtUp, checkpoint, head } = await index.lag();
    expect({ caughtUp, same: checkpoint === head }).toEqual({ caughtUp: true, same: true });
    await index.close();
  });

  it("of another database at the same address is filled anew", async () => {
    const path = freshFile();
    const first = await scene.node();
    const oneLog = await scene.open(first.connectionString);
    const one = working(oneLog);
    const old = openRunIndex(oneLog, { path });
    await runs(one, 0, 3);
    expect(await listed(old)).toHaveLength(3);
    await old.close();
    await one.stop();
    await oneLog.close();
    await first.stop();

    const second = await scene.node({ port: first.port });
    const otherLog = await scene.open(second.connectionString);
    const other = working(otherLog);
    const expected = await runs(other, 7, 9);
    const index = openRunIndex(otherLog, { path });
    expect(await listed(index)).toEqual(expected.toSorted());
    await index.close();
    await other.stop();
  });
});
