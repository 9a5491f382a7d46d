/**
 * Streams in a payload: a reference by name, while the chunks go through the World's streams. A readable stream that a step returns is
 * pumped into the World; one that a step is given is read from there; a writable one that it is given writes there.
 *
 * Invariants:
 * - T1 Chunks keep their order; each is one frame, so that a reader that lost its connection goes on at the next frame.
 * - T2 Values are framed, and encrypted under the key of the run that owns the stream; byte streams are framed and stay plain, as
 *   every reader of this format expects.
 * - T3 Nothing is written before the run exists.
 */
import { ulid } from "ulid";
import { importEncryptionKey } from "./encryption.ts";
import type { LiveScope } from "./payload-scope.ts";
import type { PayloadType } from "./payload-values.ts";
import { SerializationError } from "./serialization-error.ts";
import { frame, Unframer } from "./stream-frames.ts";

const NAME = Symbol.for("WORKFLOW_STREAM_NAME");
const OWNER = Symbol.for("WORKFLOW_STREAM_SERVER_RUN_ID");
const OWNER_DEPLOYMENT = Symbol.for("WORKFLOW_STREAM_SERVER_DEPLOYMENT_ID");

/** How often a reader reconnects without having got a frame in between. */
const RECONNECTS_IN_A_ROW = 50;
/** A writer that the body left locked is looked at so often, and no more after so many looks. */
const LOCK_POLL_MS = 10;
const LOCK_POLLS = 3_000;

/** Writes one value of a stream, and reads one back. */
export interface ChunkCodec {
  write(value: unknown, key: LiveScope["key"]): Promise<Uint8Array>;
  read(bytes: Uint8Array, key: LiveScope["key"]): Promise<unknown>;
}

interface WrittenReadable {
  readonly name?: string;
  readonly type?: "bytes";
  readonly framing?: string;
  readonly startIndex?: number;
  readonly bodyInit?: ConstructorParameters<typeof Response>[0];
}

interface WrittenWritable {
  readonly name: string;
  readonly runId?: string;
  readonly deploymentId?: string;
}

const isByteStream = (stream: ReadableStream): boolean => {
  try {
    stream.getReader({ mode: "byob" }).releaseLock();
    return true;
  } catch {
    return false;
  }
};

const asBytes = (chunk: unknown): Uint8Array => {
  if (chunk instanceof Uint8Array) return chunk;
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  throw new SerializationError("A byte stream can carry bytes only");
};

/** Pumps a stream into the World's stream of this name, and closes it. */
const pump = async (
  scope: LiveScope,
  name: string,
  stream: ReadableStream,
  encode: (chunk: unknown) => Promise<Uint8Array> | Uint8Array,
): Promise<void> => {
  const reader = stream.getReader();
  try {
    await scope.ready;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      await scope.world.streams.write(scope.runId, name, frame(await encode(next.value)));
    }
    await scope.world.streams.close(scope.runId, name);
  } catch (error) {
    await reader.cancel(error).catch(() => undefined);
    throw error;
  }
};

const writeReadable = (scope: LiveScope, codec: ChunkCodec, stream: ReadableStream): WrittenReadable => {
  if (stream.locked) {
    throw new SerializationError(
      "A stream that somebody reads already cannot be returned: release its reader first",
    );
  }
  const name = `strm_${ulid()}`;
  const bytes = isByteStream(stream);
  scope.ops.push(pump(scope, name, stream, bytes ? asBytes : (chunk) => codec.write(chunk, scope.key)));
  return bytes ? { name, type: "bytes", framing: "framed-v1" } : { name };
};

/** The frames of a World's stream, reconnecting where the last one ended. */
async function* framesOf(scope: LiveScope, name: string, startIndex: number | undefined) {
  const unframer = new Unframer();
  let consumed = 0;
  for (let failures = 0; ; ) {
    try {
      const from = startIndex === undefined && consumed === 0 ? undefined : (startIndex ?? 0) + consumed;
      const source = await scope.world.streams.get(scope.runId, name, from);
      for await (const piece of source) {
        for (const bytes of unframer.push(piece)) {
          consumed++;
          failures = 0;
          if (bytes.byteLength > 0) yield bytes;
        }
      }
      return;
    } catch (error) {
      const resumable = (startIndex ?? 0) >= 0 && !(error instanceof RangeError);
      if (!resumable || ++failures > RECONNECTS_IN_A_ROW) throw error;
      unframer.reset();
    }
  }
}

async function* rawOf(scope: LiveScope, name: string, startIndex: number | undefined) {
  const source = await scope.world.streams.get(scope.runId, name, startIndex);
  for await (const piece of source) if (piece.byteLength > 0) yield piece;
}

