/** Making, changing, describing and losing persistent subscriptions, and what is left of them when the node starts again. */
import {
  type EventStoreDBClient,
  persistentSubscriptionToAllSettingsFromDefaults,
  persistentSubscriptionToStreamSettingsFromDefaults,
} from "@eventstore/db-client";
import { describe, expect, test } from "vitest";
import { event, events, failureOf, gather, open, reachable, soon } from "../kit.ts";
import { groupOfRuns, groupOfStream, join } from "./kit.ts";

const settings = persistentSubscriptionToStreamSettingsFromDefaults;

describe("a group", () => {
  test("can be made once", async () => {
    const { client } = await open();
    await groupOfStream(client);
    expect(await failureOf(groupOfStream(client))).toMatchObject({
      type: "persistent-subscription-exists",
      streamName: "s",
      groupName: "g",
      code: 6,
    });
    await groupOfRuns(client);
    expect(await failureOf(groupOfRuns(client))).toMatchObject({
      type: "persistent-subscription-exists",
      streamName: "$all",
    });
  });

  test.each([
    [
      "update",
      (client: EventStoreDBClient) => client.updatePersistentSubscriptionToStream("s", "g", settings()),
    ],
    ["delete", (client: EventStoreDBClient) => client.deletePersistentSubscriptionToStream("s", "g")],
    ["info", (client: EventStoreDBClient) => client.getPersistentSubscriptionToStreamInfo("s", "g")],
    ["replay", (client: EventStoreDBClient) => client.replayParkedMessagesToStream("s", "g")],
  ] as const)("that is not there: %s", async (_, ask) => {
    const { client } = await open();
    expect(await failureOf(ask(client))).toMatchObject({
      type: "persistent-subscription-does-not-exist",
      streamName: "s",
      groupName: "g",
      code: 5,
    });
  });

  test("that is not there cannot be joined", async () => {
    const { client } = await open();
    expect(await join(client, "stream").errors.count(1)).toEqual(["persistent-subscription-does-not-exist"]);
  });

  test("needs a history buffer larger than its batches", async () => {
    const { client } = await open();
    const failure = await failureOf(groupOfStream(client, { readBatchSize: 20, historyBufferSize: 20 }));
    expect(failure).toMatchObject({ type: "persistent-subscription-failed", code: 13 });
    expect(failure.reason).not.toBe("");
  });

  test("takes no more members than it may", async () => {
    const { client } = await open();
    await groupOfStream(client, { maxSubscriberCount: 1 });
    await client.appendToStream("s", event());
    await join(client, "stream").heard.count(1);
    expect(await join(client, "stream").errors.count(1)).toEqual(["maximum-subscribers-reached"]);
  });

  test("says what it is and how it is", async () => {
    const { client } = await open();
    await groupOfStream(client, { consumerStrategyName: "Pinned", messageTimeout: 1_234, maxRetryCount: 3 });
    await client.appendToStream("s", events(4));
    const member = join(client, "stream", { bufferSize: 3, answer: () => "keep" });
    await member.heard.count(3);
    const info = await client.getPersistentSubscriptionToStreamInfo("s", "g");
    expect(info).toMatchObject({ eventSource: "s", groupName: "g", status: "Live" });
    expect(info.settings).toEqual(
      settings({
        startFrom: "start",
        consumerStrategyName: "Pinned",
        messageTimeout: 1_234,
        maxRetryCount: 3,
      }),
    );
    expect(info.connections).toMatchObject([{ inFlightMessages: 3, availableSlots: 0, totalItems: 3n }]);
    expect(info.stats).toMatchObject({
      totalItems: 3n,
      totalInFlightMessages: 3,
      outstandingMessagesCount: 3,
      readBufferCount: 1,
      lastKnownEventRevision: 3n,
    });
  });

  test("is listed by its stream and among all; an empty list is an error", async () => {
    const { client } = await open();
    expect(await failureOf(client.listAllPersistentSubscriptions())).toMatchObject({
      type: "persistent-subscription-does-not-exist",
    });
    await groupOfStream(client);
    await groupOfRuns(client);
    const sources = (list: readonly { eventSource: string }[]) => list.map(({ eventSource }) => eventSource);
    expect(sources(await client.listAllPersistentSubscriptions())).toEqual(["s", "$all"]);
    expect(sources(await client.listPersistentSubscriptionsToStream("s"))).toEqual(["s"]);
    expect(sources(await client.listPersistentSubscriptionsToAll())).toEqual(["$all"]);
    expect(await failureOf(client.listPersistentSubscriptionsToStream("t"))).toMatchObject({
      type: "persistent-subscription-does-not-exist",
      streamName: "t",
      groupName: "",
    });
  });

  test("drops its members when it is updated, and ends them when it is deleted", async () => {
    const { client } = await open();
    await groupOfStream(client);
    await client.appendToStream("s", event());
    const first = join(client, "stream");
    await first.heard.count(1);
    await client.updatePersistentSubscriptionToStream("s", "g", settings({ maxRetryCount: 1 }));
    expect(await first.errors.count(1)).toEqual(["persistent-subscription-dropped"]);
    const info = await client.getPersistentSubscriptionToStreamInfo("s", "g");
    expect(info.settings.maxRetryCount).toBe(1);
    const second = join(client, "stream");
    await soon(async () => {
      const { connections } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(connections).toHaveLength(1);
    });
    await client.deletePersistentSubscriptionToStream("s", "g");
    expect(await second.errors.count(1)).toEqual(["persistent-subscription-does-not-exist"]);
  });
});

