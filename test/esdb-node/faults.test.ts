/** What a test may have go wrong, as the official client sees it. */
import { persistentSubscriptionToStreamSettingsFromDefaults } from "@eventstore/db-client";
import { describe, expect, test } from "vitest";
import { type Fault, Faults } from "./faults.ts";
import { pause } from "./faulty-call.ts";
import {
  contents,
  event,
  events,
  failureOf,
  Heard,
  later,
  listen,
  open,
  PLAIN,
  reachable,
  soon,
  WAYS,
} from "./kit.ts";

const STALL_MS = 100;

const pointOf = (way: object) => (way === PLAIN ? "append" : "batchAppend");

describe.each(WAYS)("an append, %s", (_, way) => {
  const on = pointOf(way);
  const timeout = way === PLAIN ? "timeout" : "deadline-exceeded";

  test("that times out before it is written is not there", async () => {
    const { client, node } = await open();
    node.faults.add({ on, kind: "timeoutBefore" });
    expect(await failureOf(client.appendToStream("s", event(), way))).toMatchObject({ type: timeout });
    expect(node.counts.appends).toBe(0);
    expect(await client.appendToStream("s", event(), way)).toMatchObject({ nextExpectedRevision: 0n });
  });

  test("that times out after it is written is there, and a repetition finds it", async () => {
    const { client, node } = await open();
    node.faults.add({ on, kind: "timeoutAfter" });
    const one = event();
    const options = { expectedRevision: "no_stream", ...way } as const;
    expect(await failureOf(client.appendToStream("s", one, options))).toMatchObject({ type: timeout });
    expect(await client.appendToStream("s", one, options)).toMatchObject({ nextExpectedRevision: 0n });
    expect(node.counts.appends).toBe(1);
  });

  test("whose answer comes late has been written at once", async () => {
    const { client, node } = await open();
    node.faults.add({ on, kind: "delay", delayMs: 300 });
    const slow = client.appendToStream("s", event(1), way);
    await soon(() => expect(node.counts.appends === 1).toBe(true));
    expect(await contents(client, "s")).toEqual(["0:1"]);
    expect(await slow).toMatchObject({ nextExpectedRevision: 0n });
  });

  test("that is stalled is not there while it is", async () => {
    const { client, node } = await open();
    node.faults.add({ on, kind: "stall", delayMs: 300 });
    const slow = client.appendToStream("s", event(), way);
    expect(await failureOf(contents(client, "s"))).toMatchObject({ type: "stream-not-found" });
    expect(await slow).toMatchObject({ nextExpectedRevision: 0n });
  });

  test("to a busy node is refused and not there", async () => {
    const { client, node } = await open();
    node.faults.add({ on, kind: "busy" });
    const failure = await failureOf(client.appendToStream("s", event(), way));
    if (way === PLAIN) expect(failure).toMatchObject({ type: "unavailable", code: 14 });
    else expect(failure).toMatchObject({ type: "unknown", message: "Could not recognize Server Is Busy" });
    expect(node.counts.appends).toBe(0);
  });

  test("to a node that is not the leader names the leader", async () => {
    const { client, node } = await open();
    node.faults.add({ on, kind: "notLeader", leader: { host: "127.0.0.1", port: node.port } });
    expect(await failureOf(client.appendToStream("s", event(), way))).toMatchObject({
      type: "not-leader",
      leader: { address: "127.0.0.1", port: node.port },
    });
    expect(await client.appendToStream("s", event(), way)).toMatchObject({ nextExpectedRevision: 0n });
  });

  test.each([
    ["cancelled", "cancelled", 0],
    ["unavailable", "unavailable", 0],
    ["cancelledAfter", "cancelled", 1],
    ["unavailableAfter", "unavailable", 1],
  ] as const)("whose call breaks: %s", async (kind, type, appends) => {
    const { client, node } = await open();
    node.faults.add({ on, kind });
    expect(await failureOf(client.appendToStream("s", event(), way))).toMatchObject({ type });
    expect(node.counts.appends).toBe(appends);
    expect(await client.appendToStream("s", event(), way)).toMatchObject({ success: true });
  });
});

test("an append without an answer ends with its deadline on the plain way, and has been written", async () => {
  const { client, node } = await open();
  node.faults.add({ on: "append", kind: "drop" });
  const failure = await failureOf(client.appendToStream("s", event(1), { deadline: 200, ...PLAIN }));
  expect(failure).toMatchObject({ type: "deadline-exceeded", code: 4 });
  expect(await contents(client, "s")).toEqual(["0:1"]);
});

test("an append without an answer never ends on the batch way, and does not hold up others", async () => {
  const { client, node } = await open();
  node.faults.add({ on: "batchAppend", kind: "drop", stream: "s" });
  const outcome = new Heard<unknown>();
  client.appendToStream("s", event(1), { deadline: 50 }).then(outcome.add, outcome.add);
  expect(await client.appendToStream("t", event())).toMatchObject({ nextExpectedRevision: 0n });
  expect(await contents(client, "s")).toEqual(["0:1"]);
  await client.appendToStream("t", event());
  expect(outcome.all).toEqual([]);
});

test("faults strike the calls they are about, as often as they say, after letting some by", () => {
  const faults = new Faults();
  const fault: Fault = { on: "append", kind: "busy", times: 2, skip: 1, stream: "run-" };
  faults.add(fault);
  const taken = ["run-1", "other", "run-1", "run-2", "run-3"].map((stream) => faults.take("append", stream));
  expect(taken).toEqual([undefined, undefined, fault, fault, undefined]);
  faults.add(fault);
  faults.switches.poisonCheckpoint = true;
  faults.clear();
  expect(faults.take("append", "run-1")).toBeUndefined();
  expect(faults.switches.poisonCheckpoint).toBe(false);
  expect(faults.calls).toMatchObject({ append: 6, read: 0 });
});

