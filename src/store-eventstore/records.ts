/**
 * Events on their way to and from the server: JSON data, and the port's metadata as JSON custom metadata, so that any client of
 * the database can read them.
 *
 * - R1 What is to be appended is copied before anything is awaited: the client turns it into text later than the caller knows.
 * - R2 What the server holds is decoded here and nowhere else. An event that no Runstream can have written is nobody's business in
 *   the whole log, and damage in a stream that is read.
 */
import {
  type AllStreamRecordedEvent,
  type EventData as ClientEventData,
  type RecordedEvent as ClientRecordedEvent,
  jsonEvent,
} from "@eventstore/db-client";
import type { EventData, RecordedEvent } from "../events/event-log.ts";
import type { JsonObject } from "../events/json.ts";
import { readName, writeName } from "./names.ts";
import { positionOf } from "./positions.ts";

export interface Outgoing {
  readonly events: readonly ClientEventData[];
  readonly ids: readonly string[];
  /** What the server counts against its limit: data, metadata and types, in bytes. */
  readonly bytes: number;
}

export const outgoing = (events: readonly EventData[]): Outgoing => {
  let bytes = 0;
  const copied = (json: JsonObject): JsonObject => {
    const text = JSON.stringify(json);
    bytes += Buffer.byteLength(text);
    return JSON.parse(text) as JsonObject;
  };
  const copies = events.map(({ id, type, data, metadata }) => {
    const written = writeName(type);
    bytes += 2 * written.length;
    return jsonEvent({ id, type: written, data: copied(data), metadata: copied(metadata) });
  });
  return { events: copies, ids: events.map(({ id }) => id), bytes };
};

type ServerRecord = ClientRecordedEvent | AllStreamRecordedEvent;

const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

/** The event as the port knows it; `undefined` for one that is not of its kind (R2). */
export const recorded = (record: ServerRecord | undefined): RecordedEvent | undefined => {
  if (record === undefined || !record.isJson) return undefined;
  const stream = readName(record.streamId);
  const type = readName(record.type);
  const position = positionOf(record.position);
  const metadata: unknown = record.metadata ?? {};
  if (stream === undefined || type === undefined || position === undefined) return undefined;
  if (!isJsonObject(record.data) || !isJsonObject(metadata)) return undefined;
  return {
    id: record.id,
    type,
    data: record.data,
    metadata,
    stream,
    revision: Number(record.revision),
    position,
    recordedAt: record.created.getTime(),
  };
};