describe("where a group starts", () => {
  const from = async (startFrom: "start" | "end" | bigint) => {
    const { client } = await open();
    await client.appendToStream("s", events(3));
    await client.createPersistentSubscriptionToStream("s", "g", settings({ startFrom }));
    const member = join(client, "stream");
    await soon(async () => {
      const { connections } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(connections).toHaveLength(1);
    });
    await client.appendToStream("s", event());
    await member.heard.until((all) => all.some(({ event: at }) => at!.revision === 3n));
    return member.said();
  };

  test("at the start", async () => expect(await from("start")).toEqual(["s/0", "s/1", "s/2", "s/3"]));
  test("at a revision, inclusive", async () => expect(await from(1n)).toEqual(["s/1", "s/2", "s/3"]));
  test("at the end", async () => expect(await from("end")).toEqual(["s/3"]));

  test("at a position of $all, inclusive", async () => {
    const { client } = await open();
    await client.appendToStream("run-1", events(3));
    const all = await gather(client.readAll());
    const startFrom = all.at(-2)!.event!.position!;
    await client.createPersistentSubscriptionToAll(
      "g",
      persistentSubscriptionToAllSettingsFromDefaults({ startFrom }),
    );
    const member = join(client, "runs");
    await member.heard.until((heard) => heard.some(({ event: at }) => at!.revision === 2n));
    expect(member.said().slice(0, 2)).toEqual(["run-1/1", "run-1/2"]);
  });
});

describe("checkpoints", () => {
  const checkpoints = async (client: EventStoreDBClient) =>
    (await gather(client.readStream("$persistentsubscription-s::g-checkpoint"))).map(
      ({ event: at }) => at!.data as unknown as string,
    );

  test("are written after so many, and never pass what is not done", async () => {
    const { client } = await open();
    await groupOfStream(client, { checkPointUpperBound: 10, checkPointLowerBound: 5 });
    await client.appendToStream("s", events(40));
    const member = join(client, "stream", {
      bufferSize: 40,
      answer: ({ event: at }) => (at!.revision === 25n ? "keep" : "ack"),
    });
    await member.heard.count(40);
    await soon(async () => {
      const { stats } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(stats.totalInFlightMessages).toBe(1);
    });
    const written = (await checkpoints(client)).map(Number);
    expect(written.length).toBeGreaterThan(0);
    for (const place of written) expect(place).toBeLessThan(25);
  });

  test("are written when the time has come, if enough is done", async () => {
    let now = 1_000_000;
    const { client } = await open({ clock: () => now, tickMs: 10 });
    const plain = { credentials: { username: "any", password: "any" } };
    await groupOfStream(client, { checkPointLowerBound: 3, checkPointAfter: 2_000 });
    await client.appendToStream("s", events(5), plain);
    const member = join(client, "stream");
    await member.heard.count(5);
    await soon(async () => {
      const { stats } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(stats.totalInFlightMessages).toBe(0);
    });
    now += 2_000;
    await soon(async () => expect(await checkpoints(client)).toEqual(["4"]));
  });

  test("after a restart the group goes on from its checkpoint, and hands out again what is behind it", async () => {
    const { client, node } = await open();
    await groupOfStream(client, { checkPointUpperBound: 10 });
    await client.appendToStream("s", events(15));
    const before = join(client, "stream", { bufferSize: 1 });
    await before.heard.count(15);
    await soon(async () => expect(await checkpoints(client)).toEqual(["9"]));
    await node.restart();
    await reachable(client);
    const after = join(client, "stream");
    await after.heard.count(5);
    expect(after.said()).toEqual(["s/10", "s/11", "s/12", "s/13", "s/14"]);
  });

  test("a group from the end without a checkpoint starts at the end again", async () => {
    const { client, node } = await open();
    await client.createPersistentSubscriptionToStream("s", "g", settings({ startFrom: "end" }));
    await client.appendToStream("s", events(3));
    await node.restart();
    await reachable(client);
    const member = join(client, "stream");
    await soon(async () => {
      const { connections } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(connections).toHaveLength(1);
    });
    await client.appendToStream("s", event());
    await member.heard.count(1);
    expect(member.said()).toEqual(["s/3"]);
  });

  test("the subsystem's restart drops members and goes on from checkpoints", async () => {
    const { client } = await open();
    await groupOfStream(client);
    await client.appendToStream("s", events(2));
    const member = join(client, "stream");
    await member.heard.count(2);
    await client.restartPersistentSubscriptionSubsystem();
    expect(await member.errors.count(1)).toEqual(["persistent-subscription-dropped"]);
    const again = join(client, "stream");
    await again.heard.count(2);
    expect(again.said()).toEqual(["s/0", "s/1"]);
  });

  test("a deleted group leaves no checkpoint behind for the next of its name", async () => {
    const { client } = await open();
    await groupOfStream(client, { checkPointUpperBound: 10 });
    await client.appendToStream("s", events(12));
    const before = join(client, "stream");
    await before.heard.count(12);
    await soon(async () => expect(await checkpoints(client)).toHaveLength(1));
    await client.deletePersistentSubscriptionToStream("s", "g");
    await groupOfStream(client);
    const after = join(client, "stream", { bufferSize: 20 });
    await after.heard.count(12);
    expect(after.said()[0]).toBe("s/0");
  });
});
