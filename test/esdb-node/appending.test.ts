/** Appends but for repetition: what is answered, how much is taken, and how failures travel on both ways. */
import { randomUUID } from "node:crypto";
import { binaryEvent, jsonEvent } from "@eventstore/db-client";
import { describe, expect, test } from "vitest";
import { contents, event, events, failureOf, gather, open, PLAIN, WAYS } from "./kit.ts";

const MIB = 1024 * 1024;

describe.each(WAYS)("an append, %s", (_, way) => {
  test("is answered with the last number and the position of its last event", async () => {
    const { client } = await open();
    const answer = await client.appendToStream("s", events(3), { expectedRevision: "no_stream", ...way });
    const read = await gather(client.readStream("s"));
    expect(answer).toEqual({
      success: true,
      nextExpectedRevision: 2n,
      position: read[2]!.event!.position,
    });
    expect(answer.position!.commit).toBe(answer.position!.prepare);
  });

  test("keeps id, type, data and metadata, of JSON and of bytes", async () => {
    const { client } = await open();
    const [json, binary] = [randomUUID(), randomUUID()];
    const bytes = Uint8Array.from([0, 255, 128, 10]);
    const before = Date.now();
    await client.appendToStream(
      "söme/ştream \u{1F98A}",
      [
        jsonEvent({ id: json, type: "Ä", data: { text: "ü\u0000\u{1F98A}" }, metadata: { by: "é" } }),
        binaryEvent({ id: binary, type: "B", data: bytes, metadata: bytes }),
      ],
      way,
    );
    const [first, second] = await gather(client.readStream("söme/ştream \u{1F98A}"));
    expect(first!.event).toMatchObject({
      streamId: "söme/ştream \u{1F98A}",
      id: json,
      type: "Ä",
      isJson: true,
      data: { text: "ü\u0000\u{1F98A}" },
      metadata: { by: "é" },
    });
    expect(second!.event).toMatchObject({ id: binary, type: "B", isJson: false });
    expect(Buffer.from(second!.event!.data as Uint8Array)).toEqual(Buffer.from(bytes));
    expect(Buffer.from(second!.event!.metadata as Uint8Array)).toEqual(Buffer.from(bytes));
    expect(first!.event!.created.getTime()).toBeGreaterThanOrEqual(before);
    expect(first!.event!.created.getTime()).toBeLessThanOrEqual(Date.now());
  });

  test("a wrong version says what was expected and what is there", async () => {
    const { client } = await open();
    await client.appendToStream("s", events(3), way);
    for (const expectedRevision of ["no_stream", 1n, 9n] as const) {
      const failure = await failureOf(client.appendToStream("s", event(), { expectedRevision, ...way }));
      expect(failure.type).toBe("wrong-expected-version");
      expect(failure.actualVersion).toBe(2n);
      expect(failure.streamName).toBe("s");
    }
    expect(await contents(client, "s")).toEqual(["0:0", "1:1", "2:2"]);
  });

  test("takes 1 MiB of data and not a byte more; metadata does not count up to 24.6", async () => {
    const { client } = await open();
    const full = () => binaryEvent({ type: "B", data: new Uint8Array(MIB), metadata: new Uint8Array(MIB) });
    expect(await client.appendToStream("s", full(), way)).toMatchObject({ nextExpectedRevision: 0n });
    const more = binaryEvent({ type: "B", data: new Uint8Array(1) });
    const failure = await failureOf(client.appendToStream("t", [full(), more], way));
    expect(failure).toMatchObject({ type: "maximum-append-size-exceeded", maxAppendSize: MIB });
    expect(await failureOf(contents(client, "t"))).toMatchObject({ type: "stream-not-found" });
  });

  test("from 24.10 on metadata and the type count too", async () => {
    const { client } = await open({ version: "24.10.0", maxAppendSize: 100 });
    const sized = (data: number, metadata: number) =>
      binaryEvent({ type: "12345", data: new Uint8Array(data), metadata: new Uint8Array(metadata) });
    expect(await client.appendToStream("s", sized(50, 40), way)).toMatchObject({ nextExpectedRevision: 0n });
    expect(await failureOf(client.appendToStream("s", sized(50, 41), way))).toMatchObject({
      type: "maximum-append-size-exceeded",
      maxAppendSize: 100,
    });
  });

  test("many at once each get a number of their own, without a gap", async () => {
    const { client, node } = await open();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_unused, index) =>
        client.appendToStream(`s-${index % 10}`, event(index), way),
      ),
    );
    expect(new Set(answers.map(({ position }) => position!.commit)).size).toBe(200);
    for (let stream = 0; stream < 10; stream += 1) {
      const read = await contents(client, `s-${stream}`);
      expect(read.map((one) => Number(one.split(":")[0]))).toEqual(Array.from({ length: 20 }, (_u, n) => n));
      expect(new Set(read.map((one) => one.split(":")[1])).size).toBe(20);
    }
    expect(node.counts).toMatchObject({ appends: 200, events: 200 });
  });

  test("one append's events are next to each other in $all", async () => {
    const { client } = await open();
    await Promise.all(["a", "b", "c"].map((stream) => client.appendToStream(stream, events(20), way)));
    const streams = (await gather(client.readAll()))
      .map(({ event: recorded }) => recorded!.streamId)
      .filter((stream) => stream.length === 1);
    expect(streams).toHaveLength(60);
    for (let first = 0; first < 60; first += 20)
      expect(new Set(streams.slice(first, first + 20)).size).toBe(1);
  });
});

test("the client takes the batch call where it is offered and no credentials are given, else the plain one", async () => {
  const { client, node } = await open();
  await client.appendToStream("s", event());
  await client.appendToStream("s", event(), PLAIN);
  expect(node.counts.calls).toMatchObject({ append: 1, batchAppend: 1 });
  const without = await open({ batchAppend: false });
  await without.client.appendToStream("s", event());
  expect(without.node.counts.calls).toMatchObject({ append: 1, batchAppend: 0 });
});

test("a large append that comes in several chunks is one append", async () => {
  const { client, node } = await open({ maxAppendSize: 8 * MIB });
  const large = Array.from({ length: 6 }, () => binaryEvent({ type: "B", data: new Uint8Array(MIB) }));
  const answer = await client.appendToStream("s", large, { expectedRevision: "no_stream" });
  expect(answer.nextExpectedRevision).toBe(5n);
  expect(node.counts).toMatchObject({ appends: 1, events: 6 });
});

test("an append that is too large in its first chunk is answered once, whatever chunks follow", async () => {
  const { client } = await open();
  const large = Array.from({ length: 8 }, () => binaryEvent({ type: "B", data: new Uint8Array(MIB) }));
  expect(await failureOf(client.appendToStream("s", large))).toMatchObject({
    type: "maximum-append-size-exceeded",
  });
  expect(await client.appendToStream("s", event())).toMatchObject({ nextExpectedRevision: 0n });
});

test("a batch whose deadline lies in the past times out and is not written", async () => {
  const { client } = await open({ clock: () => Date.now() + 3_600_000 });
  expect(await failureOf(client.appendToStream("s", event()))).toMatchObject({ type: "deadline-exceeded" });
  expect(await client.appendToStream("s", event(), PLAIN)).toMatchObject({ nextExpectedRevision: 0n });
});
