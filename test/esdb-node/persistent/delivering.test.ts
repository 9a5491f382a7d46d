/** How a persistent subscription hands out messages: to whom, how many, how often, and in which order. */
import { describe, expect, test } from "vitest";
import { event, events, gather, open, soon } from "../kit.ts";
import { groupOfRuns, groupOfStream, join, spoken } from "./kit.ts";

const inFlight = async (scene: Awaited<ReturnType<typeof open>>) => {
  const { connections } = await scene.client.getPersistentSubscriptionToStreamInfo("s", "g");
  return connections.map((one) => one.inFlightMessages);
};

describe("in flight", () => {
  test("a member has no more than its buffer, and gets as many more as it acks", async () => {
    const scene = await open();
    await groupOfStream(scene.client);
    await scene.client.appendToStream("s", events(10));
    const member = join(scene.client, "stream", { bufferSize: 3, answer: () => "keep" });
    await member.heard.count(3);
    expect(await inFlight(scene)).toEqual([3]);
    await member.subscription.ack(...member.heard.all.slice(0, 2));
    await member.heard.count(5);
    expect(member.said()).toEqual(["s/0", "s/1", "s/2", "s/3", "s/4"]);
    expect(await inFlight(scene)).toEqual([3]);
  });

  test("an ack of something not in flight, or a second one, frees nothing", async () => {
    const scene = await open();
    await groupOfStream(scene.client);
    await scene.client.appendToStream("s", events(5));
    const member = join(scene.client, "stream", { bufferSize: 2, answer: () => "keep" });
    const [first] = await member.heard.count(2);
    await member.subscription.ack(first!);
    await member.heard.count(3);
    await member.subscription.ack(first!);
    await member.subscription.ack(first!);
    await member.subscription.ack(member.heard.all[1]!);
    await member.heard.count(4);
    expect(await inFlight(scene)).toEqual([2]);
    expect(member.said()).toEqual(["s/0", "s/1", "s/2", "s/3"]);
  });

  test("an ack counts from another member too", async () => {
    const scene = await open();
    await groupOfStream(scene.client, { consumerStrategyName: "DispatchToSingle" });
    await scene.client.appendToStream("s", events(3));
    const holder = join(scene.client, "stream", { bufferSize: 1, answer: () => "keep" });
    const [held] = await holder.heard.count(1);
    const other = join(scene.client, "stream", { bufferSize: 1, answer: () => "keep" });
    await other.heard.count(1);
    await other.subscription.ack(held!);
    await holder.heard.count(2);
    expect([holder.said(), other.said()]).toEqual([["s/0", "s/2"], ["s/1"]]);
  });

  test("a message whose id is in flight already is passed over", async () => {
    const scene = await open();
    await groupOfStream(scene.client);
    const one = event(1);
    await scene.client.appendToStream("s", one);
    await scene.client.appendToStream("s", one, { expectedRevision: 0n });
    await scene.client.appendToStream("s", event(2));
    const member = join(scene.client, "stream", { answer: () => "keep" });
    await member.heard.count(2);
    expect(member.said()).toEqual(["s/0", "s/2"]);
  });
});

