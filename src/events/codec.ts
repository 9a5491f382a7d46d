/**
 * Runstream's own events, to and from a stream. No version older than today's has been released, so there is nothing to upcast.
 */
import { type Either, left } from "fp-ts/lib/Either.js";
import {
  type HistoryEvent,
  isSdkEvent,
  isThreadEvent,
  RUN_EVENTS,
  type RunEvent,
  THREAD_EVENTS,
  type ThreadEvent,
  TOKEN_EVENTS,
  type TokenReserved,
} from "./catalogue.ts";
import { createEventCodec, type Decoded } from "./event-codec.ts";
import { EventDecodeError } from "./event-decode-error.ts";
import type { EventData, RecordedEvent } from "./event-log.ts";
import type { JsonObject } from "./json.ts";
import { decodeSdkEvent, encodeSdkEvent } from "./sdk-codec.ts";
import type { SdkEvent } from "./sdk-runs.ts";

export type { Decoded } from "./event-codec.ts";
export { EventDecodeError } from "./event-decode-error.ts";

const runCodec = createEventCodec<RunEvent>({ schemas: RUN_EVENTS });
const threadCodec = createEventCodec<ThreadEvent>({ schemas: THREAD_EVENTS });
const tokenCodec = createEventCodec<TokenReserved>({ schemas: TOKEN_EVENTS });

export type DecodedRunEvent = Decoded<RunEvent>;
export type DecodedThreadEvent = Decoded<ThreadEvent>;
export type DecodedHistoryEvent = DecodedRunEvent | DecodedThreadEvent | Decoded<SdkEvent>;
export type DecodedTokenEvent = Decoded<TokenReserved>;

/**
 * The event as a store takes it: payloads as plain JSON, their type notes in the metadata. `id` defaults to a new random UUID;
 * `attributes` are further metadata, kept as they are.
 * @throws RangeError for a number that JSON cannot hold: an instant that is NaN or infinite.
 */
export const encodeEvent = (
  event: HistoryEvent | TokenReserved,
  id?: string,
  attributes?: JsonObject,
): EventData => {
  if (event.type === "TokenReserved") return tokenCodec.encode(event, id, attributes);
  if (isSdkEvent(event)) return encodeSdkEvent(event, id, attributes);
  return isThreadEvent(event)
    ? threadCodec.encode(event, id, attributes)
    : runCodec.encode(event, id, attributes);
};

/** An event of a run's stream, checked. Its payloads are still encoded. A thread's event, or the Workflow SDK's, is refused as one. */
export const decodeRunEvent = (recorded: RecordedEvent): Either<EventDecodeError, DecodedRunEvent> => {
  if (Object.hasOwn(RUN_EVENTS, recorded.type)) return runCodec.decode(recorded);
  if (isThreadEvent(recorded)) return left(new EventDecodeError("OfThread", recorded));
  return isSdkEvent(recorded) ? left(new EventDecodeError("OfSdkRun", recorded)) : runCodec.decode(recorded);
};

/** An event of a thread's stream, checked. Its payloads are still encoded. A run's event is refused as one. */
export const decodeThreadEvent = (recorded: RecordedEvent): Either<EventDecodeError, DecodedThreadEvent> =>
  Object.hasOwn(RUN_EVENTS, recorded.type) || isSdkEvent(recorded)
    ? left(new EventDecodeError("OfRun", recorded))
    : threadCodec.decode(recorded);

/** An event of the stream of a run of whichever kind, or of a thread, checked. Its payloads are still encoded. */
export const decodeHistoryEvent = (
  recorded: RecordedEvent,
): Either<EventDecodeError, DecodedHistoryEvent> => {
  if (isSdkEvent(recorded)) return decodeSdkEvent(recorded);
  return isThreadEvent(recorded) ? threadCodec.decode(recorded) : runCodec.decode(recorded);
};

/** The event of a token's stream, checked. */
export const decodeTokenEvent = (recorded: RecordedEvent): Either<EventDecodeError, DecodedTokenEvent> =>
  tokenCodec.decode(recorded);
