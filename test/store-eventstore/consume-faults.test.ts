/** Consumer groups when connections break, processes die and the server repeats itself. */
import { expect, it } from "vitest";
import type { Consumed, EventData } from "../../src/events/event-log.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { serverGroup } from "../../src/store-eventstore/group-settings.ts";
import type { FaultKind } from "../esdb-node/faults.ts";
import { event, ids, numbered, put, testScene, until } from "./kit.ts";

const scene = testScene();
const filter = { streamPrefix: "a" };
const ackAtOnce = (item: Consumed): void => item.ack();
const eventsOf = (items: readonly Consumed[]) => items.map((item) => item.event);

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

it.each(BROKEN)("G3 every event comes once and in order after %s", async (kind) => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const events = numbered(30);
  await put(log, "a", "none", ...events.slice(0, 20));
  node.faults.add({ on: "consume", kind, delayMs: 20, times: 2 });
  const watch = scene.consume(log, "g", { filter, maxInFlight: 4 }, (item) => setImmediate(item.ack));
  await until("what was there", () => watch.items.length >= 20);
  for (const one of events.slice(20)) await put(log, "a", "any", one);
  await until("what came later", () => watch.items.length >= 30);
  expect(ids(eventsOf(watch.items))).toEqual(ids(events));
  expect(watch.items.map(({ redeliveries }) => redeliveries)).toEqual(Array(30).fill(0));
});

it.each(["busy", "unavailable", "notLeader"] as const)(
  "a group is made all the same after %s",
  async (kind) => {
    const node = await scene.node();
    const log = await scene.open(node.connectionString);
    node.faults.add({ on: "group", kind, leader: { host: "127.0.0.1", port: node.port } });
    const one = event();
    await put(log, "a", "none", one);
    const watch = scene.consume(log, "g", { filter }, ackAtOnce);
    await until("the event", () => watch.items.length >= 1);
    expect(ids(eventsOf(watch.items))).toEqual([one.id]);
  },
);

it("G3 what a consumer holds is not handed to it again when the server does, and its ack then counts", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const events = numbered(5);
  await put(log, "a", "none", ...events);
  const watch = scene.consume(log, "g", { filter });
  await until("the events", () => watch.items.length === 5);
  watch.items[0]?.ack();
  node.redeliver();
  await node.restart();
  const fresh = event();
  for (let answer = await put(log, "a", 4, fresh); "_tag" in answer; ) answer = await put(log, "a", 4, fresh);
  await until("what is new", () => watch.items.length >= 6);
  expect(ids(eventsOf(watch.items))).toEqual(ids([...events, fresh]));
  for (const item of watch.items) item.ack();
  await log.close();
  const again = await scene.open(node.connectionString);
  const last = event();
  await put(again, "a", 5, last);
  const rest = scene.consume(again, "g", { filter }, ackAtOnce);
  await until("what is new", () => rest.items.length >= 1);
  expect(ids(eventsOf(rest.items))).toEqual([last.id]);
});

it("G4 what was acked while the connection was gone is not handed out again", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const events = numbered(6);
  await put(log, "a", "none", ...events);
  const watch = scene.consume(log, "g", { filter });
  await until("the events", () => watch.items.length === 6);
  await node.kill();
  watch.items[0]?.ack();
  watch.items[1]?.nack("park", "cannot be read");
  watch.items[2]?.nack("retry", "once more");
  await until("the retry", () => watch.items.length === 7);
  await node.restart();
  const fresh = event();
  for (let answer = await put(log, "a", 5, fresh); "_tag" in answer; ) answer = await put(log, "a", 5, fresh);
  await until("what is new", () => watch.items.length >= 8);
  expect(watch.items.slice(6).map((item) => [item.event.revision, item.redeliveries])).toEqual([
    [2, 1],
    [6, 0],
  ]);
});