describe("again", () => {
  test("a nack to retry hands it out again, with the count, before what is new", async () => {
    const { client } = await open();
    await groupOfStream(client);
    await client.appendToStream("s", events(4));
    const member = join(client, "stream", {
      bufferSize: 1,
      answer: ({ event: at, retryCount }) => (at!.revision === 1n && retryCount < 2 ? "retry" : "ack"),
    });
    await member.heard.count(6);
    expect(member.said()).toEqual(["s/0", "s/1", "s/1#1", "s/1#2", "s/2", "s/3"]);
  });

  test("a message that is not answered in time is handed out again", async () => {
    const { client } = await open({ tickMs: 20 });
    await groupOfStream(client, { messageTimeout: 50 });
    await client.appendToStream("s", events(2));
    const member = join(client, "stream", {
      answer: ({ event: at, retryCount }) => (at!.revision === 0n && retryCount === 0 ? "keep" : "ack"),
    });
    await member.heard.count(3);
    expect(member.said()).toEqual(["s/0", "s/1", "s/0#1"]);
  });

  test("after its retries a message is parked, with the reason", async () => {
    const { client } = await open();
    await groupOfStream(client, { maxRetryCount: 2 });
    await client.appendToStream("s", events(2));
    const member = join(client, "stream", {
      answer: ({ event: at }) => (at!.revision === 0n ? "retry" : "ack"),
    });
    await member.heard.until((all) => all.length === 4);
    await soon(async () => {
      const { stats } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(stats.parkedMessageCount).toBe(1n);
    });
    expect(member.said().filter((one) => one.startsWith("s/0"))).toEqual(["s/0", "s/0#1", "s/0#2"]);
    const parked = await gather(
      client.readStream("$persistentsubscription-s::g-parked", { resolveLinkTos: true }),
    );
    expect(parked[0]!.event).toMatchObject({ streamId: "s", revision: 0n });
    expect(Buffer.from(parked[0]!.link!.data as Uint8Array).toString()).toBe("0@s");
    expect(parked[0]!.link!.metadata).toMatchObject({ reason: "Reached retry count of 2" });
  });

  test("a message that its member left behind goes to another", async () => {
    const { client } = await open();
    await groupOfStream(client, { consumerStrategyName: "DispatchToSingle" });
    await client.appendToStream("s", events(3));
    const first = join(client, "stream", { answer: () => "keep" });
    await first.heard.count(3);
    const second = join(client, "stream");
    await first.subscription.unsubscribe();
    await second.heard.count(3);
    expect(second.said()).toEqual(["s/0#1", "s/1#1", "s/2#1"]);
  });

  test("all in flight is handed out again when a test asks for it", async () => {
    const { client, node } = await open();
    await groupOfStream(client);
    await client.appendToStream("s", events(2));
    const member = join(client, "stream", {
      answer: ({ retryCount }) => (retryCount === 0 ? "keep" : "ack"),
    });
    await member.heard.count(2);
    node.redeliver();
    await member.heard.count(4);
    expect(member.said()).toEqual(["s/0", "s/1", "s/0#1", "s/1#1"]);
  });
});

describe("parking", () => {
  test("a parked message is handed out again when it is replayed, with the record that parked it as its link", async () => {
    const { client } = await open();
    await groupOfStream(client);
    await client.appendToStream("s", events(3));
    let parking = true;
    const member = join(client, "stream", {
      answer: ({ event: at }) => (parking && at!.revision !== 1n ? "park" : "ack"),
    });
    await member.heard.count(3);
    await soon(async () => {
      const { stats } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(stats.parkedMessageCount).toBe(2n);
    });
    parking = false;
    await client.replayParkedMessagesToStream("s", "g");
    const all = await member.heard.count(5);
    expect(all.slice(3).map(spoken)).toEqual(["s/0", "s/2"]);
    expect(all.slice(3).map(({ link }) => `${link!.streamId}/${link!.revision}`)).toEqual([
      "$persistentsubscription-s::g-parked/0",
      "$persistentsubscription-s::g-parked/1",
    ]);
    const { stats } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
    expect(stats.parkedMessageCount).toBe(0n);
  });

  test("stopAt replays only what is before it", async () => {
    const { client } = await open();
    await groupOfStream(client);
    await client.appendToStream("s", events(3));
    let parking = true;
    const member = join(client, "stream", { answer: () => (parking ? "park" : "ack") });
    await member.heard.count(3);
    await soon(async () => {
      const { stats } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(stats.parkedMessageCount).toBe(3n);
    });
    parking = false;
    await client.replayParkedMessagesToStream("s", "g", { stopAt: 1 });
    await member.heard.count(4);
    expect(member.said()).toEqual(["s/0", "s/1", "s/2", "s/0"]);
    const { stats } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
    expect(stats.parkedMessageCount).toBe(2n);
  });

  test.each(["skip", "stop"] as const)("a nack to %s takes the message for done", async (action) => {
    const { client } = await open();
    await groupOfStream(client);
    await client.appendToStream("s", events(3));
    const member = join(client, "stream", { bufferSize: 1, answer: () => action });
    await member.heard.count(3);
    await soon(async () => {
      const { stats } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(stats).toMatchObject({ parkedMessageCount: 0n, totalInFlightMessages: 0, retryBufferCount: 0 });
    });
    expect(member.said()).toEqual(["s/0", "s/1", "s/2"]);
  });
});

