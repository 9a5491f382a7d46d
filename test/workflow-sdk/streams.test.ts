/** Streams of chunks: durable, indexed, live, and read again from any place. */
import { describe, expect, it } from "vitest";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { bytes, memoryWorld, textOf, worldOver } from "./worlds.ts";

const RUN = "wrun_1";

const all = async (stream: ReadableStream<Uint8Array>): Promise<string[]> => {
  const chunks: string[] = [];
  for await (const chunk of stream) chunks.push(textOf(chunk));
  return chunks;
};

describe("a stream", () => {
  it("is read from its beginning to its end, while it is written", async () => {
    const { streams } = memoryWorld();
    const early = await streams.get(RUN, "s");
    const read = all(early);
    await streams.write(RUN, "s", "a");
    const middle = all(await streams.get(RUN, "s"));
    await streams.writeMulti!(RUN, "s", ["b", bytes("c")]);
    await streams.write(RUN, "s", new Uint8Array([0, 255, 128]));
    await streams.close(RUN, "s");
    const late = all(await streams.get(RUN, "s"));
    const expected = ["a", "b", "c", "\0\ufffd\ufffd"];
    expect(await Promise.all([read, middle, late])).toEqual([expected, expected, expected]);
  });

  it("keeps bytes that are no text as they are", async () => {
    const { streams } = memoryWorld();
    const chunk = Uint8Array.from({ length: 256 }, (_, index) => index);
    await streams.write(RUN, "s", chunk);
    await streams.write(RUN, "s", "\ufefftext");
    const { data } = await streams.getChunks(RUN, "s");
    expect(data.map(({ data }) => [...data])).toEqual([[...chunk], [...bytes("\ufefftext")]]);
  });

  it("begins where a reader wants, counted from either end", async () => {
    const { streams } = memoryWorld();
    for (const chunk of ["a", "b", "c", "d"]) await streams.write(RUN, "s", chunk);
    await streams.close(RUN, "s");
    const from = async (index: number) => all(await streams.get(RUN, "s", index));
    expect(await from(2)).toEqual(["c", "d"]);
    expect(await from(-1)).toEqual(["d"]);
    expect(await from(-9)).toEqual(["a", "b", "c", "d"]);
    expect(await from(4)).toEqual([]);
    expect(await from(9)).toEqual([]);
  });

  it("that is open waits for the chunk a reader begins with", async () => {
    const { streams } = memoryWorld();
    await streams.write(RUN, "s", "a");
    const read = all(await streams.get(RUN, "s", 2));
    for (const chunk of ["b", "c", "d"]) await streams.write(RUN, "s", chunk);
    await streams.close(RUN, "s");
    expect(await read).toEqual(["c", "d"]);
  });

  it("takes nothing more once it is closed: a step that is done again does no harm", async () => {
    const { streams } = memoryWorld();
    await streams.write(RUN, "s", "a");
    await streams.close(RUN, "s");
    await streams.write(RUN, "s", "b");
    await streams.close(RUN, "s");
    expect(await all(await streams.get(RUN, "s"))).toEqual(["a"]);
    expect(await streams.getInfo(RUN, "s")).toEqual({ tailIndex: 0, done: true });
  });

  it("keeps the order of the calls", async () => {
    const { streams } = memoryWorld();
    const written = Array.from({ length: 50 }, (_, index) => String(index));
    await Promise.all(written.map((chunk) => streams.write(RUN, "s", chunk)));
    await streams.close(RUN, "s");
    expect(await all(await streams.get(RUN, "s"))).toEqual(written);
  });

  it("says how far it is", async () => {
    const { streams } = memoryWorld();
    expect(await streams.getInfo(RUN, "s")).toEqual({ tailIndex: -1, done: false });
    await streams.close(RUN, "empty");
    expect(await streams.getInfo(RUN, "empty")).toEqual({ tailIndex: -1, done: true });
    await streams.write(RUN, "s", "a");
    expect(await streams.getInfo(RUN, "s")).toEqual({ tailIndex: 0, done: false });
  });

  it("is read in pages", async () => {
    const { streams } = memoryWorld();
    for (const chunk of ["a", "b", "c"]) await streams.write(RUN, "s", chunk);
    const first = await streams.getChunks(RUN, "s", { limit: 2 });
    expect(first).toMatchObject({ data: [{ index: 0 }, { index: 1 }], hasMore: true, done: false });
    const second = await streams.getChunks(RUN, "s", { limit: 2, cursor: first.cursor! });
    expect(second).toMatchObject({ data: [{ index: 2 }], cursor: null, hasMore: false, done: false });
    await streams.close(RUN, "s");
    expect(await streams.getChunks(RUN, "s", { limit: 3 })).toMatchObject({ hasMore: false, done: true });
    await expect(streams.getChunks(RUN, "s", { cursor: "?" })).rejects.toMatchObject({ status: 400 });
  });

  it("is listed with its run, whatever its name is, and with no other", async () => {
    const { streams } = memoryWorld();
    for (const name of ["a", "a/b", "ü\0", ""]) await streams.write("run", name, "x");
    await streams.write("run/a", "b", "x");
    await streams.write("run2", "c", "x");
    expect(await streams.list("run")).toEqual(["a", "a/b", "ü\0", ""]);
    expect(await streams.list("run/a")).toEqual(["b"]);
    expect(await all(await streams.get("run", "a").then(closed(streams, "run", "a")))).toEqual(["x"]);
  });

  it("ends for readers when the store is closed, and a reader that leaves is forgotten", async () => {
    const log = createMemoryLog();
    const { streams } = worldOver(log);
    await streams.write(RUN, "s", "a");
    const reader = (await streams.get(RUN, "s")).getReader();
    expect(textOf((await reader.read()).value)).toBe("a");
    await reader.cancel();
    const other = (await streams.get(RUN, "s", 1)).getReader();
    const next = other.read();
    await log.close();
    await expect(next).rejects.toMatchObject({ name: "StoreError" });
  });
});

const closed =
  (streams: ReturnType<typeof memoryWorld>["streams"], runId: string, name: string) =>
  async (stream: ReadableStream<Uint8Array>): Promise<ReadableStream<Uint8Array>> => {
    await streams.close(runId, name);
    return stream;
  };
