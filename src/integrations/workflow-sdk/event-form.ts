/**
 * Between an event as the Workflow SDK knows it and the fact that a run's stream holds (src/events/sdk-runs.ts).
 *
 * Invariants:
 * - V1 What is read back equals what was written, types included: dates, bytes, and values of any kind that the payload codec carries;
 *   what it cannot carry is refused with the path.
 */
import { type Either, map } from "fp-ts/lib/Either.js";
import type { EventDecodeError } from "../../events/event-decode-error.ts";
import type { EventData, RecordedEvent } from "../../events/event-log.ts";
import { decodePayload, encodePayload, type Payload } from "../../events/payload.ts";
import { decodeSdkEvent, encodeSdkEvent } from "../../events/sdk-codec.ts";
import {
  SDK_PAYLOAD_FIELDS,
  type SdkBytes,
  type SdkEvent,
  type SdkEventName,
  sdkNameOf,
  sdkTypeOf,
} from "../../events/sdk-runs.ts";
import { runIdOf } from "../../events/stream-names.ts";
import type { Event, ResolveData } from "../../executor/world-events.ts";

/** Fields of an event, whichever type it has. */
type EventFields = Readonly<Record<string, unknown>>;

/** An event's data, whichever type it has; empty where it has none. */
const dataOf = (event: { readonly eventData?: unknown }): EventFields =>
  (event.eventData ?? {}) as EventFields;

/** As a store takes it. Throws PayloadError for what cannot be carried. */
export const toStored = (event: Event): EventData => {
  const { eventType, eventId, createdAt, occurredAt, correlationId, specVersion } = event;
  const field: string | undefined = SDK_PAYLOAD_FIELDS[eventType];
  const { rest, bytes } = splitBytes(dataOf(event), field);
  const eventData = Object.keys(rest).length === 0 ? undefined : encodePayload(rest, "eventData");
  return encodeSdkEvent({
    type: sdkTypeOf(eventType),
    data: {
      eventId,
      createdAt: createdAt.getTime(),
      ...(occurredAt !== undefined && { occurredAt: occurredAt.getTime() }),
      ...(correlationId !== undefined && { correlationId }),
      ...(specVersion !== undefined && { specVersion }),
      ...(eventData !== undefined && { eventData }),
      ...(bytes !== undefined && { bytes: bytesToStored(bytes) }),
    },
  });
};

/** As the SDK knows it. */
export const fromStored = (recorded: RecordedEvent): Either<EventDecodeError, Event> =>
  map((event: SdkEvent) => asEvent(runIdOf(recorded.stream) ?? "", event))(decodeSdkEvent(recorded));

const asEvent = (runId: string, { type, data }: SdkEvent): Event => {
  const { eventId, createdAt, occurredAt, correlationId, specVersion } = data;
  const eventType = sdkNameOf(type) as SdkEventName;
  const field: string | undefined = SDK_PAYLOAD_FIELDS[eventType];
  const eventData = decodePayload(data.eventData, "eventData") as Record<string, unknown> | undefined;
  const whole =
    data.bytes === undefined || field === undefined
      ? eventData
      : { ...eventData, [field]: bytesFromStored(data.bytes) };
  return {
    eventType,
    runId,
    eventId,
    createdAt: new Date(createdAt),
    ...(occurredAt !== undefined && { occurredAt: new Date(occurredAt) }),
    ...(correlationId !== undefined && { correlationId }),
    ...(specVersion !== undefined && { specVersion }),
    ...(whole !== undefined && { eventData: whole }),
  } as Event;
};

const splitBytes = (
  data: EventFields,
  field: string | undefined,
): { readonly rest: Record<string, unknown>; readonly bytes?: Uint8Array } => {
  const rest: Record<string, unknown> = {};
  let bytes: Uint8Array | undefined;
  for (const [key, value] of Object.entries(data)) {
    if (value === undefined) continue;
    if (key === field && value instanceof Uint8Array) bytes = value;
    else rest[key] = value;
  }
  return bytes === undefined ? { rest } : { rest, bytes };
};

const strictly = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Text where the bytes are text, so that people can read what was not compressed or encrypted. */
export const bytesToStored = (bytes: Uint8Array): SdkBytes => {
  try {
    return { text: strictly.decode(bytes) };
  } catch {
    return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
  }
};

const encoder = new TextEncoder();

export const bytesFromStored = (stored: SdkBytes): Uint8Array =>
  "text" in stored ? encoder.encode(stored.text) : new Uint8Array(Buffer.from(stored.base64, "base64"));

/** A queue's message as it is stored. */
export const messageToStored = (message: object): Payload =>
  encodePayload(message, "message") ?? { json: null };

/** The event, without its payload where `resolveData` is `"none"`. */
export const resolved = (event: Event, resolveData: ResolveData | undefined): Event => {
  const field: string | undefined = SDK_PAYLOAD_FIELDS[event.eventType];
  if (resolveData !== "none" || event.eventData === undefined || field === undefined) return event;
  const { [field]: _payload, ...rest } = dataOf(event);
  const { eventData: _whole, ...bare } = event;
  return (Object.keys(rest).length === 0 ? bare : { ...bare, eventData: rest }) as Event;
};
