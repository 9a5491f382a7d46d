/**
 * The facts of the queue that runs of the Workflow SDK are delivered by: one stream for each run, `sdk-queue-<runId>`.
 *
 * A message is pending from `SdkMessageQueued` until `SdkMessageDone`, whoever delivers it and how often.
 */
import type { Either } from "fp-ts/lib/Either.js";
import * as t from "io-ts";
import { createEventCodec, type Decoded } from "./event-codec.ts";
import type { EventDecodeError } from "./event-decode-error.ts";
import type { EventData, RecordedEvent } from "./event-log.ts";
import { type EventSchema, Finite, storedData } from "./event-schema.ts";
import type { Payload } from "./payload.ts";

/** A message to a queue of the SDK, not to be delivered before `deliverAt`. */
export type SdkMessageQueued = {
  readonly type: "SdkMessageQueued";
  readonly data: {
    readonly messageId: string;
    readonly queue: string;
    readonly message: Payload;
    /** No second message with this key while this one is pending. */
    readonly key?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly at: number;
    readonly deliverAt: number;
  };
};

/** The message was handled; its key is free again. */
export type SdkMessageDone = {
  readonly type: "SdkMessageDone";
  readonly data: { readonly messageId: string; readonly at: number };
};

export type SdkQueueEvent = SdkMessageQueued | SdkMessageDone;

const SDK_QUEUE_EVENTS = {
  SdkMessageQueued: {
    version: 1,
    payload: "message",
    stored: storedData(
      { messageId: t.string, queue: t.string, message: t.unknown, at: Finite, deliverAt: Finite },
      { key: t.string, headers: t.record(t.string, t.string) },
    ),
  },
  SdkMessageDone: { version: 1, stored: storedData({ messageId: t.string, at: Finite }) },
} as const satisfies Record<SdkQueueEvent["type"], EventSchema>;

const codec = createEventCodec<SdkQueueEvent>({ schemas: SDK_QUEUE_EVENTS });

/** The event as a store takes it. */
export const encodeSdkQueueEvent = (event: SdkQueueEvent): EventData => codec.encode(event);

/** An event of a queue's stream, checked. */
export const decodeSdkQueueEvent = (
  recorded: RecordedEvent,
): Either<EventDecodeError, Decoded<SdkQueueEvent>> => codec.decode(recorded);
