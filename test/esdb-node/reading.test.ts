/** Reads of a stream and of `$all`: where they begin, which way they go, and what they say of streams that are not there. */
import { BACKWARDS, END, FORWARDS, START } from "@eventstore/db-client";
import { expect, test } from "vitest";
import { contents, event, events, failureOf, gather, open, PLAIN } from "./kit.ts";

const seeded = async (count = 5) => {
  const scene = await open();
  await scene.client.appendToStream("s", events(count));
  return scene;
};

test.each([
  ["the start, forwards", { fromRevision: START, direction: FORWARDS }, ["0:0", "1:1", "2:2", "3:3", "4:4"]],
  ["a revision, forwards, inclusive", { fromRevision: 3n, direction: FORWARDS }, ["3:3", "4:4"]],
  ["beyond the end, forwards", { fromRevision: 50n, direction: FORWARDS }, []],
  ["the end, forwards", { fromRevision: END, direction: FORWARDS }, []],
  ["the end, backwards", { fromRevision: END, direction: BACKWARDS }, ["4:4", "3:3", "2:2", "1:1", "0:0"]],
  ["a revision, backwards, inclusive", { fromRevision: 1n, direction: BACKWARDS }, ["1:1", "0:0"]],
  ["the start, backwards", { fromRevision: START, direction: BACKWARDS }, ["0:0"]],
  ["beyond the end, backwards", { fromRevision: 50n, direction: BACKWARDS, maxCount: 2 }, ["4:4", "3:3"]],
  ["at most so many", { fromRevision: 1n, direction: FORWARDS, maxCount: 2 }, ["1:1", "2:2"]],
] as const)("a stream from %s", async (_, options, expected) => {
  const { client } = await seeded();
  expect(await contents(client, "s", options)).toEqual(expected);
});

test("an absent stream is not found; a read of it does not make it", async () => {
  const { client } = await open();
  expect(await failureOf(contents(client, "nö"))).toMatchObject({
    type: "stream-not-found",
    streamName: "nö",
  });
  expect(await client.appendToStream("nö", event(), { expectedRevision: "no_stream" })).toMatchObject({
    success: true,
  });
});

test("$all is in the order of the log, each event with a position greater than the one before", async () => {
  const { client } = await seeded();
  await client.appendToStream("t", event(5), PLAIN);
  const all = await gather(client.readAll());
  const positions = all.map(({ event: recorded }) => recorded!.position!.commit);
  expect(positions).toEqual([...positions].sort((a, b) => (a < b ? -1 : 1)));
  expect(new Set(positions).size).toBe(positions.length);
  expect(all.slice(-2).map(({ event: recorded }) => recorded!.streamId)).toEqual(["s", "t"]);
  const backwards = await gather(client.readAll({ direction: BACKWARDS, fromPosition: END }));
  expect(backwards.map(({ event: recorded }) => recorded!.id)).toEqual(
    all.map(({ event: recorded }) => recorded!.id).reverse(),
  );
});

test("a new database is born with system events, of which $all does not show the epoch", async () => {
  const { client } = await open();
  const streams = (await gather(client.readAll())).map(({ event: recorded }) => recorded!.streamId);
  expect(streams).toEqual(["$$$users", "$users", "$user-admin", "$users", "$user-ops"]);
  expect(await gather(client.readStream("$epoch-information"))).toHaveLength(1);
});

test("$all from a position begins with the event there, and goes on from page to page without a gap", async () => {
  const { client } = await seeded();
  const all = await gather(client.readAll());
  const third = all[2]!.event!;
  const from = await gather(client.readAll({ fromPosition: third.position!, maxCount: 2 }));
  expect(from.map(({ event: recorded }) => recorded!.id)).toEqual([third.id, all[3]!.event!.id]);
});

test("$all backwards from a position begins with the event before it", async () => {
  const { client } = await seeded();
  const all = await gather(client.readAll());
  const fromPosition = all[2]!.event!.position!;
  const read = await gather(client.readAll({ fromPosition, direction: BACKWARDS }));
  expect(read.map(({ event: recorded }) => recorded!.id)).toEqual([all[1]!.event!.id, all[0]!.event!.id]);
});

test("a position at which no event begins is refused", async () => {
  const { client } = await seeded();
  const [first] = await gather(client.readAll({ maxCount: 1 }));
  const { commit } = first!.event!.position!;
  const between = { commit: commit + 1n, prepare: commit + 1n };
  expect(await failureOf(gather(client.readAll({ fromPosition: between })))).toMatchObject({
    type: "unknown",
    code: 3,
  });
});

test("links are resolved where it is asked for, and stay links where it is not or where they lead nowhere", async () => {
  const { client } = await seeded(2);
  const link = (data: string) => ({
    id: crypto.randomUUID(),
    type: "$>",
    contentType: "application/octet-stream" as const,
    data: new Uint8Array(Buffer.from(data)),
    metadata: undefined,
  });
  await client.appendToStream("links", [link("1@s"), link("9@s"), link("0@absent")]);
  const plain = await gather(client.readStream("links"));
  expect(plain.map(({ event: at, link: by }) => [at!.streamId, by])).toEqual([
    ["links", undefined],
    ["links", undefined],
    ["links", undefined],
  ]);
  const resolved = await gather(client.readStream("links", { resolveLinkTos: true }));
  expect(
    resolved.map(({ event: at, link: by }) => [at && `${at.streamId}/${at.revision}`, by!.revision]),
  ).toEqual([
    ["s/1", 0n],
    [undefined, 1n],
    [undefined, 2n],
  ]);
});

test("a long stream is read to its end, however slowly the reader takes it", async () => {
  const { client } = await open();
  await client.appendToStream("long", events(2_000));
  const seen: bigint[] = [];
  for await (const { event: recorded } of client.readStream("long")) {
    seen.push(recorded!.revision);
    if (seen.length % 500 === 0) await new Promise(setImmediate);
  }
  expect(seen).toEqual(Array.from({ length: 2_000 }, (_, n) => BigInt(n)));
});
