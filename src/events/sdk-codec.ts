/** The facts of runs of the Workflow SDK, to and from a stream. */
import type { Either } from "fp-ts/lib/Either.js";
import { createEventCodec, type Decoded } from "./event-codec.ts";
import type { EventDecodeError } from "./event-decode-error.ts";
import type { EventData, RecordedEvent } from "./event-log.ts";
import type { JsonObject } from "./json.ts";
import { SDK_RUN_EVENTS, type SdkEvent } from "./sdk-runs.ts";

const codec = createEventCodec<SdkEvent>({ schemas: SDK_RUN_EVENTS });

/** The event as a store takes it. Throws RangeError for an instant that JSON cannot hold. */
export const encodeSdkEvent = (event: SdkEvent, id?: string, attributes?: JsonObject): EventData =>
  codec.encode(event, id, attributes);

/** An event of an SDK run's stream, checked. */
export const decodeSdkEvent = (recorded: RecordedEvent): Either<EventDecodeError, Decoded<SdkEvent>> =>
  codec.decode(recorded);
