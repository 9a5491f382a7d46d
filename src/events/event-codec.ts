/**
 * Between domain events and what a stream holds, for any catalogue of event types.
 *
 * - E1 Writing checks nothing that types have checked: it is on the hot path of every step.
 * - E2 Reading believes nothing: data is checked against its type and version, and older versions are upcast first.
 * - E3 Metadata is open-ended: `v` is the schema version, `types` the payload's type notes, and `sealed` says which fields are sealed and
 *   how; other keys are kept and not looked at.
 * - E4 What is only compressed is read here. What is encrypted was opened by the log that it came through (embedded/sealed-log.ts), or is
 *   read as sealed.
 */
import { type Either, left, right } from "fp-ts/lib/Either.js";
import { EventDecodeError, pathsOf } from "./event-decode-error.ts";
import { newEventId } from "./event-id.ts";
import type { EventData, Position, RecordedEvent } from "./event-log.ts";
import { type EventSchema, holdsPayload, payloadsOf } from "./event-schema.ts";
import { isJsonObject, type Json, type JsonObject } from "./json.ts";
import type { Payload } from "./payload.ts";
import { openedAsFar } from "./sealed-fields.ts";
import type { SealedState } from "./sealed-value.ts";
import { orderUpcasters, type Stored, type Upcaster } from "./upcasting.ts";

/** A domain event: its type and its data, payloads not yet decoded. */
export interface DomainEvent {
  readonly type: string;
  readonly data: object;
}

/** Where and when an event was recorded. `recordedAt` is the store's clock, for people; `metadata` is as stored. */
export interface Place {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: Position;
  readonly recordedAt: number;
  readonly metadata: JsonObject;
}

export type Decoded<E extends DomainEvent> = E & Place;

export interface EventCodec<E extends DomainEvent> {
  /**
   * The event as a store takes it. `id` defaults to a new UUID; `attributes` are kept in the metadata.
   * @throws RangeError for a number that JSON cannot hold, TypeError for a type that is not in the catalogue.
   */
  encode(event: E, id?: string, attributes?: JsonObject): EventData;
  decode(recorded: RecordedEvent): Either<EventDecodeError, Decoded<E>>;
}

export interface EventCodecOptions {
  /** What each event type consists of, by its tag. */
  readonly schemas: Readonly<Record<string, EventSchema>>;
  /** One step for every older version of every type. Default: none. */
  readonly upcasters?: readonly Upcaster[];
}

const PLAIN_METADATA = new Map<number, JsonObject>();
const plainMetadata = (v: number): JsonObject => {
  const known = PLAIN_METADATA.get(v);
  if (known !== undefined) return known;
  const metadata = Object.freeze({ v });
  PLAIN_METADATA.set(v, metadata);
  return metadata;
};

const metadataOf = (
  schema: EventSchema,
  types: JsonObject | undefined,
  attributes: JsonObject | undefined,
): JsonObject => {
  if (types === undefined && attributes === undefined) return plainMetadata(schema.version);
  return { ...attributes, v: schema.version, ...(types === undefined ? {} : { types }) };
};

const writeNumber = (type: string, schema: EventSchema, field: string, value: number): number | null => {
  if (Number.isFinite(value)) return value;
  if (field === schema.limit && value === Number.POSITIVE_INFINITY) return null;
  throw new RangeError(`${type}.${field} is ${value}, which no event can hold. Give a finite number.`);
};

const encodeWith = (
  schema: EventSchema,
  event: DomainEvent,
  id: string,
  attributes?: JsonObject,
): EventData => {
  const data: Record<string, Json> = {};
  let types: Record<string, Json> | undefined;
  const given = event.data as Readonly<Record<string, unknown>>;
  for (const field of Object.keys(given)) {
    const value = given[field];
    if (value === undefined) continue;
    if (holdsPayload(schema, field)) {
      const payload = value as Payload;
      data[field] = payload.json;
      if (payload.types !== undefined) types = { ...types, [field]: payload.types };
    } else {
      data[field] =
        typeof value === "number" ? writeNumber(event.type, schema, field, value) : (value as Json);
    }
  }
  return { id, type: event.type, data, metadata: metadataOf(schema, types, attributes) };
};