it("retries that wait, more of them than a process prefetches, hold nothing up", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { prefetch: 16 });
  for (let n = 0; n < 100; n += 1) await put(log, `a-broken-${n}`, "none", event());
  const watch = scene.consume(log, "g", { filter, maxInFlight: 4 }, (item) => {
    if (item.event.stream.includes("broken")) item.nack("retry", "in an hour", 3_600_000);
    else item.ack();
  });
  await until("the broken ones", () => watch.items.length === 100);
  for (let n = 0; n < 50; n += 1) await put(log, `a-sound-${n}`, "none", event());
  await until("the sound ones", () => watch.items.length === 150);
  expect(new Set(watch.items.map((item) => item.event.stream)).size).toBe(150);
});

it("G2 nothing is overtaken: not by what is later in its stream, nor by what is later in a stream that has a consumer", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const [a0, b0, a1, a2, c0, a3] = numbered(6) as [
    EventData,
    EventData,
    EventData,
    EventData,
    EventData,
    EventData,
  ];
  for (const [stream, one] of [
    ["a", a0],
    ["b", b0],
    ["a", a1],
  ] as const)
    await put(log, stream, "any", one);
  const leaving = scene.consume(log, "g");
  await until("what was there", () => leaving.items.length === 3);
  const watch = scene.consume(log, "g", { maxInFlight: 1 });
  leaving.stop();
  await until("the first", () => watch.items.length === 1);
  const other = scene.consume(log, "other", {}, ackAtOnce);
  for (const [stream, one] of [
    ["a", a2],
    ["c", c0],
    ["a", a3],
  ] as const)
    await put(log, stream, "any", one);
  await until("the server to have handed them out", () => other.items.length === 6);
  for (let n = 1; n <= 6; n += 1) {
    await until(`event ${n}`, () => watch.items.length === n);
    watch.items[n - 1]?.ack();
  }
  expect(ids(eventsOf(watch.items))).toEqual(ids([a0, b0, a1, a2, c0, a3]));
});

it("P6 a stream's events stay with one of two processes while both live", async () => {
  const node = await scene.node();
  const [one, two] = [await scene.open(node.connectionString), await scene.open(node.connectionString)];
  const watches = [one, two].map((log) => scene.consume(log, "g", { filter }, ackAtOnce));
  const raw = scene.raw(node.connectionString);
  const joined = async () =>
    (await raw.getPersistentSubscriptionToAllInfo(serverGroup("g", filter))).connections;
  // Whoever joins takes over some streams that others had.
  while ((await joined().catch(() => [])).length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  for (let round = 0; round < 5; round += 1)
    for (let n = 0; n < 20; n += 1) await put(one, `a${n}`, "any", event());
  await until("all events", () => watches.reduce((sum, { items }) => sum + items.length, 0) >= 100);
  const owners = new Map<string, Set<number>>();
  for (const [n, { items }] of watches.entries())
    for (const { event: got } of items) owners.set(got.stream, (owners.get(got.stream) ?? new Set()).add(n));
  expect([...owners.values()].every((of) => of.size === 1)).toBe(true);
  expect(watches.every(({ items }) => items.length > 0)).toBe(true);
});

it("P6 what waits in one process when connections break is not handed out there as well as in another", async () => {
  const node = await scene.node();
  const [one, two] = [await scene.open(node.connectionString), await scene.open(node.connectionString)];
  const streams = Array.from({ length: 40 }, (_, n) => `a${n}`);
  for (const stream of streams) await put(one, stream, "none", event());
  const holding = scene.consume(one, "g", { filter, maxInFlight: 1 });
  await until("the first event", () => holding.items.length === 1);
  const other = scene.consume(two, "g", { filter }, ackAtOnce);
  const raw = scene.raw(node.connectionString);
  const given = async () => {
    const info = await raw
      .getPersistentSubscriptionToAllInfo(serverGroup("g", filter))
      .catch(() => undefined);
    return info?.connections.map(({ inFlightMessages }) => Number(inFlightMessages)) ?? [];
  };
  while ((await given()).toSorted().join() !== "0,40")
    await new Promise((resolve) => setTimeout(resolve, 10));
  await node.restart();
  // Who is back first gets more, perhaps all.
  while ((await given()).length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  const all = () => [...holding.items, ...other.items].map((item) => item.event.stream);
  for (let n = 0; new Set(all()).size < streams.length || n < holding.items.length; ) {
    await until("an event", () => n < holding.items.length || new Set(all()).size === streams.length);
    if (n < holding.items.length) holding.items[n++]?.ack();
  }
  const [first] = holding.items;
  const twice = all().filter((stream, n, every) => every.indexOf(stream) !== n);
  expect(twice.filter((stream) => stream !== first?.event.stream)).toEqual([]);
  expect([...all()].length - twice.length).toBe(streams.length);
});

it("L3 a consumer that the server has forgotten is noticed, and goes on", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { heartbeatMs: 60 });
  node.faults.add({ on: "consume", kind: "drop" });
  const events = numbered(3);
  await put(log, "a", "none", ...events);
  const watch = scene.consume(log, "g", { filter }, ackAtOnce);
  await until("the events", () => watch.items.length >= 3);
  expect(ids(eventsOf(watch.items))).toEqual(ids(events));
});

