/**
 * One event as a row, and back. Ids are UUIDs and stored as 16 bytes; empty objects are stored as NULL; names are stored as the
 * inside of a JSON string, which is the same text for ordinary names and survives NUL and lone surrogates.
 */
import type { EventData, Position, RecordedEvent } from "../events/event-log.ts";
import type { JsonObject } from "../events/json.ts";

/** Bytes of one event's data or metadata that the log takes. */
export const EVENT_LIMIT_BYTES = 64 * 1024 * 1024;

/** V8's longest string, in UTF-16 units. */
const LONGEST_TEXT = 536_870_888;

export interface EncodedEvent {
  readonly event: EventData;
  readonly metadata: string | null;
  readonly data: string | null;
}

/** position, revision, type, at, id, metadata, data, and where the stream is not known: stream. */
export type EventRow = [number, number, number, number, string, string | null, string | null, number];
/** The text of a UUID is put together by SQLite: in a process that has just started that takes less than doing it here. */
const UUID_GROUPS = ["id, 1, 4", "id, 5, 2", "id, 7, 2", "id, 9, 2", "id, 11, 6"];
const UUID = `lower(${UUID_GROUPS.map((group) => `hex(substr(${group}))`).join(" || '-' || ")})`;
export const EVENT_COLUMNS = `position, revision, type, at, iif(typeof(id) = 'blob', ${UUID}, id), metadata, data, stream`;

const isEmpty = (value: JsonObject): boolean => {
  for (const _ in value) return false;
  return true;
};

const encodeJson = (value: JsonObject): string | null => (isEmpty(value) ? null : JSON.stringify(value));

/** The texts of metadata that many events share: an object that is frozen says the same for ever. */
const sharedTexts = new WeakMap<JsonObject, string | null>();

const encodeMetadata = (value: JsonObject): string | null => {
  const known = sharedTexts.get(value);
  if (known !== undefined) return known;
  const text = encodeJson(value);
  if (Object.isFrozen(value) && isFlat(value)) sharedTexts.set(value, text);
  return text;
};

const isFlat = (value: JsonObject): boolean =>
  Object.values(value).every((field) => typeof field !== "object" || field === null);

/** Every UTF-16 unit is three bytes at most, so that short texts are never measured. */
const bytesOf = (text: string | null): number =>
  text === null ? 0 : text.length * 3 <= EVENT_LIMIT_BYTES ? text.length : Buffer.byteLength(text);

/** The event as texts, or its size when it is larger than {@link EVENT_LIMIT_BYTES}. */
export const encodeEvent = (event: EventData): EncodedEvent | { readonly tooLarge: number } => {
  try {
    const metadata = encodeMetadata(event.metadata);
    const data = encodeJson(event.data);
    const bytes = bytesOf(metadata) + bytesOf(data);
    return bytes > EVENT_LIMIT_BYTES ? { tooLarge: bytes } : { event, metadata, data };
  } catch (cause) {
    // The text would be longer than any string may be.
    if (cause instanceof RangeError && cause.message.includes("string length"))
      return { tooLarge: LONGEST_TEXT };
    throw cause;
  }
};

const decodeJson = (text: string | null): JsonObject =>
  text === null ? {} : (JSON.parse(text) as JsonObject);

/** Metadata that is a schema version alone is that of nearly every event: it is parsed once. */
const VERSION_ONLY = /^\{"v":\d{1,3}\}$/;
const versionOnly = new Map<string, JsonObject>();

const decodeMetadata = (text: string | null): JsonObject => {
  const known = text === null ? undefined : versionOnly.get(text);
  if (known !== undefined) return known;
  const metadata = decodeJson(text);
  if (text !== null && VERSION_ONLY.test(text)) versionOnly.set(text, Object.freeze(metadata));
  return metadata;
};

export const encodeName = (name: string): string => JSON.stringify(name).slice(1, -1);
export const decodeName = (text: string): string =>
  text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;

const UUID_LENGTH = 36;
const isDash = (index: number): boolean => index === 8 || index === 13 || index === 18 || index === 23;
const isLowerHex = (code: number): boolean => (code >= 48 && code <= 57) || (code >= 97 && code <= 102);

/** A UUID in lower case, which is the same text when it has been read back. (Asked for every event: three times as fast as a pattern.) */
export const isUuid = (id: string): boolean => {
  if (id.length !== UUID_LENGTH) return false;
  for (let i = 0; i < UUID_LENGTH; i += 1) {
    const code = id.charCodeAt(i);
    if (isDash(i) ? code !== 45 : !isLowerHex(code)) return false;
  }
  return true;
};

/** Ids in another form are kept as text behind this mark. */
const TEXT_ID = ":";
export const encodeTextId = (id: string): string => TEXT_ID + encodeName(id);

const decodeId = (id: string): string => (id.startsWith(TEXT_ID) ? decodeName(id.slice(TEXT_ID.length)) : id);

export const positionOf = (place: number): Position => String(place) as Position;
export const placeOf = (position: Position): number => {
  if (!/^[0-9]{1,16}$/.test(position))
    throw new RangeError(`"${position}" is not a position of a SQLite log`);
  return Number(position);
};

export const recordedRow = (row: EventRow, stream: string, type: string): RecordedEvent => ({
  id: decodeId(row[4]),
  type,
  data: decodeJson(row[6]),
  metadata: decodeMetadata(row[5]),
  stream,
  revision: row[1],
  position: positionOf(row[0]),
  recordedAt: row[3],
});

/** An event of this process that was just committed, in the shape in which it would be read back. */
export class WrittenEvent {
  readonly place: number;
  readonly streamId: number;
  readonly stream: string;
  readonly revision: number;
  readonly at: number;
  readonly event: EventData;
  #recorded: RecordedEvent | undefined;

  constructor(
    place: number,
    streamId: number,
    stream: string,
    revision: number,
    at: number,
    event: EventData,
  ) {
    this.place = place;
    this.streamId = streamId;
    this.stream = stream;
    this.revision = revision;
    this.at = at;
    this.event = event;
  }

  get recorded(): RecordedEvent {
    this.#recorded ??= {
      id: this.event.id,
      type: this.event.type,
      data: this.event.data,
      metadata: this.event.metadata,
      stream: this.stream,
      revision: this.revision,
      position: positionOf(this.place),
      recordedAt: this.at,
    };
    return this.#recorded;
  }
}
