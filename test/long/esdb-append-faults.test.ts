/** Appends when the server or the network does what it should not: each has the outcome it really had, and is written once at most. */
import { binaryEvent } from "@eventstore/db-client";
import { left } from "fp-ts/lib/Either.js";
import { describe, expect, it } from "vitest";
import type { FaultKind } from "../esdb-node/faults.ts";
import { collect, event, ids, numbered, put, testScene } from "../store-eventstore/kit.ts";

const scene = testScene();

const HARMLESS: readonly FaultKind[] = [
  "delay",
  "drop",
  "timeoutBefore",
  "timeoutAfter",
  "cancelled",
  "cancelledAfter",
  "unavailable",
  "unavailableAfter",
];

/** How long to wait for one answer: not long where none comes. */
const patience = (kind: FaultKind): number => (kind === "drop" ? 1_500 : 10_000);

describe.each(["plain", "batch"] as const)("%s appends", (appends) => {
  const on = appends === "plain" ? "append" : "batchAppend";

  it.each(HARMLESS)("A1 an append is written once and acknowledged as it is, after %s", async (kind) => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends, deadlineMs: patience(kind) });
    const [first, second] = [numbered(3), numbered(2)];
    await put(log, "a", "none", ...first);
    node.faults.add({ on, kind, delayMs: 20 });
    const answer = await put(log, "a", 2, ...second);
    const there = await collect(log.read("a"));
    expect(ids(there)).toEqual(ids([...first, ...second]));
    expect(answer).toEqual({ revision: 4, position: there[4]?.position });
  });

  it.each(HARMLESS)("A1 the first append of a stream is written once after %s", async (kind) => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends, deadlineMs: patience(kind) });
    node.faults.add({ on, kind, delayMs: 20 });
    const events = numbered(2);
    const answer = await put(log, "a", "none", ...events);
    const there = await collect(log.read("a"));
    expect(ids(there)).toEqual(ids(events));
    expect(answer).toEqual({ revision: 1, position: there[1]?.position });
  });

  it.each(HARMLESS)("A3 an append that may go anywhere is written once after %s", async (kind) => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends, deadlineMs: patience(kind) });
    const [first, second] = [numbered(3), numbered(2)];
    await put(log, "a", "any", ...first);
    node.faults.add({ on, kind, delayMs: 20 });
    expect(await put(log, "a", "any", ...second)).toMatchObject({ revision: 4 });
    expect(ids(await collect(log.read("a")))).toEqual(ids([...first, ...second]));
  });

  it("A1 what somebody else wrote in its place is a conflict, although its first try had no answer", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends, deadlineMs: 1_500 });
    const other = await scene.open(node.connectionString);
    await put(log, "b", "none", event());
    node.faults.add({ on, kind: "stall", delayMs: 4_000, stream: "a" });
    const answering = put(log, "a", "none", event());
    const theirs = numbered(2);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await put(other, "a", "none", ...theirs)).toMatchObject({ revision: 1 });
    expect(await answering).toEqual({ _tag: "WrongExpectedRevision", stream: "a", actual: 1 });
    expect(ids(await collect(log.read("a")))).toEqual(ids(theirs));
  });

  it("A4 an append that is never answered is an unknown outcome, which says what to do", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends, deadlineMs: 1_500, retryForMs: 0 });
    node.faults.add({ on, kind: "drop", times: 100 });
    const one = event();
    const answer = await put(log, "a", "none", one);
    expect(answer).toMatchObject({ _tag: "UnknownOutcome" });
    const { reason } = answer as { readonly reason: string };
    expect(reason).toContain(`esdb://127.0.0.1:${node.port}`);
    expect(reason).toContain('stream "a"');
    node.faults.clear();
    expect(ids(await collect(log.read("a")))).toEqual([one.id]);
  });

  it("A1 another node that is named as the leader is asked instead", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends });
    node.faults.add({ on, kind: "notLeader", leader: { host: "127.0.0.1", port: node.port } });
    expect(await put(log, "a", "none", event())).toMatchObject({ revision: 0 });
  });

  it("A1 a node that is killed and comes back meanwhile has written it once", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends });
    await put(log, "a", "none", event());
    node.faults.add({ on, kind: "stall", delayMs: 2_000, stream: "a" });
    const answering = put(log, "a", 0, event());
    await new Promise((resolve) => setTimeout(resolve, 100));
    await node.restart();
    expect(await answering).toMatchObject({ revision: 1 });
    expect(await collect(log.read("a"))).toHaveLength(2);
  });

  it("A2 the same append once more is refused, though the server would take it for the same one", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends });
    const [first, second] = [event(), event()];
    const append = log.append("a", "none", [first, second]);
    expect((await append())._tag).toBe("Right");
    expect(await append()).toMatchObject({ left: { _tag: "WrongExpectedRevision", stream: "a", actual: 1 } });
    const anywhere = log.append("a", "any", [first, second]);
    expect(await anywhere()).toMatchObject({ right: { revision: 3 } });
    expect(ids(await collect(log.read("a")))).toEqual(ids([first, second, first, second]));
  });

  it("A2 of the same append made several times at once, one is written and acknowledged", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString, { appends });
    const append = log.append("a", "none", [event()]);
    const [first, ...others] = await Promise.all([append(), append(), append()]);
    expect(first).toMatchObject({ right: { revision: 0 } });
    for (const other of others)
      expect(other).toEqual(left({ _tag: "WrongExpectedRevision", stream: "a", actual: 0 }));
  });

  it("an event that is too large for the server is refused with the server's limit", async () => {
    const node = await scene.node({ maxAppendSize: 2_000 });
    const log = await scene.open(node.connectionString, { appends });
    const answer = await put(log, "a", "none", event("Noted", { text: "x".repeat(3_000) }));
    expect(answer).toEqual({ _tag: "TooLarge", limit: 2_000, actual: 3_011 + 2 + 2 * 5 });
    expect(await collect(log.read("a"))).toEqual([]);
  });
});