async function* valuesOf(scope: LiveScope, codec: ChunkCodec, name: string, startIndex: number | undefined) {
  for await (const bytes of framesOf(scope, name, startIndex)) yield await codec.read(bytes, scope.key);
}

interface Pulled {
  enqueue(chunk: never): void;
  close(): void;
  /** Of byte streams: whoever reads into a buffer of its own has to be told that nothing comes. */
  readonly byobRequest?: { respond(bytes: number): void } | null;
}

/** A stream that asks its source for one item at a time, and tells it when nobody wants more. */
const pulled = (source: AsyncGenerator<unknown>, type: "bytes" | undefined): ReadableStream => {
  const pull = async (controller: Pulled): Promise<void> => {
    const next = await source.next();
    if (!next.done) return controller.enqueue(next.value as never);
    controller.close();
    controller.byobRequest?.respond(0);
  };
  const cancel = async (): Promise<void> => {
    await source.return(undefined);
  };
  return type === "bytes"
    ? new ReadableStream({ type, pull, cancel })
    : new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
};

const readReadable = (
  scope: LiveScope,
  codec: ChunkCodec,
  written: WrittenReadable,
): ReadableStream | null => {
  const { name, type, framing, startIndex } = written;
  if (name === undefined) return new Response(written.bodyInit).body;
  if (type !== "bytes") return pulled(valuesOf(scope, codec, name, startIndex), undefined);
  return pulled(
    framing === "framed-v1" ? framesOf(scope, name, startIndex) : rawOf(scope, name, startIndex),
    type,
  );
};

const readWritable = (scope: LiveScope, codec: ChunkCodec, written: WrittenWritable): WritableStream => {
  const runId = written.runId ?? scope.runId;
  let keyed: ReturnType<LiveScope["key"]> | undefined;
  const key = (): ReturnType<LiveScope["key"]> => {
    keyed ??= runId === scope.runId ? scope.key() : keyOfOwner(scope, runId, written.deploymentId);
    return keyed;
  };
  let open = true;
  let writing = 0;
  const stream = new WritableStream<unknown>({
    write: async (chunk) => {
      writing++;
      try {
        await scope.ready;
        await scope.world.streams.write(runId, written.name, frame(await codec.write(chunk, key)));
      } finally {
        writing--;
      }
    },
    close: async () => {
      await scope.ready;
      await scope.world.streams.close(runId, written.name);
      open = false;
    },
    abort: () => {
      open = false;
    },
  });
  Object.defineProperties(stream, {
    [NAME]: { value: written.name },
    [OWNER]: { value: runId },
    [OWNER_DEPLOYMENT]: { value: written.deploymentId },
  });
  const busy = (): boolean => open && (stream.locked || writing > 0);
  scope.writers.push(() => (busy() ? released(busy) : undefined));
  return stream;
};

const keyOfOwner = async (scope: LiveScope, runId: string, deploymentId: string | undefined) => {
  const raw = await scope.world.getEncryptionKeyForRun?.(
    runId,
    deploymentId === undefined ? undefined : { deploymentId },
  );
  return raw === undefined ? undefined : importEncryptionKey(raw);
};

/** Resolves when a writer is idle. There is no event for a lock that was released, so it is looked at; after 30 seconds no more. */
const released = (busy: () => boolean): Promise<void> =>
  new Promise((resolve) => {
    let polls = 0;
    const timer = setInterval(() => {
      if (busy() && ++polls < LOCK_POLLS) return;
      clearInterval(timer);
      resolve();
    }, LOCK_POLL_MS);
    timer.unref();
  });

const writeWritable = (stream: WritableStream): WrittenWritable => {
  const stamps = stream as unknown as Record<symbol, string | undefined>;
  const name = stamps[NAME];
  const runId = stamps[OWNER];
  if (name === undefined || runId === undefined) {
    throw new SerializationError(
      "A writable stream made in a step cannot be returned: return a readable one, or write to one that the step was given",
    );
  }
  const deploymentId = stamps[OWNER_DEPLOYMENT];
  return { name, runId, ...(deploymentId === undefined ? {} : { deploymentId }) };
};

/** The types of streams, for the values of one attempt. */
export const payloadStreams = (scope: LiveScope, codec: ChunkCodec): Record<string, PayloadType> => ({
  ReadableStream: {
    write: (value) => (value instanceof ReadableStream ? writeReadable(scope, codec, value) : undefined),
    read: (written: WrittenReadable) => readReadable(scope, codec, written),
  },
  WritableStream: {
    write: (value) => (value instanceof WritableStream ? writeWritable(value) : undefined),
    read: (written: WrittenWritable) => readWritable(scope, codec, written),
  },
});
