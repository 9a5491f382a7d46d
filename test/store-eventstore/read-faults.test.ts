/** Reads when the connection breaks, another node leads, or nothing comes. */
import { describe, expect, it } from "vitest";
import type { Position } from "../../src/events/event-log.ts";
import { StoreError } from "../../src/events/store-error.ts";
import type { FaultKind } from "../esdb-node/faults.ts";
import { collect, ids, numbered, put, testScene } from "./kit.ts";

const scene = testScene();

const BROKEN: readonly FaultKind[] = [
  "delay",
  "busy",
  "timeoutBefore",
  "timeoutAfter",
  "cancelled",
  "cancelledAfter",
  "unavailable",
  "unavailableAfter",
];

describe.each(BROKEN)("D1 after %s", (kind) => {
  it("a stream is read whole, each event once, in both directions", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString);
    const events = numbered(600);
    await put(log, "a", "none", ...events);
    node.faults.add({ on: "read", kind, delayMs: 20, times: 2 });
    expect(ids(await collect(log.read("a", { max: 500 })))).toEqual(ids(events).slice(0, 500));
    node.faults.add({ on: "read", kind, delayMs: 20, times: 2 });
    expect(ids(await collect(log.read("a", { direction: "backwards" })))).toEqual(ids(events).toReversed());
  });

  it("the whole log is read, and its head", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString);
    const events = numbered(100);
    const answer = await put(log, "a", "none", ...events);
    node.faults.add({ on: "read", kind, delayMs: 20 });
    expect(ids(await collect(log.readAll({ filter: { streamPrefix: "a" } })))).toEqual(ids(events));
    node.faults.add({ on: "read", kind, delayMs: 20 });
    expect(await log.head()).toBe("position" in answer && answer.position);
  });
});

it("D1 a read goes on after the node was restarted in the middle of it", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const events = numbered(3_000);
  await put(log, "a", "none", ...events);
  const seen: string[] = [];
  for await (const { id, revision } of log.read("a")) {
    seen.push(id);
    if (revision === 10) await node.restart();
  }
  expect(seen).toEqual(ids(events));
});

it("D2 another node that is named as the leader is asked instead", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  await put(log, "a", "none", ...numbered(2));
  const leader = { host: "127.0.0.1", port: node.port };
  node.faults.add({ on: "read", kind: "notLeader", leader });
  expect(await collect(log.read("a"))).toHaveLength(2);
});

it("a read that says nothing ends in an error when the deadline is over", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { deadlineMs: 1_500 });
  node.faults.add({ on: "read", kind: "drop" });
  const failure = await collect(log.read("a")).catch((error: unknown) => error);
  expect(StoreError.is(failure) && failure.error._tag).toBe("Unavailable");
  expect(String(failure)).toContain(`esdb://127.0.0.1:${node.port}`);
  expect(await collect(log.read("a"))).toEqual([]);
});

it("a position of another store is refused in words, not read from", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const failure = await collect(log.readAll({ after: "7" as Position })).catch((error: unknown) => error);
  expect(StoreError.is(failure) && failure.error._tag).toBe("Corrupt");
});

it.each([
  [{ from: Number.POSITIVE_INFINITY }, []],
  [{ from: 1e30 }, []],
  [{ from: 1.5 }, [2, 3]],
  [{ from: 1.5, direction: "backwards" }, [1, 0]],
  [{ from: Number.POSITIVE_INFINITY, direction: "backwards" }, [3, 2, 1, 0]],
  [{ max: Number.POSITIVE_INFINITY }, [0, 1, 2, 3]],
] as const)("a read by numbers that are no revisions: %o", async (options, revisions) => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  await put(log, "a", "none", ...numbered(4));
  expect((await collect(log.read("a", options))).map(({ revision }) => revision)).toEqual(revisions);
});
