/**
 * The facts of a stream of chunks that a run of the Workflow SDK writes: `sdk-chunks-<runId>/<name>`.
 *
 * `SdkChunksOpened` is revision 0, so chunk `n` is revision `n + 1`; nothing comes after `SdkChunksClosed`.
 */
import type { Either } from "fp-ts/lib/Either.js";
import * as t from "io-ts";
import { createEventCodec, type Decoded } from "./event-codec.ts";
import type { EventDecodeError } from "./event-decode-error.ts";
import type { EventData, RecordedEvent } from "./event-log.ts";
import { type EventSchema, Finite, storedData } from "./event-schema.ts";

export type SdkChunksOpened = {
  readonly type: "SdkChunksOpened";
  readonly data: { readonly runId: string; readonly name: string; readonly at: number };
};

/** One chunk: text where its bytes are text, base64 where they are not. */
export type SdkChunkWritten = {
  readonly type: "SdkChunkWritten";
  readonly data: { readonly text?: string; readonly base64?: string };
};

export type SdkChunksClosed = { readonly type: "SdkChunksClosed"; readonly data: { readonly at: number } };

export type SdkChunkEvent = SdkChunksOpened | SdkChunkWritten | SdkChunksClosed;

const SDK_CHUNK_EVENTS = {
  SdkChunksOpened: { version: 1, stored: storedData({ runId: t.string, name: t.string, at: Finite }) },
  SdkChunkWritten: { version: 1, stored: storedData({}, { text: t.string, base64: t.string }) },
  SdkChunksClosed: { version: 1, stored: storedData({ at: Finite }) },
} as const satisfies Record<SdkChunkEvent["type"], EventSchema>;

const codec = createEventCodec<SdkChunkEvent>({ schemas: SDK_CHUNK_EVENTS });

/** The event as a store takes it. */
export const encodeSdkChunkEvent = (event: SdkChunkEvent): EventData => codec.encode(event);

/** An event of a chunk stream, checked. */
export const decodeSdkChunkEvent = (
  recorded: RecordedEvent,
): Either<EventDecodeError, Decoded<SdkChunkEvent>> => codec.decode(recorded);