describe("strategies", () => {
  test("RoundRobin goes from member to member", async () => {
    const { client } = await open();
    await groupOfStream(client, { consumerStrategyName: "RoundRobin" });
    const [one, two] = [join(client, "stream"), join(client, "stream")];
    await soon(async () => {
      const { connections } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(connections).toHaveLength(2);
    });
    await client.appendToStream("s", events(6));
    await Promise.all([one.heard.count(3), two.heard.count(3)]);
    expect([one.said(), two.said()].sort()).toEqual([
      ["s/0", "s/2", "s/4"],
      ["s/1", "s/3", "s/5"],
    ]);
  });

  test("DispatchToSingle fills one member before the next gets any", async () => {
    const { client } = await open();
    await groupOfStream(client, { consumerStrategyName: "DispatchToSingle" });
    const one = join(client, "stream", { bufferSize: 4, answer: () => "keep" });
    await soon(async () => {
      const { connections } = await client.getPersistentSubscriptionToStreamInfo("s", "g");
      expect(connections).toHaveLength(1);
    });
    const two = join(client, "stream", { bufferSize: 4, answer: () => "keep" });
    await client.appendToStream("s", events(6));
    await Promise.all([one.heard.count(4), two.heard.count(2)]);
    expect([one.said(), two.said()]).toEqual([
      ["s/0", "s/1", "s/2", "s/3"],
      ["s/4", "s/5"],
    ]);
  });

  test("Pinned keeps a stream with one member, and a full member does not hold up the others", async () => {
    const { client } = await open();
    await groupOfRuns(client, { consumerStrategyName: "Pinned" });
    const lazy = join(client, "runs", { bufferSize: 1, answer: () => "keep" });
    const busy = join(client, "runs");
    await soon(async () => {
      const { connections } = await client.getPersistentSubscriptionToAllInfo("g");
      expect(connections).toHaveLength(2);
    });
    for (let n = 0; n < 60; n += 1) await client.appendToStream(`run-${n % 12}`, event(n));
    await lazy.heard.count(1);
    // Half of the streams are the lazy one's and wait for it; the others come whole and in order.
    await busy.heard.until((all) => all.length >= 30);
    const streams = new Map<string, bigint[]>();
    for (const { event: at } of busy.heard.all)
      streams.set(at!.streamId, [...(streams.get(at!.streamId) ?? []), at!.revision]);
    expect(streams.size).toBe(6);
    for (const revisions of streams.values()) expect(revisions).toEqual([0n, 1n, 2n, 3n, 4n]);
    expect(streams.has(lazy.heard.all[0]!.event!.streamId)).toBe(false);
    await lazy.subscription.unsubscribe();
    await busy.heard.count(60);
    expect(new Set(busy.said()).size).toBe(60);
  });

  test("Pinned moves streams to a member that joins", async () => {
    const { client } = await open();
    await groupOfRuns(client, { consumerStrategyName: "Pinned" });
    const first = join(client, "runs");
    for (let n = 0; n < 12; n += 1) await client.appendToStream(`run-${n}`, event(n));
    await first.heard.count(12);
    const second = join(client, "runs");
    await soon(async () => {
      const { connections } = await client.getPersistentSubscriptionToAllInfo("g");
      expect(connections).toHaveLength(2);
    });
    for (let n = 0; n < 12; n += 1) await client.appendToStream(`run-${n}`, event(n));
    await Promise.all([first.heard.count(18), second.heard.count(6)]);
    expect(new Set([...first.said(), ...second.said()]).size).toBe(24);
  });
});
