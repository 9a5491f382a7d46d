/**
 * Reads: of one stream, of the whole log, of the log's end and of a stream's. The client cannot filter reads, so the whole log is read
 * as it is and filtered here.
 *
 * - D1 A read that breaks in the middle goes on behind what it has answered; one that makes no progress is given up after {@link TRIES}.
 * - D2 All reads are asked of the leader, so that what was acknowledged can be read.
 * - D3 A read begins only at places that the server named, and that are events.
 */
import type {
  AllStreamResolvedEvent,
  ReadPosition,
  ReadRevision,
  ResolvedEvent,
} from "@eventstore/db-client";
import {
  comparePositions,
  type Position,
  passes,
  type ReadAllOptions,
  type ReadOptions,
  type RecordedEvent,
} from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";
import { closedError, failureOf, LateError, storeErrorOf } from "./client-errors.ts";
import type { Connection } from "./connection.ts";
import { writeName } from "./names.ts";
import { pause } from "./pauses.ts";
import { positionOf, serverPosition } from "./positions.ts";
import { pull } from "./pull.ts";
import { recorded } from "./records.ts";

const TRIES = 4;
/** Events that the client keeps ready while the reader is busy. */
const AHEAD = { highWaterMark: 256 };

export interface StreamEnd {
  readonly revision: number;
  readonly position: Position | undefined;
}

export class Reader {
  readonly #connection: Connection;
  readonly #server: string;
  readonly #deadlineMs: number;
  #closed = false;

  constructor(connection: Connection, server: string, deadlineMs: number) {
    this.#connection = connection;
    this.#server = server;
    this.#deadlineMs = deadlineMs;
  }

  close(): void {
    this.#closed = true;
  }

  async *read(stream: string, options: ReadOptions = {}): AsyncGenerator<RecordedEvent, void, undefined> {
    const forwards = options.direction !== "backwards";
    let left = Math.ceil(options.max ?? Number.MAX_SAFE_INTEGER);
    let from: ReadRevision =
      options.from === undefined ? (forwards ? "start" : "end") : revisionAt(options.from, forwards);
    if (!forwards && (options.from ?? 0) < 0) return;
    const source = () =>
      this.#connection.client.readStream(
        writeName(stream),
        {
          direction: forwards ? "forwards" : "backwards",
          fromRevision: from,
          maxCount: Math.min(left, Number.MAX_SAFE_INTEGER),
          requiresLeader: true,
        },
        AHEAD,
      );
    const absent = (error: unknown): boolean => {
      const failure = failureOf(error);
      if (failure !== "stream deleted") return failure === "stream not found";
      const reason = `${this.#server}: stream ${JSON.stringify(stream)} was deleted for good (tombstoned)`;
      throw new StoreError(reason, { _tag: "StreamGone", stream });
    };
    if (left <= 0) return;
    for await (const { event } of this.#going(source, () => left <= 0, absent)) {
      const known = recorded(event);
      if (known === undefined) throw this.#foreign(stream, event?.revision);
      left -= 1;
      if (!forwards && known.revision === 0) left = 0;
      from = BigInt(Math.max(0, known.revision + (forwards ? 1 : -1)));
      yield known;
    }
  }

  async *readAll(options: ReadAllOptions = {}): AsyncGenerator<RecordedEvent, void, undefined> {
    let left = options.max ?? Number.MAX_SAFE_INTEGER;
    let { after } = options;
    if (left <= 0) return;
    const source = () =>
      this.#connection.client.readAll({ fromPosition: this.placeOf(after), requiresLeader: true }, AHEAD);
    for await (const { event } of this.#going<AllStreamResolvedEvent>(source, () => left <= 0)) {
      const position = positionOf(event?.position);
      if (position === undefined || (after !== undefined && comparePositions(position, after) <= 0)) continue;
      after = position;
      const known = recorded(event);
      if (known === undefined || !passes(options.filter, known.stream, known.type)) continue;
      left -= 1;
      yield known;
      if (left <= 0) return;
    }
  }

  /** The position of the last event in the log, the server's own events included. */
  async head(): Promise<Position | undefined> {
    const source = () =>
      this.#connection.client.readAll({
        direction: "backwards",
        fromPosition: "end",
        maxCount: 1,
        requiresLeader: true,
      });
    for await (const { event } of this.#going<AllStreamResolvedEvent>(source, () => false))
      return positionOf(event?.position);
    return undefined;
  }

  /** Where the stream ends now; `undefined` when it has no events. */
  async end(stream: string): Promise<StreamEnd | undefined> {
    for await (const event of this.read(stream, { direction: "backwards", max: 1 }))
      return { revision: event.revision, position: event.position };
    return undefined;
  }

  /** What the server must be told to begin at, or behind: `readAll` takes it with the event there, a subscription without. */
  placeOf(after: Position | undefined): ReadPosition {
    if (after === undefined) return "start";
    const place = serverPosition(after);
    if (place !== undefined) return place.commit === 0n && place.prepare === 0n ? "start" : place;
    const reason = `${this.#server}: ${JSON.stringify(after)} is no position of this log; it comes from another store`;
    throw new StoreError(reason, { _tag: "Corrupt", reason });
  }

  /** Reads on until the source ends, opening it again where it breaks (D1). `absent` says of an error that it is an end. */
  async *#going<T extends ResolvedEvent | AllStreamResolvedEvent>(
    source: () => Parameters<typeof pull<T>>[0],
    enough: () => boolean,
    absent: (error: unknown) => boolean = () => false,
  ): AsyncGenerator<T, void, undefined> {
    for (let failures = 0; ; ) {
      if (this.#closed) throw closedError(this.#server);
      try {
        for await (const item of pull<T>(source(), this.#deadlineMs)) {
          failures = 0;
          yield item;
          if (enough()) return;
        }
        return;
      } catch (error) {
        if (this.#closed) throw closedError(this.#server);
        if (absent(error)) return;
        failures += 1;
        if (failures >= TRIES || !isPassing(error)) throw storeErrorOf(this.#server, error);
        await pause(failures);
      }
    }
  }

  #foreign(stream: string, revision: bigint | undefined): StoreError {
    const reason = `${this.#server}: event ${revision} of stream ${JSON.stringify(stream)} is no JSON event, or not one of this log; something else writes to that stream`;
    return new StoreError(reason, { _tag: "Corrupt", reason });
  }
}

/** The first revision, in the direction of the read, at or behind `from`, which may lie between two, or beyond them all. */
const revisionAt = (from: number, forwards: boolean): bigint =>
  BigInt(Math.min(Math.max(0, forwards ? Math.ceil(from) : Math.floor(from)), Number.MAX_SAFE_INTEGER));

const PASSING: ReadonlySet<string> = new Set(["broken", "busy", "not leader", "timed out"]);

/** Another try may well succeed: the connection broke, the server was busy, or the client has just heard who the leader is. */
const isPassing = (error: unknown): boolean => !(error instanceof LateError) && PASSING.has(failureOf(error));