it("L3 a consumer that the server has forgotten is noticed, though another process has the same connection name", async () => {
  const node = await scene.node();
  const server = `${node.connectionString}&connectionName=workers`;
  const [one, two] = [await scene.open(server, { heartbeatMs: 60 }), await scene.open(server)];
  const other = scene.consume(two, "g", { filter, maxInFlight: 1 });
  const first = event();
  await put(one, "a", "none", first);
  await until("the other", () => other.items.length === 1);
  node.faults.add({ on: "consume", kind: "drop" });
  const watch = scene.consume(one, "g", { filter }, ackAtOnce);
  await until("the connection that is forgotten", () => (node.counts.calls.consume ?? 0) >= 2);
  await until("another one", () => (node.counts.calls.consume ?? 0) >= 3);
  other.stop();
  await until("the event", () => watch.items.length >= 1);
  expect(ids(eventsOf(watch.items))).toEqual([first.id]);
});

it("G4 what an operator has the server replay from what was parked comes again", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const one = event();
  await put(log, "a", "none", one);
  const watch = scene.consume(log, "g", {}, (item) => {
    if (item.redeliveries === 0 && watch.items.length === 1) item.nack("park", "cannot be read");
    else item.ack();
  });
  await until("the event", () => watch.items.length === 1);
  const raw = scene.raw(node.connectionString);
  const parked = async () => (await raw.getPersistentSubscriptionToAllInfo("g")).stats.parkedMessageCount;
  while ((await parked()) < 1n) await new Promise((resolve) => setTimeout(resolve, 10));
  await raw.replayParkedMessagesToAll("g");
  await until("the event again", () => watch.items.length === 2);
  expect(ids(eventsOf(watch.items))).toEqual([one.id, one.id]);
});

it("a group that is deleted is made anew, and begins at the beginning, but for what was acked here", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  await put(log, "a", "none", ...numbered(2));
  const watch = scene.consume(log, "g", {}, ackAtOnce);
  await until("the events", () => watch.items.length === 2);
  await scene.raw(node.connectionString).deletePersistentSubscriptionToAll("g");
  const fresh = event();
  await put(log, "a", 1, fresh);
  await until("what is new", () => watch.items.length >= 3);
  expect(watch.items.slice(2).map((item) => item.event.id)).toEqual([fresh.id]);
});

it("a server that stays away ends a consumer in an error that names it, when it was waited for long enough", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString, { reconnectForMs: 200 });
  await put(log, "a", "none", event());
  const watch = scene.consume(log, "g", { filter });
  await until("the event", () => watch.items.length === 1);
  await node.kill();
  await until("the error", () => watch.error !== undefined);
  expect(StoreError.is(watch.error)).toBe(true);
  expect(String(watch.error)).toContain(`esdb://127.0.0.1:${node.port}`);
});
