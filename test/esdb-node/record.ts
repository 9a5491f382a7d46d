/**
 * A record of the node's log, and its form as an event of the EventLog that keeps it.
 *
 * A client's data and metadata are bytes, an EventLog holds JSON: bytes that are UTF-8 are kept as text, so that a person can read the
 * file, all others as base64. What comes back is the same bytes.
 */
import { isUtf8 } from "node:buffer";
import type { EventData, RecordedEvent } from "../../src/events/event-log.ts";
import type { JsonObject } from "../../src/events/json.ts";

/** What a client wants written. `id` is a UUID in lower case. */
export interface Proposed {
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** `at` is in epoch milliseconds; `position` is the place in the log (commit and prepare are the same in this node). */
export interface LogRecord extends Proposed {
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly at: number;
}

/** Stands for 2^63-1, the revision of a tombstone, which is no safe number. */
export const TOMBSTONE = Number.MAX_SAFE_INTEGER;
export const TOMBSTONE_TEXT = "9223372036854775807";
export const TOMBSTONE_TYPE = "$streamDeleted";
export const LINK_TYPE = "$>";
export const NO_BYTES = new Uint8Array(0);

export const revisionText = (revision: number): string =>
  revision === TOMBSTONE ? TOMBSTONE_TEXT : String(revision);

/** Bytes a record takes in the log, so that positions have gaps as a real log's have: nobody may count on `position + 1`. */
export const recordLength = (stream: string, event: Proposed): number =>
  80 + 2 * (stream.length + event.type.length) + event.data.length + event.metadata.length;

const encodeBytes = (bytes: Uint8Array): JsonObject =>
  bytes.length === 0
    ? {}
    : isUtf8(bytes)
      ? { text: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8") }
      : { base64: Buffer.from(bytes).toString("base64") };

const decodeBytes = (json: JsonObject): Uint8Array =>
  typeof json.text === "string"
    ? Buffer.from(json.text, "utf8")
    : typeof json.base64 === "string"
      ? Buffer.from(json.base64, "base64")
      : NO_BYTES;

export const toEventData = (record: LogRecord): EventData => ({
  id: record.id,
  type: record.type,
  data: encodeBytes(record.data),
  metadata: {
    at: record.at,
    ...(record.isJson ? { json: true } : {}),
    ...(record.revision === TOMBSTONE ? { tombstone: true } : {}),
    ...(record.metadata.length > 0 ? { custom: encodeBytes(record.metadata) } : {}),
  },
});

/** The record that `event` keeps, at `position`. */
export const fromRecorded = (event: RecordedEvent, position: number): LogRecord => ({
  stream: event.stream,
  revision: event.metadata.tombstone === true ? TOMBSTONE : event.revision,
  position,
  at: Number(event.metadata.at),
  id: event.id,
  type: event.type,
  isJson: event.metadata.json === true,
  data: decodeBytes(event.data),
  metadata: decodeBytes((event.metadata.custom ?? {}) as JsonObject),
});
