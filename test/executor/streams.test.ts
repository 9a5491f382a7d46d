/** Streams that go in and out of a step, through the World's streams. */
import { describe, expect, it, vi } from "vitest";
import { dehydrate, executeStep, hydrate, importEncryptionKey } from "../../src/executor/index.ts";
import { FRAME_LIMIT_BYTES, frame, Unframer } from "../../src/executor/stream-frames.ts";
import { counted, paramsFor, until, watchRejections, worldWithStep } from "./scene.ts";
import { ScriptedWorld } from "./scripted-world.ts";
import { resultText, runWith, text } from "./written-values.ts";

watchRejections();

const streamOf = (...chunks: unknown[]): ReadableStream =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

const bytesOf = (...chunks: Uint8Array[]): ReadableStream =>
  new ReadableStream({
    type: "bytes",
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
      controller.close();
    },
  });

const onlyStream = (world: ScriptedWorld): [string, string[], boolean] => {
  expect(world.streamStates.size).toBe(1);
  const [name, { chunks, closed }] = [...world.streamStates][0]!;
  return [name, chunks.map(text), closed];
};

describe("a stream that a step returns", () => {
  it("of values is pumped into the World, each chunk a frame, and closed", async () => {
    const world = await worldWithStep();
    counted(() => streamOf({ a: 1 }, "two"));
    expect(await executeStep(paramsFor(world))).toEqual({ type: "completed", hasPendingOps: false });
    const [name, chunks, closed] = onlyStream(world);
    expect(name).toMatch(/^strm_[0-9A-Z]{26}$/);
    expect(resultText(world)).toBe(`devl[["ReadableStream",1],{"name":2},"${name}"]`);
    expect(chunks).toEqual(['\0\0\0\x0fdevl[{"a":1},1]', '\0\0\0\x0bdevl["two"]']);
    expect(closed).toBe(true);
  });

  it("of bytes is framed as it is", async () => {
    const world = await worldWithStep();
    counted(() => bytesOf(new Uint8Array([1, 2, 3])));
    await executeStep(paramsFor(world));
    const [name, chunks] = onlyStream(world);
    expect(resultText(world)).toBe(
      `devl[["ReadableStream",1],{"name":2,"type":3,"framing":4},"${name}","bytes","framed-v1"]`,
    );
    expect(chunks).toEqual(["\0\0\0\x03\x01\x02\x03"]);
  });

  it("of values is encrypted under the key of its run", async () => {
    const key = await importEncryptionKey(new Uint8Array(32));
    const world = await worldWithStep();
    counted(() => streamOf({ secret: 1 }));
    await executeStep(paramsFor(world, { encryptionKey: key }));
    const [, [chunk]] = onlyStream(world);
    expect(chunk!.slice(4, 8)).toBe("encr");
    expect(await hydrate(Buffer.from(chunk!.slice(4), "latin1"), { key })).toEqual({ secret: 1 });
  });

  it("that breaks is a failure of the attempt", async () => {
    const world = await worldWithStep();
    counted(
      () =>
        new ReadableStream({
          pull() {
            throw new Error("broken");
          },
        }),
    );
    expect(await executeStep(paramsFor(world))).toEqual({ type: "retry", timeoutSeconds: 1 });
  });

  it("that somebody reads already is refused", async () => {
    const world = await worldWithStep();
    const stream = streamOf(1);
    stream.getReader();
    counted(() => stream);
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
  });

  it("to write to, and made in the step, is refused", async () => {
    const world = await worldWithStep();
    counted(() => new WritableStream());
    expect(await executeStep(paramsFor(world))).toEqual({ type: "failed" });
  });

  it("waits with its first chunk until the run exists", async () => {
    const world = new ScriptedWorld();
    const { promise: runReadyBarrier, resolve } = Promise.withResolvers<void>();
    counted(() => streamOf(1));
    const executing = executeStep(
      paramsFor(world, {
        lazyStepInput: await dehydrate({ args: [] }),
        forceOptimisticStart: true,
        runReadyBarrier,
      }),
    );
    for (let turn = 0; turn < 20; turn++) await new Promise((next) => setImmediate(next));
    expect(world.streamStates.size).toBe(0);
    resolve();
    expect((await executing).type).toBe("completed");
    expect(onlyStream(world)[1].length).toBe(1);
  });

  it("as the body of a response is carried with it, and can be read by another step", async () => {
    const world = await worldWithStep();
    counted(() => new Response("hello", { status: 201, headers: { a: "b" } }));
    await executeStep(paramsFor(world));
    const { result } = world.asked("step_completed")[0]!.request.eventData as { result: Uint8Array };
    const values = JSON.parse(text(result).slice(4)) as unknown[];
    const shifted = JSON.stringify([{ args: 1 }, [2], ...values.map((value) => shift(value, 2))]);
    world.given({ stepId: "step_2", input: Buffer.from(`devl${shifted}`) });
    counted(async (response: Response) => [
      response.status,
      response.headers.get("a"),
      await response.text(),
    ]);
    await executeStep(paramsFor(world, { stepId: "step_2" }));
    const again = world.asked("step_completed")[1]!.request.eventData as { result: unknown };
    expect(await hydrate(again.result)).toEqual([201, "b", "hello"]);
  });
});

