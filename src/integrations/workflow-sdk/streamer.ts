/**
 * The streams of the World: each is a stream of the log, so it is durable, ordered, and can be read again from any chunk.
 *
 * Invariants:
 * - B1 A reader sees every chunk from its first one on, once and in order, and ends when the stream is closed.
 * - B2 Chunks are written in the order in which `write` was called.
 * - B3 A reader that is cancelled leaves nothing behind.
 */
import { isLeft } from "fp-ts/lib/Either.js";
import type { Subscription } from "rxjs";
import type { CaughtUp, EventLog, RecordedEvent } from "../../events/event-log.ts";
import { decodeSdkChunkEvent, type SdkChunkEvent } from "../../events/sdk-chunks.ts";
import { StoreError } from "../../events/store-error.ts";
import { sdkChunksPrefix, sdkChunksStream } from "../../events/stream-names.ts";
import type { Streamer } from "../../executor/world.ts";
import { type ChunksState, decideClose, decideWrite } from "./chunk-fold.ts";
import { bytesFromStored } from "./event-form.ts";
import { pageLimit, placeOf } from "./pages.ts";
import type { SessionPool } from "./session-pool.ts";

/** The store, and the writers of streams; opened at the first use. */
export interface ChunkRecords {
  readonly log: EventLog;
  readonly chunks: SessionPool<ChunksState, SdkChunkEvent>;
}

export interface StreamerOptions {
  readonly open: () => Promise<ChunkRecords>;
  /** Epoch milliseconds. */
  readonly clock: () => number;
}

const PAGE = 100;
/** Revision 0 says that the stream was opened; chunk 0 is revision 1. */
const FIRST_CHUNK = 1;

const encoder = new TextEncoder();
const bytesOf = (chunk: string | Uint8Array): Uint8Array =>
  typeof chunk === "string" ? encoder.encode(chunk) : chunk;

export const createStreamer = ({ open, clock }: StreamerOptions): Streamer => {
  const writeAll = async (
    runId: string,
    name: string,
    chunks: readonly (string | Uint8Array)[],
  ): Promise<void> => {
    const copies = chunks.map((chunk) => bytesOf(chunk).slice());
    const { chunks: writers } = await open();
    await writers
      .get(sdkChunksStream(runId, name))
      .propose(decideWrite(copies, { runId, name, at: clock() }), { creates: true });
  };

  return {
    // Appends of one turn are gathered anyway, so a reader need not wait for a timer.
    streamFlushIntervalMs: 0,
    streams: {
      write: (runId, name, chunk) => writeAll(runId, name, [chunk]),
      writeMulti: async (runId, name, chunks) => {
        if (chunks.length > 0) await writeAll(runId, name, chunks);
      },
      async close(runId, name) {
        const { chunks } = await open();
        await chunks
          .get(sdkChunksStream(runId, name))
          .propose(decideClose({ runId, name, at: clock() }), { creates: true });
      },
      async get(runId, name, startIndex = 0) {
        const { log } = await open();
        const stream = sdkChunksStream(runId, name);
        const { length, closed } = await tailOf(log, stream);
        const wanted = startIndex < 0 ? Math.max(0, length + startIndex) : startIndex;
        // Beyond the end of a closed stream there is nothing to wait for but its end.
        const first = closed ? Math.min(wanted, length) : wanted;
        return liveChunks(log, stream, first);
      },
      async list(runId) {
        const { log } = await open();
        const names: string[] = [];
        const filter = { streamPrefix: sdkChunksPrefix(runId), types: ["SdkChunksOpened"] };
        for await (const { data } of log.readAll({ filter })) names.push(String(data.name));
        return names;
      },
      async getChunks(runId, name, options = {}) {
        const { log } = await open();
        const limit = pageLimit(options, PAGE);
        const from = options.cursor === undefined ? 0 : placeOf(options.cursor);
        const data: { index: number; data: Uint8Array }[] = [];
        let done = false;
        let hasMore = false;
        // One more than a page: the chunk after it, or the end.
        for await (const recorded of log.read(sdkChunksStream(runId, name), {
          from: from + FIRST_CHUNK,
          max: limit + 1,
        })) {
          const chunk = chunkIn(recorded);
          if (chunk === "closed") done = true;
          else if (data.length === limit) hasMore = true;
          else if (chunk !== undefined) data.push({ index: from + data.length, data: chunk });
        }
        return { data, cursor: hasMore ? String(from + data.length) : null, hasMore, done };
      },
      async getInfo(runId, name) {
        const { log } = await open();
        const { length, closed } = await tailOf(log, sdkChunksStream(runId, name));
        return { tailIndex: length - 1, done: closed };
      },
    },
  };
};

/** How many chunks there are, and whether more may come. */
const tailOf = async (log: EventLog, stream: string): Promise<{ length: number; closed: boolean }> => {
  for await (const recorded of log.read(stream, { direction: "backwards", max: 1 })) {
    const closed = recorded.type === "SdkChunksClosed";
    return { length: recorded.revision - (closed ? FIRST_CHUNK : 0), closed };
  }
  return { length: 0, closed: false };
};

/** The bytes of a chunk, or that it was the end; `undefined` for the opening. */
const chunkIn = (recorded: RecordedEvent): Uint8Array | "closed" | undefined => {
  const decoded = decodeSdkChunkEvent(recorded);
  if (isLeft(decoded)) throw StoreError.corrupt(decoded.left.message, decoded.left);
  const { type, data } = decoded.right;
  if (type === "SdkChunksClosed") return "closed";
  if (type === "SdkChunksOpened") return undefined;
  const { text, base64 = "" } = data;
  return bytesFromStored(text === undefined ? { base64 } : { text });
};

/** What is there from chunk `first` on, then what comes, until the stream is closed. */
const liveChunks = (log: EventLog, stream: string, first: number): ReadableStream<Uint8Array> => {
  let next = first + FIRST_CHUNK;
  let over = false;
  let subscription: Subscription | undefined;

  const stop = (): void => {
    over = true;
    subscription?.unsubscribe();
  };

  return new ReadableStream<Uint8Array>({
    async start(controller) {
      const take = (recorded: RecordedEvent): void => {
        if (over || recorded.stream !== stream) return;
        const chunk = chunkIn(recorded);
        if (chunk === "closed") {
          stop();
          controller.close();
          return;
        }
        if (recorded.revision < next || chunk === undefined) return;
        next = recorded.revision + 1;
        // An empty chunk says nothing, and a byte stream must not be given one.
        if (chunk.length > 0) controller.enqueue(chunk);
      };
      const fail = (error: unknown): void => {
        if (over) return;
        stop();
        controller.error(error);
      };
      // What is appended while the stream is read comes again from the subscription, and is told by its revision.
      const head = await log.head();
      for await (const recorded of log.read(stream, { from: next })) take(recorded);
      if (over) return;
      subscription = log.subscribe({ after: head ?? "start", filter: { streamPrefix: stream } }).subscribe({
        next: (item: RecordedEvent | CaughtUp) => {
          try {
            if ("type" in item) take(item);
          } catch (error) {
            fail(error);
          }
        },
        error: fail,
        complete: () => fail(new StoreError("The store was closed while a stream was read.", CLOSED)),
      });
      if (over) stop();
    },
    cancel: stop,
  });
};

const CLOSED = { _tag: "Unavailable", reason: "the store was closed" } as const;
