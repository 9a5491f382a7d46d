/** Deleting, for now and for good, and what metadata hides. Nothing is ever hidden from `$all`: there is no scavenging. */
import { describe, expect, test } from "vitest";
import { contents, event, events, failureOf, gather, open, PLAIN } from "./kit.ts";

const LATEST = 2n ** 63n - 1n;

describe("a soft delete", () => {
  test("hides the stream; the next append revives it and numbers on", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(3));
    const { position } = await client.deleteStream("s", { expectedRevision: 2n });
    expect(position!.commit).toBeGreaterThan(0n);
    expect(await failureOf(contents(client, "s"))).toMatchObject({ type: "stream-not-found" });
    const revived = await client.appendToStream("s", event(3), { expectedRevision: "no_stream" });
    expect(revived.nextExpectedRevision).toBe(3n);
    expect(await contents(client, "s")).toEqual(["3:3"]);
    expect((await client.getStreamMetadata("s")).metadata).toMatchObject({ truncateBefore: 3 });
  });

  test("takes any expected revision to revive it: any, none, the last one", async () => {
    const { client } = await open();
    for (const expectedRevision of ["any", "no_stream", 0n] as const) {
      const stream = `s-${expectedRevision}`;
      await client.appendToStream(stream, event(0));
      await client.deleteStream(stream);
      const { nextExpectedRevision } = await client.appendToStream(stream, event(1), { expectedRevision });
      expect(nextExpectedRevision).toBe(1n);
      expect(await contents(client, stream)).toEqual(["1:1"]);
    }
  });

  test("writes the largest number as the truncation, exactly, in place of all other metadata", async () => {
    const { client } = await open();
    await client.appendToStream("s", event());
    await client.setStreamMetadata("s", { maxCount: 7, colour: "red" });
    await client.deleteStream("s");
    const [last] = await gather(client.readStream("$$s", { direction: "backwards", fromRevision: "end" }));
    expect(last!.event).toMatchObject({ type: "$metadata", revision: 1n });
    expect(JSON.stringify(last!.event!.data)).not.toContain("maxCount");
    expect((last!.event!.data as { $tb: number }).$tb).toBe(Number(LATEST));
  });

  test("of a stream that never was, or at another revision, is a wrong version", async () => {
    const { client } = await open();
    expect(await failureOf(client.deleteStream("s"))).toMatchObject({
      type: "wrong-expected-version",
      streamName: "s",
      expectedVersion: -2n,
      actualVersion: "no_stream",
      code: 9,
    });
    await client.appendToStream("s", events(2));
    expect(await failureOf(client.deleteStream("s", { expectedRevision: 0n }))).toMatchObject({
      type: "wrong-expected-version",
      expectedVersion: 0n,
      actualVersion: 1n,
    });
  });

  test("does not touch $all", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(2));
    await client.deleteStream("s");
    const streams = (await gather(client.readAll())).map(({ event: recorded }) => recorded!.streamId);
    expect(streams.slice(-3)).toEqual(["s", "s", "$$s"]);
  });
});

describe("a tombstone", () => {
  test("ends the stream for ever, for reading and writing alike", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(2));
    const { position } = await client.tombstoneStream("s", { expectedRevision: 1n });
    expect(position!.commit).toBeGreaterThan(0n);
    expect(await failureOf(contents(client, "s"))).toMatchObject({ type: "stream-deleted", streamName: "s" });
    expect(await failureOf(client.deleteStream("s"))).toMatchObject({ type: "stream-deleted", code: 9 });
    expect(await failureOf(client.tombstoneStream("s"))).toMatchObject({ type: "stream-deleted" });
    expect(await failureOf(client.setStreamMetadata("s", { maxCount: 1 }))).toMatchObject({
      type: "stream-deleted",
    });
    const last = (await gather(client.readAll())).at(-1)!.event!;
    expect(last).toMatchObject({ streamId: "s", type: "$streamDeleted", revision: LATEST });
  });

  test("may be put on a stream that never was, and on a soft-deleted one", async () => {
    const { client } = await open();
    await client.tombstoneStream("never", { expectedRevision: "no_stream" });
    expect(await failureOf(client.appendToStream("never", event()))).toMatchObject({
      type: "stream-deleted",
    });
    await client.appendToStream("soft", event());
    await client.deleteStream("soft");
    await client.tombstoneStream("soft");
    expect(await failureOf(contents(client, "soft"))).toMatchObject({ type: "stream-deleted" });
  });

  test("at another revision is a wrong version", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(2));
    expect(await failureOf(client.tombstoneStream("s", { expectedRevision: 5n }))).toMatchObject({
      type: "wrong-expected-version",
      expectedVersion: 5n,
      actualVersion: 1n,
    });
  });
});

describe("metadata", () => {
  test("is read as it was set, and its stream shows the latest only", async () => {
    const { client } = await open();
    expect((await client.getStreamMetadata("s")).metadata).toBeUndefined();
    await client.setStreamMetadata("s", { maxAge: 60, colour: "red" });
    await client.setStreamMetadata("s", { maxCount: 2, cacheControl: 5, truncateBefore: 1 });
    expect((await client.getStreamMetadata("s")).metadata).toEqual({
      maxCount: 2,
      cacheControl: 5,
      truncateBefore: 1,
    });
    const shown = await gather(client.readStream("$$s"));
    expect(shown.map(({ event: recorded }) => recorded!.revision)).toEqual([1n]);
  });

  test("maxCount shows the last so many, in reads of either direction and in subscriptions' links", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(5));
    await client.setStreamMetadata("s", { maxCount: 2 });
    expect(await contents(client, "s")).toEqual(["3:3", "4:4"]);
    expect(await contents(client, "s", { direction: "backwards", fromRevision: "end" })).toEqual([
      "4:4",
      "3:3",
    ]);
    await client.appendToStream("s", event(5), { expectedRevision: 4n });
    expect(await contents(client, "s")).toEqual(["4:4", "5:5"]);
    const all = await gather(client.readAll());
    expect(all.filter(({ event: recorded }) => recorded!.streamId === "s")).toHaveLength(6);
  });

  test("truncateBefore shows what is from there on, and nothing where it is behind the end", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(3), PLAIN);
    await client.setStreamMetadata("s", { truncateBefore: 2 });
    expect(await contents(client, "s")).toEqual(["2:2"]);
    await client.setStreamMetadata("s", { truncateBefore: 10 });
    expect(await contents(client, "s")).toEqual([]);
    expect(await client.appendToStream("s", event(3))).toMatchObject({ nextExpectedRevision: 3n });
  });

  test("maxAge hides what is older", async () => {
    let now = 1_000_000;
    const { client } = await open({ clock: () => now });
    await client.setStreamMetadata("s", { maxAge: 60 }, PLAIN);
    await client.appendToStream("s", event(0), PLAIN);
    now += 40_000;
    await client.appendToStream("s", event(1), PLAIN);
    expect(await contents(client, "s")).toEqual(["0:0", "1:1"]);
    now += 30_000;
    expect(await contents(client, "s")).toEqual(["1:1"]);
    now += 60_000;
    expect(await contents(client, "s")).toEqual([]);
  });
});
