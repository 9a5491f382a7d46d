/**
 * The EventLog port: an append-only log of named streams, which every store implements and everything else reads and writes.
 *
 * It is not a database: there is no update, no delete and no query, and it knows nothing of runs or workflows.
 *
 * Invariants, held by the conformance suite (`runstream/testing`):
 * - P1 A stream's revisions are 0, 1, 2, … without a gap; an append writes all of its events, next to each other, or none.
 * - P2 An append whose `expected` is not the stream's state writes nothing and answers `WrongExpectedRevision` with that state.
 * - P3 Positions order the whole log. They are opaque: only `comparePositions` and a store may look into one.
 * - P4 Acknowledged means durable, as far as the store promises durability at all.
 * - P5 A subscription sees every matching event at least once, in log order, across the seam between catching up and live.
 * - P6 A group hands each matching event to one consumer at a time until it is acked, and the events of one stream to the same
 *   consumer while that lives; a consumer that dies loses what it had not acked to the others.
 * - P7 No method throws for what the store or its disk does: failures are values of {@link AppendError}, or, in iterations and
 *   observables, a {@link StoreError}.
 */
import type { TaskEither } from "fp-ts/lib/TaskEither.js";
import type { Observable } from "rxjs";
import type { JsonObject } from "./json.ts";

/** A place in the whole log. Ordered by {@link comparePositions}; the text form is stable and may be stored as a checkpoint. */
export type Position = string & { readonly __brand: "Position" };

/** What a stream must look like for an append to be written: absent or empty, anything at all, or exactly at this last revision. */
export type ExpectedRevision = "none" | "any" | number;

/** An event to be appended. `id` is a UUID, unique per intended event: an unknown outcome is settled by looking for it. */
export interface EventData {
  readonly id: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly metadata: JsonObject;
}

/** An event as the log holds it. `recordedAt` is the store's clock in epoch milliseconds: for people, never for decisions. */
export interface RecordedEvent extends EventData {
  readonly stream: string;
  readonly revision: number;
  readonly position: Position;
  readonly recordedAt: number;
}

/** Where an append ended: the stream's new last revision, and the position of the append's last event. */
export interface Appended {
  readonly revision: number;
  readonly position: Position;
}

/** Why an append was not acknowledged. Tell them apart by `_tag` only; `cause` keeps what the client or the disk said. */
export type AppendError =
  /** The stream is elsewhere: `actual` is its last revision, or `"none"` when it has no events. Nothing was written. */
  | { readonly _tag: "WrongExpectedRevision"; readonly stream: string; readonly actual: number | "none" }
  /** The store cannot be reached or cannot write now (busy, disk full, read-only, closed). Nothing was written. */
  | { readonly _tag: "Unavailable"; readonly reason: string; readonly cause?: unknown }
  /** The store did not say whether it wrote. Read the stream's tail and look for the ids before anything else. */
  | { readonly _tag: "UnknownOutcome"; readonly reason: string; readonly cause?: unknown }
  /** An event, or the append, is larger than the store takes: `limit` in bytes. Nothing was written. */
  | { readonly _tag: "TooLarge"; readonly limit: number; readonly actual: number }
  /** The stream was deleted for good and takes no more events. */
  | { readonly _tag: "StreamGone"; readonly stream: string }
  /** What the store holds is damaged, or is not what this version of Runstream can read. Nothing was written. */
  | { readonly _tag: "Corrupt"; readonly reason: string; readonly cause?: unknown };

/** Which events a read, subscription or group is about. Both parts must hold; an absent part holds for all. */
export interface EventFilter {
  /** The stream's name starts with this. */
  readonly streamPrefix?: string;
  /** The event's type is one of these. */
  readonly types?: readonly string[];
}

export interface ReadOptions {
  /** `"forwards"` (default) or `"backwards"`. */
  readonly direction?: "forwards" | "backwards";
  /** First revision to answer, inclusive. Default: the first one forwards, the last one backwards. */
  readonly from?: number;
  /** Answer at most this many events. Default: all. */
  readonly max?: number;
}

export interface ReadAllOptions {
  /** Answer events strictly after this position. Default: from the beginning. */
  readonly after?: Position;
  readonly filter?: EventFilter;
  /** Answer at most this many matching events. Default: all that are there when the read reaches them. */
  readonly max?: number;
}

export interface SubscribeOptions {
  /** Start strictly after this position, at the beginning of the log (`"start"`), or with what comes next (`"end"`). */
  readonly after: Position | "start" | "end";
  readonly filter?: EventFilter;
}

/** Said once by a subscription when it has delivered all that was there and goes live; `position` is as far as it has looked. */
export interface CaughtUp {
  readonly _tag: "CaughtUp";
  readonly position: Position | undefined;
}

export interface ConsumeOptions {
  readonly filter?: EventFilter;
  /** How many events this consumer may hold unacked; the store gives it no more until it acks. Default 1,024. */
  readonly maxInFlight?: number;
}

/** One delivery of a group: the event, how often it was handed out before, and the two answers, of which one must be given. */
export interface Consumed {
  readonly event: RecordedEvent;
  /** 0 on the first delivery. */
  readonly redeliveries: number;
  /** Done: never deliver this event to the group again. Answers when that is recorded, or at once where recording is gathered. */
  ack(): void;
  /** Not done: `"retry"` hands it out again after `delayMs` (default 0), or when this consumer leaves; `"park"` sets it aside, with the reason, for an operator. */
  nack(action: "retry" | "park", reason: string, delayMs?: number): void;
}

export interface EventLog {
  /** Writes all events to the end of `stream`, or none. An empty list writes nothing and answers the stream's state if `expected` holds. */
  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventData[],
  ): TaskEither<AppendError, Appended>;
  /** The events of one stream; nothing for a stream that does not exist. */
  read(stream: string, options?: ReadOptions): AsyncIterable<RecordedEvent>;
  /** The events of all streams in log order. */
  readAll(options?: ReadAllOptions): AsyncIterable<RecordedEvent>;
  /** Catches up, says {@link CaughtUp}, and goes on live until unsubscribed. */
  subscribe(options: SubscribeOptions): Observable<RecordedEvent | CaughtUp>;
  /**
   * Takes part in the consumer group `group`, which is made when it does not exist and then starts at the beginning of the log.
   * Unsubscribing hands back what was not acked.
   */
  consume(group: string, options?: ConsumeOptions): Observable<Consumed>;
  /** The position of the last event in the log; `undefined` while the log is empty. */
  head(): Promise<Position | undefined>;
  /** Closes what was opened: files, timers, subscriptions (they complete). Later appends answer `Unavailable`. Idempotent. */
  close(): Promise<void>;
}

/** Says which of two positions of one log is the earlier: negative, 0 or positive. */
export const comparePositions = (a: Position, b: Position): number =>
  a.length !== b.length ? a.length - b.length : a < b ? -1 : a > b ? 1 : 0;

/** Does `event` pass `filter`? */
export const passes = (filter: EventFilter | undefined, stream: string, type: string): boolean =>
  filter === undefined ||
  ((filter.streamPrefix === undefined || stream.startsWith(filter.streamPrefix)) &&
    (filter.types === undefined || filter.types.includes(type)));