test.each(["cancelled", "unavailable"] as const)("a read that breaks: %s", async (kind) => {
  const { client, node } = await open();
  await client.appendToStream("s", event());
  node.faults.add({ on: "read", kind });
  expect(await failureOf(contents(client, "s"))).toMatchObject({ type: kind });
  expect(await contents(client, "s")).toEqual(["0:0"]);
});

test.each(["cancelledAfter", "unavailableAfter"] as const)(
  "a subscription that breaks once it has caught up: %s",
  async (kind) => {
    const { client, node } = await open();
    await client.appendToStream("s", event());
    node.faults.add({ on: "subscribe", kind });
    const heard = listen(client.subscribeToStream("s"));
    expect(await heard.count(4)).toEqual([
      "confirmation",
      "s/0",
      "caughtUp",
      `error ${kind.slice(0, -"After".length)}`,
    ]);
  },
);

test("a silent subscription is neither confirmed nor ended", async () => {
  const { client, node } = await open();
  await client.appendToStream("s", event());
  node.faults.add({ on: "subscribe", kind: "drop" });
  const silent = listen(client.subscribeToStream("s"));
  const other = listen(client.subscribeToStream("s"));
  await other.count(3);
  expect(silent.all).toEqual([]);
});

test("a doubled subscription is sent every event twice", async () => {
  const { client, node } = await open();
  await client.appendToStream("s", event());
  node.faults.add({ on: "subscribe", kind: "duplicate" });
  const heard = listen(client.subscribeToStream("s"));
  await heard.count(4);
  await client.appendToStream("s", event());
  expect(await heard.count(6)).toEqual(["confirmation", "s/0", "s/0", "caughtUp", "s/1", "s/1"]);
});

test("a doubled member of a group is sent every message twice", async () => {
  const { client, node } = await open();
  await client.createPersistentSubscriptionToStream(
    "s",
    "g",
    persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: "start" }),
  );
  await client.appendToStream("s", events(2));
  node.faults.add({ on: "consume", kind: "duplicate" });
  const heard = new Heard<string>();
  const member = client.subscribeToPersistentSubscriptionToStream("s", "g");
  member.on("error", (error) => heard.add(error.message));
  member.on("data", (handed) => {
    member.ack(handed);
    heard.add(`${handed.event!.revision}`);
  });
  later(() => member.unsubscribe());
  expect(await heard.count(4)).toEqual(["0", "0", "1", "1"]);
});

describe("a node that is killed", () => {
  test("ends subscriptions with an error, and is there again with all that was acknowledged", async () => {
    const { client, node } = await open();
    await client.appendToStream("s", events(2));
    const { port } = node;
    const heard = listen(client.subscribeToStream("s"));
    await heard.count(4);
    await node.kill();
    const [last] = (await heard.count(5)).slice(-1);
    expect(last).toMatch(/^error (cancelled|unavailable)$/);
    expect((await failureOf(client.appendToStream("s", event(), PLAIN))).code).toBe(14);
    await node.restart();
    expect(node.port).toBe(port);
    await reachable(client);
    expect(await contents(client, "s")).toEqual(["0:0", "1:1"]);
    expect(await client.appendToStream("s", event(2), { expectedRevision: 1n })).toMatchObject({
      nextExpectedRevision: 2n,
    });
  });

  test("rejects every pending batch append", async () => {
    const { client, node } = await open();
    await client.appendToStream("s", event());
    node.faults.add({ on: "batchAppend", kind: "drop", times: 2 });
    const pending = [client.appendToStream("a", event()), client.appendToStream("b", event())].map(failureOf);
    await soon(() => expect(node.counts.appends === 3).toBe(true));
    await node.kill();
    for (const failure of await Promise.all(pending))
      expect(failure.type).toMatch(/^(cancelled|unavailable)$/);
  });
});

test.each(WAYS)(
  "what was under way when the node was killed writes nothing afterwards, %s",
  async (_, way) => {
    const { client, node } = await open();
    await client.appendToStream("s", event(0), way);
    node.faults.add({ on: pointOf(way), kind: "stall", delayMs: STALL_MS });
    const stalled = failureOf(client.appendToStream("s", event(1), way));
    await soon(() => expect(node.counts.calls[pointOf(way)] === 2).toBe(true));
    await node.restart();
    await stalled;
    await reachable(client);
    // A timer as long as the stall, begun after it, ends after it.
    await pause(STALL_MS);
    expect(await client.appendToStream("s", event(2), { expectedRevision: 0n, ...way })).toMatchObject({
      nextExpectedRevision: 1n,
    });
    await node.restart();
    await reachable(client);
    expect(await contents(client, "s")).toEqual(["0:0", "1:2"]);
  },
);

describe("a follower", () => {
  test("refuses what insists on a leader and all about groups, names the leader, and takes plain writes", async () => {
    const { client, node } = await open();
    const leader = { host: "127.0.0.1", port: node.port };
    node.faults.switches.leader = leader;
    const named = { type: "not-leader", leader: { address: leader.host, port: leader.port } };
    expect(await client.appendToStream("s", event(), PLAIN)).toMatchObject({ nextExpectedRevision: 0n });
    expect(await contents(client, "s")).toEqual(["0:0"]);
    expect(await failureOf(contents(client, "s", { requiresLeader: true }))).toMatchObject(named);
    expect(
      await failureOf(client.appendToStream("s", event(), { requiresLeader: true, ...PLAIN })),
    ).toMatchObject(named);
    expect(await failureOf(client.deletePersistentSubscriptionToStream("s", "g"))).toMatchObject(named);
  });
});