it("A1 a server that is too busy has written nothing and says so at once, in plain appends", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  node.faults.add({ on: "append", kind: "busy" });
  expect(await put(log, "a", "none", event())).toMatchObject({ _tag: "Unavailable" });
  expect(node.counts.appends).toBe(0);
});

it("A1 what may still be written is not said to be unwritten, however another try of it is refused", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { deadlineMs: 1_500 });
  await put(log, "a", "none", event());
  node.faults.add({ on: "append", kind: "stall", delayMs: 4_000, stream: "a" });
  node.faults.add({ on: "append", kind: "busy", stream: "a" });
  const one = event();
  const answer = await put(log, "a", "any", one);
  const there = await collect(log.read("a"));
  expect(there.map(({ id }) => id).filter((id) => id === one.id)).toEqual([one.id]);
  expect(answer).toEqual({ revision: 1, position: there[1]?.position });
});

it("A1 a batched append does not answer for another one that breaks the stream they share", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { appends: "batch" });
  await put(log, "a", "none", event());
  node.faults.add({ on: "batchAppend", kind: "drop", stream: "a" });
  const answering = put(log, "a", 0, event());
  const huge = await put(log, "b", "none", event("Noted", { text: "x".repeat(18 * 1024 * 1024) }));
  expect(huge).toMatchObject({ _tag: "TooLarge", limit: 17 * 1024 * 1024 });
  expect(await answering).toMatchObject({ revision: 1 });
  expect(await collect(log.read("a"))).toHaveLength(2);
  expect(await collect(log.read("b"))).toEqual([]);
});

it("A1 damage that stands in the place of an append is told at once, though its first try had no answer", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { deadlineMs: 1_500, retryForMs: 60_000 });
  node.faults.add({ on: "append", kind: "stall", delayMs: 4_000, stream: "a" });
  const answering = put(log, "a", "none", event());
  await new Promise((resolve) => setTimeout(resolve, 50));
  const alien = binaryEvent({ type: "Alien", data: Buffer.from("x") });
  await scene.raw(node.connectionString).appendToStream("a", alien, { expectedRevision: "no_stream" });
  expect(await answering).toMatchObject({ _tag: "Corrupt" });
});

it("plain appends share no fate: one that hangs keeps none of the others waiting, and no batch is ever begun", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { deadlineMs: 1_500 });
  node.faults.add({ on: "append", kind: "drop", stream: "slow" });
  const slow = put(log, "slow", "none", event());
  const quick = await Promise.all(
    Array.from({ length: 30 }, (_, n) => put(log, `quick-${n}`, "none", event())),
  );
  expect(quick.map((answer) => "revision" in answer && answer.revision)).toEqual(Array(30).fill(0));
  expect(await slow).toMatchObject({ revision: 0 });
  expect(node.counts.calls.batchAppend ?? 0).toBe(0);
});

it("a stream that was tombstoned takes no more events, and cannot be read", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  await put(log, "a", "none", event());
  await scene.raw(node.connectionString).tombstoneStream("a");
  expect(await put(log, "a", 0, event())).toEqual({ _tag: "StreamGone", stream: "a" });
  await expect(collect(log.read("a"))).rejects.toMatchObject({
    name: "StoreError",
    error: { _tag: "StreamGone", stream: "a" },
  });
});
