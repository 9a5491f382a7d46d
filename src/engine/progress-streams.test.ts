import { expect, test } from "vitest";
import { InvalidArgumentError } from "./invalid-argument-error.ts";
import { createMemoryStreams, type ProgressStreams } from "./progress-streams.ts";

const drain = async (stream: ReadableStream<unknown>): Promise<unknown[]> => {
  const chunks: unknown[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
};

const all = (
  streams: ProgressStreams,
  runId: string,
  options?: { startIndex?: number; namespace?: string },
) => drain(streams.read(runId, options));

const writeAll = async (
  streams: ProgressStreams,
  runId: string,
  chunks: readonly unknown[],
  namespace?: string,
) => {
  for (const chunk of chunks) await streams.write(runId, chunk, namespace);
};

test("a run that said nothing has tail -1 and an empty stream that ends", async () => {
  const streams = createMemoryStreams();
  expect([
    await streams.tail("r"),
    await all(streams, "r"),
    await all(streams, "r", { startIndex: -3 }),
  ]).toEqual([-1, [], []]);
});

test("chunks come back in order, of every type, from an index that may count from the end", async () => {
  const streams = createMemoryStreams();
  const chunks = ["a", undefined, null, { n: 1 }, 0];
  await writeAll(streams, "r", chunks);
  expect(await streams.tail("r")).toBe(4);
  expect(await all(streams, "r")).toEqual(chunks);
  expect(await all(streams, "r", { startIndex: 3 })).toEqual([{ n: 1 }, 0]);
  expect(await all(streams, "r", { startIndex: -1 })).toEqual([0]);
  expect(await all(streams, "r", { startIndex: -99 })).toEqual(chunks);
  expect(await all(streams, "r", { startIndex: 5 })).toEqual([]);
});

test("namespaces and runs do not mix, and none is another than the empty one", async () => {
  const streams = createMemoryStreams();
  await streams.write("r", "plain");
  await streams.write("r", "empty", "");
  await streams.write("r", "proto", "__proto__");
  await streams.write("__proto__", "other");
  expect(await all(streams, "r")).toEqual(["plain"]);
  expect(await all(streams, "r", { namespace: "" })).toEqual(["empty"]);
  expect(await all(streams, "r", { namespace: "__proto__", startIndex: -1 })).toEqual(["proto"]);
  expect(await all(streams, "__proto__")).toEqual(["other"]);
  expect([await streams.tail("r", "__proto__"), await streams.tail("r", "none")]).toEqual([0, -1]);
});

test("P2: a read ends at the tail it began with, also when it is cancelled half-way", async () => {
  const streams = createMemoryStreams();
  await writeAll(streams, "r", [1, 2]);
  const stream = streams.read("r");
  await streams.write("r", 3);
  expect(await drain(stream)).toEqual([1, 2]);
  const reader = streams.read("r").getReader();
  expect((await reader.read()).value).toBe(1);
  await reader.cancel();
  expect(await all(streams, "r", { startIndex: 2 })).toEqual([3]);
});

test("P1, P3: of one run the latest chunks are kept, and indexes stay", async () => {
  const streams = createMemoryStreams({ keepChunks: 3 });
  await writeAll(streams, "r", [0, 1, 2, 3, 4, 5, 6, 7]);
  expect(await streams.tail("r")).toBe(7);
  expect(await all(streams, "r")).toEqual([5, 6, 7]);
  expect(await all(streams, "r", { startIndex: 6 })).toEqual([6, 7]);
  expect(await all(streams, "r", { startIndex: -2 })).toEqual([6, 7]);
});

test("P1: a namespace keeps its index while another one talks, though its chunks are gone", async () => {
  const streams = createMemoryStreams({ keepChunks: 2 });
  await streams.write("r", "quiet", "q");
  await writeAll(streams, "r", Array(20).fill("loud"));
  expect([await streams.tail("r", "q"), await all(streams, "r", { namespace: "q" })]).toEqual([0, []]);
  await streams.write("r", "again", "q");
  expect([await streams.tail("r", "q"), await all(streams, "r", { namespace: "q", startIndex: 1 })]).toEqual([
    1,
    ["again"],
  ]);
});

test("P3: a run that makes ever new namespaces forgets the ones whose chunks are gone", async () => {
  const streams = createMemoryStreams({ keepChunks: 2 });
  for (let i = 0; i < 9; i++) await streams.write("r", i, `n${i}`);
  expect(await streams.tail("r", "n0")).toBe(-1);
  expect([await streams.tail("r", "n8"), await all(streams, "r", { namespace: "n8" })]).toEqual([0, [8]]);
});

test("P3: over many runs, the one written to least recently is forgotten first", async () => {
  const streams = createMemoryStreams({ keep: 2 });
  await streams.write("a", 1);
  await streams.write("b", 1);
  await streams.write("a", 2);
  await streams.write("c", 1);
  expect([await streams.tail("a"), await streams.tail("b"), await streams.tail("c")]).toEqual([1, -1, 0]);
});

test("an index that is none, and a bound that is none, are refused with a typed error", () => {
  const streams = createMemoryStreams();
  for (const startIndex of [1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => streams.read("r", { startIndex })).toThrow(InvalidArgumentError);
  }
  expect(() => createMemoryStreams({ keep: 0 })).toThrow(InvalidArgumentError);
  expect(() => createMemoryStreams({ keepChunks: 0.5 })).toThrow(InvalidArgumentError);
});