export const createEventCodec = <E extends DomainEvent>(options: EventCodecOptions): EventCodec<E> => {
  const schemas = new Map(Object.entries(options.schemas));
  const payloads = new Map([...schemas].map(([type, schema]) => [type, payloadsOf(schema)]));
  const steps = orderUpcasters(schemas, options.upcasters ?? []);

  const upcast = (recorded: RecordedEvent, version: number): Stored => {
    let stored: Stored = recorded;
    for (const step of steps.get(recorded.type)?.slice(version - 1) ?? []) stored = step(stored);
    return stored;
  };

  const decode = (recorded: RecordedEvent): Either<EventDecodeError, Decoded<E>> => {
    const schema = schemas.get(recorded.type);
    if (schema === undefined) return left(new EventDecodeError("UnknownType", recorded));
    const version: unknown = isJsonObject(recorded.metadata) ? recorded.metadata.v : undefined;
    if (typeof version !== "number" || !Number.isInteger(version) || version < 1) {
      return left(new EventDecodeError("Malformed", recorded, { paths: ["metadata.v"] }));
    }
    if (version > schema.version) {
      return left(new EventDecodeError("NewerVersion", recorded, { version, known: schema.version }));
    }
    let stored: Stored = recorded;
    let sealed = nothingSealed;
    if (recorded.metadata.sealed !== undefined) {
      const opened = openedAsFar(recorded, schema);
      if (opened._tag === "Left") return opened;
      stored = opened.right.event;
      sealed = opened.right.sealed;
    }
    if (version < schema.version) {
      try {
        stored = upcast({ ...recorded, ...stored }, version);
      } catch (cause) {
        return left(new EventDecodeError("Malformed", recorded, { version, cause }));
      }
    }
    const checked = schema.stored.decode(stored.data);
    if (checked._tag === "Left") {
      return left(
        new EventDecodeError("Malformed", recorded, { version, paths: pathsOf("data", checked.left) }),
      );
    }
    let data: object = checked.right;
    for (const field of payloads.get(recorded.type) ?? NO_FIELDS) {
      if (!(field in checked.right)) continue;
      const { types } = stored.metadata;
      if (types !== undefined && !isJsonObject(types)) {
        return left(new EventDecodeError("Malformed", recorded, { version, paths: ["metadata.types"] }));
      }
      const unread = sealed.get(field);
      const payload =
        unread === undefined
          ? payloadOf(checked.right[field] as Json, types?.[field])
          : { json: null, sealed: unread };
      data = { ...data, [field]: payload };
    }
    for (const field of sealed.size > 0 ? Object.keys(schema.failures ?? {}) : NO_FIELDS) {
      if (sealed.has(field))
        data = { ...data, [field]: { ...failureIn(checked.right, field), sealed: sealed.get(field) } };
    }
    return right({
      type: recorded.type,
      data,
      id: recorded.id,
      stream: recorded.stream,
      revision: recorded.revision,
      position: recorded.position,
      recordedAt: recorded.recordedAt,
      metadata: recorded.metadata,
    } as unknown as Decoded<E>);
  };

  const encode = (event: E, id: string = newEventId(), attributes?: JsonObject): EventData => {
    const schema = schemas.get(event.type);
    if (schema === undefined) throw new TypeError(`Event type ${event.type} is not in the catalogue.`);
    return encodeWith(schema, event, id, attributes);
  };

  return { encode, decode };
};

const NO_FIELDS: readonly string[] = [];
const nothingSealed: ReadonlyMap<string, SealedState> = new Map();

const failureIn = (data: JsonObject, field: string): object => data[field] as JsonObject;

const payloadOf = (json: Json, types: Json | undefined): Payload =>
  types === undefined ? { json } : { json, types };