/** A serialised value whose references are moved by so many places. */
const shift = (value: unknown, by: number): unknown => {
  if (Array.isArray(value)) {
    return typeof value[0] === "string"
      ? [value[0], ...value.slice(1).map((index) => (index as number) + by)]
      : value.map((index) => (index as number) + by);
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, index]) => [
      field,
      (index as number) < 0 ? index : (index as number) + by,
    ]),
  );
};

describe("a stream that a step is given", () => {
  it("to read is live: what there is, then what comes", async () => {
    const world = new ScriptedWorld();
    await world.streams.write("wrun_1", "strm_1", frame(await dehydrate({ n: 1 })));
    const writing = (async () => {
      await new Promise((next) => setImmediate(next));
      await world.streams.write("wrun_1", "strm_1", frame(await dehydrate({ n: 2 })));
      await world.streams.close("wrun_1", "strm_1");
    })();
    const seen: unknown[] = [];
    await runWith(world, '["ReadableStream",{"name":"strm_1"}]', async (stream: ReadableStream) => {
      for await (const chunk of stream) seen.push(chunk);
    });
    await writing;
    expect(seen).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it.each([
    ['{"name":"strm_1","type":"bytes","framing":"framed-v1"}', true],
    ['{"name":"strm_1","type":"bytes"}', false],
  ])("of bytes, as %s says", async (fields, framed) => {
    const world = new ScriptedWorld();
    const chunk = new Uint8Array([1, 2, 3]);
    await world.streams.write("wrun_1", "strm_1", framed ? frame(chunk) : chunk);
    await world.streams.close("wrun_1", "strm_1");
    const seen: number[] = [];
    await runWith(world, `["ReadableStream",${fields}]`, async (stream: ReadableStream<Uint8Array>) => {
      for await (const piece of stream) seen.push(...piece);
    });
    expect(seen).toEqual([1, 2, 3]);
  });

  it("of bytes can be read into a buffer of the reader's own, to its end", async () => {
    const world = new ScriptedWorld();
    await world.streams.write("wrun_1", "strm_1", frame(new Uint8Array([1, 2])));
    await world.streams.close("wrun_1", "strm_1");
    const ends: boolean[] = [];
    const argument = '["ReadableStream",{"name":"strm_1","type":"bytes","framing":"framed-v1"}]';
    await runWith(world, argument, async (stream: ReadableStream<Uint8Array>) => {
      const reader = stream.getReader({ mode: "byob" });
      ends.push((await reader.read(new Uint8Array(8))).done);
      ends.push((await reader.read(new Uint8Array(8))).done);
    });
    expect(ends).toEqual([false, true]);
  });

  it("to read goes on where it was when the connection breaks, even inside a frame", async () => {
    const world = new ScriptedWorld();
    for (const n of [1, 2, 3]) await world.streams.write("wrun_1", "strm_1", frame(await dehydrate(n)));
    await world.streams.close("wrun_1", "strm_1");
    const { get } = world.streams;
    const starts: unknown[] = [];
    world.streams.get = async (runId, name, startIndex) => {
      starts.push(startIndex);
      const source = (await get(runId, name, startIndex)).getReader();
      let reads = 0;
      return new ReadableStream(
        {
          async pull(controller) {
            if (++reads > 2) throw new TypeError("connection lost");
            const { done, value } = await source.read();
            if (done) controller.close();
            else controller.enqueue(reads === 1 ? value : value.subarray(0, 5));
          },
        },
        { highWaterMark: 0 },
      );
    };
    const seen: unknown[] = [];
    await runWith(world, '["ReadableStream",{"name":"strm_1"}]', async (stream: ReadableStream) => {
      for await (const chunk of stream) seen.push(chunk);
    });
    expect(seen).toEqual([1, 2, 3]);
    expect(starts).toEqual([undefined, 1, 2]);
  });

  it("to read gives up after fifty connections in a row that brought nothing", async () => {
    const world = new ScriptedWorld();
    let asked = 0;
    world.streams.get = async () => {
      asked++;
      throw new TypeError("no connection");
    };
    const verdict = await runWith(
      world,
      '["ReadableStream",{"name":"strm_1"}]',
      async (stream: ReadableStream) => {
        for await (const _ of stream);
      },
    );
    expect(verdict.type).toBe("retry");
    expect(asked).toBe(51);
  });

  it("to write to writes framed values in order", async () => {
    const world = new ScriptedWorld();
    const verdict = await runWith(
      world,
      '["WritableStream",{"name":"strm_1"}]',
      async (stream: WritableStream) => {
        const writer = stream.getWriter();
        await writer.write({ b: 1 });
        await writer.write("x");
        await writer.close();
      },
    );
    expect(verdict).toEqual({ type: "completed", hasPendingOps: false });
    expect(onlyStream(world)).toEqual(["strm_1", ['\0\0\0\x0fdevl[{"b":1},1]', '\0\0\0\tdevl["x"]'], true]);
  });

  it("to write to and left open, but released, is not pending", async () => {
    const world = new ScriptedWorld();
    const verdict = await runWith(
      world,
      '["WritableStream",{"name":"strm_1"}]',
      async (stream: WritableStream) => {
        const writer = stream.getWriter();
        await writer.write(1);
        writer.releaseLock();
      },
    );
    expect(verdict).toEqual({ type: "completed", hasPendingOps: false });
  });

  it("to write to and left locked is pending until it is closed", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
    try {
      const world = new ScriptedWorld();
      let writer: WritableStreamDefaultWriter | undefined;
      const executing = runWith(
        world,
        '["WritableStream",{"name":"strm_1"}]',
        async (stream: WritableStream) => {
          writer = stream.getWriter();
        },
      );
      await until(() => vi.getTimerCount() === 2);
      await vi.advanceTimersByTimeAsync(500);
      expect(await executing).toEqual({ type: "completed", hasPendingOps: true });
      expect(vi.getTimerCount()).toBe(1);
      await writer!.close();
      await vi.advanceTimersByTimeAsync(10);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("to write to can be returned, and belongs to its run", async () => {
    const world = new ScriptedWorld();
    await runWith(world, '["WritableStream",{"name":"strm_1"}]', (stream: WritableStream) => stream);
    expect(resultText(world)).toBe('devl[["WritableStream",1],{"name":2,"runId":3},"strm_1","wrun_1"]');
  });

  it("of another run is written under that run's key", async () => {
    const world = new ScriptedWorld();
    world.encryptionKey = new Uint8Array(32).fill(3);
    const own = await importEncryptionKey(new Uint8Array(32).fill(4));
    const argument = '["WritableStream",{"name":"strm_1","runId":"wrun_0","deploymentId":"dpl_0"}]';
    await runWith(
      world,
      argument,
      async (stream: WritableStream) => {
        await stream.getWriter().write("to the parent");
      },
      { encryptionKey: own },
    );
    expect(world.keyRequests).toEqual([["wrun_0", { deploymentId: "dpl_0" }]]);
    const [, [chunk]] = onlyStream(world);
    const theirs = await importEncryptionKey(new Uint8Array(32).fill(3));
    expect(await hydrate(Buffer.from(chunk!.slice(4), "latin1"), { key: theirs })).toBe("to the parent");
  });
});

describe("frames", () => {
  it("come out whole however the bytes are cut", () => {
    const frames = [new Uint8Array([1, 2, 3]), new Uint8Array(0), new Uint8Array([4])];
    const wire = Buffer.concat(frames.map(frame));
    for (let size = 1; size <= wire.byteLength; size++) {
      const unframer = new Unframer();
      const out: number[][] = [];
      for (let at = 0; at < wire.byteLength; at += size) {
        out.push(...unframer.push(wire.subarray(at, at + size)).map((bytes) => [...bytes]));
      }
      expect(out).toEqual([[1, 2, 3], [], [4]]);
    }
  });

  it("that announce more than the limit are no frames", () => {
    const header = new Uint8Array(4);
    new DataView(header.buffer).setUint32(0, FRAME_LIMIT_BYTES + 1);
    expect(() => new Unframer().push(header)).toThrow(RangeError);
  });
});
