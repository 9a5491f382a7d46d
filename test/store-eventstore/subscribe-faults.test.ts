/** Subscriptions that outlive what carries them. */
import { describe, expect, it } from "vitest";
import type { Position, RecordedEvent } from "../../src/events/event-log.ts";
import { StoreError } from "../../src/events/store-error.ts";
import type { FaultKind } from "../esdb-node/faults.ts";
import { collect, event, ids, numbered, put, testScene, until } from "./kit.ts";

const scene = testScene();
const filter = { streamPrefix: "a" };

type Items = readonly (RecordedEvent | "CaughtUp")[];
const eventsOf = (items: Items) => items.filter((item) => item !== "CaughtUp");
const caughtUpTimes = (items: Items) => items.length - eventsOf(items).length;

const BROKEN: readonly FaultKind[] = [
  "delay",
  "busy",
  "duplicate",
  "timeoutBefore",
  "cancelled",
  "cancelledAfter",
  "unavailable",
  "unavailableAfter",
];

describe.each(BROKEN)("S1 after %s", (kind) => {
  it("every event comes once and in order, old and new, and CaughtUp once", async () => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString);
    const [old, fresh] = [numbered(40), numbered(10)];
    await put(log, "a", "none", ...old);
    node.faults.add({ on: "subscribe", kind, delayMs: 30, times: 2 });
    const watch = scene.subscribe(log, { after: "start", filter });
    await until("what was there", () => watch.items.includes("CaughtUp"));
    for (const one of fresh) await put(log, "a", "any", one);
    await until("what came later", () => eventsOf(watch.items).length >= 50);
    expect(ids(eventsOf(watch.items))).toEqual(ids([...old, ...fresh]));
    expect(caughtUpTimes(watch.items)).toBe(1);
    expect(watch.items[40]).toBe("CaughtUp");
  });
});

it("S1 a subscription lives through restarts of the node, without a gap and without anything twice", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const watch = scene.subscribe(log, { after: "start", filter });
  const events = numbered(60);
  for (const [n, one] of events.entries()) {
    if (n % 20 === 10) await node.restart();
    // An append that meets the restart is done when the node is back.
    for (let answer = await put(log, "a", "any", one); "_tag" in answer; ) {
      expect(answer._tag).toBe("Unavailable");
      answer = await put(log, "a", "any", one);
    }
  }
  await until("all events", () => eventsOf(watch.items).length >= 60);
  expect(ids(eventsOf(watch.items))).toEqual(ids(events));
  expect(caughtUpTimes(watch.items)).toBe(1);
});

it("S2 a poison checkpoint makes it skip nothing when it is opened again", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  node.faults.switches.poisonCheckpoint = true;
  const watch = scene.subscribe(log, { after: "start", filter });
  await until("CaughtUp", () => watch.items.length === 1);
  await node.kill();
  await node.restart();
  const events = numbered(3);
  await until("the log to answer", () => watch.error === undefined);
  for (const one of events)
    for (let answer = await put(log, "a", "any", one); "_tag" in answer; )
      answer = await put(log, "a", "any", one);
  await until("the events", () => eventsOf(watch.items).length >= 3);
  expect(ids(eventsOf(watch.items))).toEqual(ids(events));
});

it("S3 CaughtUp is said once, however often the server says it", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  node.faults.switches.caughtUpAgainAfter = 1;
  const watch = scene.subscribe(log, { after: "end", filter });
  await until("CaughtUp", () => watch.items.length === 1);
  for (const one of numbered(5)) await put(log, "a", "any", one);
  await until("the events", () => eventsOf(watch.items).length === 5);
  expect(caughtUpTimes(watch.items)).toBe(1);
});

it("S5 a subscription that has gone silent is noticed, and goes on", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { heartbeatMs: 60 });
  node.faults.add({ on: "subscribe", kind: "drop" });
  const watch = scene.subscribe(log, { after: "start", filter });
  const events = numbered(4);
  for (const one of events) await put(log, "a", "any", one);
  await until("the events", () => eventsOf(watch.items).length >= 4);
  expect(ids(eventsOf(watch.items))).toEqual(ids(events));
});

it("S5 a quiet log costs a subscription one small question for each silent heartbeat, and no new call", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { heartbeatMs: 20 });
  const watch = scene.subscribe(log, { after: "start", filter });
  await until("CaughtUp", () => watch.items.length === 1);
  const before = node.counts.calls.read ?? 0;
  await until("five heartbeats", () => (node.counts.calls.read ?? 0) >= before + 5);
  expect(node.counts.calls.subscribe).toBe(1);
});

it("an unsubscribed subscription leaves no call open on the server", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const watch = scene.subscribe(log, { after: "start" });
  await until("CaughtUp", () => watch.items.includes("CaughtUp"));
  watch.stop();
  const fresh = event();
  await put(log, "a", "none", fresh);
  expect(watch.items.some((item) => item !== "CaughtUp" && item.id === fresh.id)).toBe(false);
});

it("a server that stays away ends a subscription in an error that names it, when it was waited for long enough", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { reconnectForMs: 200 });
  const watch = scene.subscribe(log, { after: "start", filter });
  await until("CaughtUp", () => watch.items.length === 1);
  await node.kill();
  await until("the error", () => watch.error !== undefined);
  expect(StoreError.is(watch.error)).toBe(true);
  expect(String(watch.error)).toContain(`esdb://127.0.0.1:${node.port}`);
});

it("a position of another database ends a subscription as it ends a read: in words, and as damage", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  await put(log, "a", "none", event());
  const after = `${"7".padStart(20, "0")}-${"7".padStart(20, "0")}` as Position;
  const watch = scene.subscribe(log, { after });
  await until("the error", () => watch.error !== undefined);
  const read = await collect(log.readAll({ after })).catch((error: unknown) => error);
  for (const error of [watch.error, read]) {
    expect(StoreError.is(error) && error.error._tag).toBe("Corrupt");
    expect(String(error)).toContain("comes from another database");
  }
});
