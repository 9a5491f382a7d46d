/**
 * Runstream's own events, to and from a stream. No version older than today's has been released, so there is nothing to upcast.
 */
import type { Either } from "fp-ts/lib/Either.js";
import { RUN_EVENTS, type RunEvent, TOKEN_EVENTS, type TokenReserved } from "./catalogue.ts";
import { createEventCodec, type Decoded } from "./event-codec.ts";
import type { EventDecodeError } from "./event-decode-error.ts";
import type { EventData, RecordedEvent } from "./event-log.ts";
import type { JsonObject } from "./json.ts";

export type { Decoded } from "./event-codec.ts";
export { EventDecodeError } from "./event-decode-error.ts";

const runCodec = createEventCodec<RunEvent>({ schemas: RUN_EVENTS });
const tokenCodec = createEventCodec<TokenReserved>({ schemas: TOKEN_EVENTS });

export type DecodedRunEvent = Decoded<RunEvent>;
export type DecodedTokenEvent = Decoded<TokenReserved>;

/**
 * The event as a store takes it: payloads as plain JSON, their type notes in the metadata. `id` defaults to a new random UUID;
 * `attributes` are further metadata, kept as they are.
 * @throws RangeError for a number that JSON cannot hold: an instant that is NaN or infinite.
 */
export const encodeEvent = (
  event: RunEvent | TokenReserved,
  id?: string,
  attributes?: JsonObject,
): EventData =>
  event.type === "TokenReserved"
    ? tokenCodec.encode(event, id, attributes)
    : runCodec.encode(event, id, attributes);

/** An event of a run's stream, checked. Its payloads are still encoded. */
export const decodeRunEvent = (recorded: RecordedEvent): Either<EventDecodeError, DecodedRunEvent> =>
  runCodec.decode(recorded);

/** The event of a token's stream, checked. */
export const decodeTokenEvent = (recorded: RecordedEvent): Either<EventDecodeError, DecodedTokenEvent> =>
  tokenCodec.decode(recorded);
