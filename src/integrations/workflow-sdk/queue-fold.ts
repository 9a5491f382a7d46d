/**
 * The fold of a run's queue: which messages are pending, and which of them hold a key.
 *
 * Invariants:
 * - U1 A key is held by a pending message, and by nothing else: it is free the moment its message is done.
 */
import { right } from "fp-ts/lib/Either.js";
import {
  decodeSdkQueueEvent,
  encodeSdkQueueEvent,
  type SdkMessageQueued,
  type SdkQueueEvent,
} from "../../events/sdk-queue.ts";
import type { Decide, Fold } from "./stream-session.ts";

export interface QueueState {
  revision: number;
  /** Pending messages and their keys. */
  readonly pending: Map<string, string | undefined>;
  readonly byKey: Map<string, string>;
}

export const queueFold: Fold<QueueState, SdkQueueEvent> = {
  empty: () => ({ revision: -1, pending: new Map(), byKey: new Map() }),
  fork: ({ revision, pending, byKey }) => ({
    revision,
    pending: new Map(pending),
    byKey: new Map(byKey),
  }),
  evolve: (state, event) => {
    state.revision += 1;
    const { messageId } = event.data;
    if (event.type === "SdkMessageQueued") {
      const { key } = event.data;
      state.pending.set(messageId, key);
      if (key !== undefined) state.byKey.set(key, messageId);
      return;
    }
    const key = state.pending.get(messageId);
    state.pending.delete(messageId);
    if (key !== undefined && state.byKey.get(key) === messageId) state.byKey.delete(key);
  },
  encode: encodeSdkQueueEvent,
  decode: decodeSdkQueueEvent,
};

/** Puts a message into the queue, unless one with its key is pending. Answers the id of the message that is pending then. */
export const decideSend =
  (message: SdkMessageQueued["data"]): Decide<QueueState, SdkQueueEvent, string> =>
  ({ byKey }) => {
    const pending = message.key === undefined ? undefined : byKey.get(message.key);
    return pending === undefined
      ? right({ events: [{ type: "SdkMessageQueued", data: message }], answer: () => message.messageId })
      : right({ events: [], answer: () => pending });
  };

/** The message was handled. It may have been before. */
export const decideDone =
  (messageId: string, at: number): Decide<QueueState, SdkQueueEvent, void> =>
  ({ pending }) =>
    right({
      events: pending.has(messageId) ? [{ type: "SdkMessageDone", data: { messageId, at } }] : [],
      answer: () => {},
    });
