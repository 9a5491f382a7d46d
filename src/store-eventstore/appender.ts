/**
 * Appends, each with the outcome it really had: an answer that did not come is asked for again until it is known.
 *
 * The server takes a repetition of the same events at the same expected revision for the same append, as long as the revision is
 * explicit; that is what makes asking again safe.
 * - A1 An unknown outcome is followed by the identical append, and a refused revision then by a look at what stands in the append's
 *   place: the same ids mean that it was written, others that it never will be.
 * - A2 What the server answers from memory is no append: one whose position was known to this process before it was asked is an earlier
 *   one with the same ids, and the expectation does not hold any more.
 * - A3 Only where the caller says `"any"` is the server told so, and then its memory of ids is not relied on.
 * - A4 An append is answered within a deadline for each try and {@link AppenderOptions.retryForMs} for all of them.
 */
import type { AppendResult, ExpectedRevision as ServerRevision } from "@eventstore/db-client";
import { type Either, left, right } from "fp-ts/lib/Either.js";
import {
  type AppendError,
  type Appended,
  comparePositions,
  type ExpectedRevision,
  type Position,
} from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";
import type { AppendConnection } from "./append-connection.ts";
import {
  closedTrouble,
  failureOf,
  isOfTheCall,
  limitOf,
  reasonOf,
  unavailable,
  wordsOf,
} from "./client-errors.ts";
import { within } from "./connection.ts";
import { writeName } from "./names.ts";
import type { AppendMode } from "./options.ts";
import { pause } from "./pauses.ts";
import { BEGINNING, positionOf } from "./positions.ts";
import type { Reader } from "./reader.ts";
import type { Outgoing } from "./records.ts";

export interface AppenderOptions {
  /** How long one call may take, in ms. */
  readonly deadlineMs: number;
  /** For how long an append without a known outcome is tried again, in ms. */
  readonly retryForMs: number;
  readonly appends: AppendMode;
}

type Answer = Either<AppendError, Appended>;

interface Append {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly outgoing: Outgoing;
}

/** How far an append looks back for its ids where its place in the stream is not known (A3). */
const LOOK_BACK = 64;
/** Revisions of a stream that is written to by others at the same time, tried one after the other. */
const RACES = 32;
const LONGEST_PAUSE_MS = 1_000;

export class Appender {
  readonly #connection: AppendConnection;
  readonly #reader: Reader;
  readonly #server: string;
  readonly #options: AppenderOptions;
  /** The highest position that was answered to this process (A2). */
  #known: Position = BEGINNING;
  /** By what they have in common: the end of the last of the appends that are made one after the other. */
  readonly #turns = new Map<string, Promise<void>>();
  #closed = false;

  constructor(connection: AppendConnection, reader: Reader, server: string, options: AppenderOptions) {
    this.#connection = connection;
    this.#reader = reader;
    this.#server = server;
    this.#options = options;
  }

  /** Appends under way are tried no further, and none is begun. */
  close(): void {
    this.#closed = true;
  }

  /**
   * `"any"` appends to one stream are written in the order in which they were asked for, which takes one after the other: to the server
   * they are calls at the same time. So are appends with the same ids, of which the server would take those at the same time for one (A2). Never rejects for what the server or
   * the network does.
   */
  async append(stream: string, expected: ExpectedRevision, outgoing: Outgoing): Promise<Answer> {
    const turn = expected === "any" ? `stream ${stream}` : `id ${outgoing.ids[0]}`;
    const before = this.#turns.get(turn);
    const make = () => this.#append(stream, expected, outgoing);
    const answer = before === undefined ? make() : before.then(make);
    const settled = answer.then(
      () => {},
      () => {},
    );
    this.#turns.set(turn, settled);
    try {
      return await answer;
    } finally {
      if (this.#turns.get(turn) === settled) this.#turns.delete(turn);
    }
  }

  async #append(stream: string, expected: ExpectedRevision, outgoing: Outgoing): Promise<Answer> {
    if (this.#closed) return left(closedTrouble(this.#server));
    try {
      const append = { stream, expected, outgoing };
      if (outgoing.events.length === 0) return await this.#nothing(append);
      if (typeof expected === "number" && !(Number.isSafeInteger(expected) && expected >= 0))
        return await this.#conflict(stream);
      return await this.#pursue(append);
    } catch (error) {
      if (StoreError.is(error)) return left(error.error);
      throw error;
    }
  }

  /** An empty append: the client would send it, and the server's answer to one is best avoided. */
  async #nothing({ stream, expected }: Append): Promise<Answer> {
    const end = await this.#reader.end(stream);
    const holds =
      expected === "any" || (expected === "none" ? end === undefined : end?.revision === expected);
    if (!holds) return left({ _tag: "WrongExpectedRevision", stream, actual: end?.revision ?? "none" });
    return right({ revision: end?.revision ?? -1, position: end?.position ?? BEGINNING });
  }

  async #conflict(stream: string): Promise<Answer> {
    const end = await this.#reader.end(stream);
    return left({ _tag: "WrongExpectedRevision", stream, actual: end?.revision ?? "none" });
  }

  /**
   * Tries until the outcome is known, or time is up. `before` is why an earlier try elsewhere in the stream may have been written: as
   * long as it may, nothing is answered that says that it was not.
   */
  async #pursue(append: Append, before?: unknown): Promise<Answer> {
    const known = this.#known;
    const until = performance.now() + this.#options.retryForMs;
    let doubt = before;
    for (let failures = 1; ; failures += 1) {
      try {
        if (doubt !== undefined && append.expected === "any") return await this.#atItsEnd(append, doubt);
        return await this.#settled(append, await this.#call(append), known);
      } catch (error) {
        const answer = await this.#definite(append, error, doubt);
        if (answer !== undefined) return answer;
        if (failureOf(error) !== "not leader" || this.#isShared(error)) doubt ??= error;
        if (this.#closed || performance.now() >= until) return this.#unanswered(append, error, doubt);
        await pause(failures, LONGEST_PAUSE_MS);
      }
    }
  }

  /** What an error says for certain about the append; `undefined` where it says nothing yet, and another try may tell. */
  async #definite(append: Append, error: unknown, doubt: unknown): Promise<Answer | undefined> {
    const { stream, outgoing } = append;
    const doubtful = doubt !== undefined;
    if (this.#isShared(error) && !this.#broughtOn(append, error)) return undefined;
    switch (failureOf(error)) {
      case "wrong revision":
        if (!doubtful && append.expected !== "any") return left(refusal(stream, error));
        return readable(append.expected === "any" ? this.#atItsEnd(append, doubt) : this.#found(append));
      case "stream deleted":
        return left({ _tag: "StreamGone", stream });
      case "too large":
        return left({ _tag: "TooLarge", limit: limitOf(error), actual: outgoing.bytes });
      case "denied":
      case "unsupported":
      case "invalid":
      case "unreachable":
      case "busy":
        return doubtful ? undefined : left(unavailable(this.#server, this.#said(error), error));
      default:
        return undefined;
    }
  }

  /** Is it about the one stream of all batched appends, and says nothing about any of them? Where there was no stream, none was sent. */
  #isShared(error: unknown): boolean {
    return this.#options.appends === "batch" && isOfTheCall(error) && failureOf(error) !== "unreachable";
  }

  /** Did this append break the stream, by its own size? */
  #broughtOn({ outgoing }: Append, error: unknown): boolean {
    return failureOf(error) === "too large" && outgoing.bytes > limitOf(error);
  }

  #said(error: unknown): string {
    return reasonOf(this.#server, error).slice(this.#server.length + 2);
  }

  #unanswered({ stream, outgoing }: Append, error: unknown, doubt: unknown): Answer {
    if (doubt === undefined) return left(unavailable(this.#server, this.#said(error), error));
    const reason = `${this.#server}: it is not known whether ${outgoing.events.length} event(s) were written to stream ${JSON.stringify(stream)} (${wordsOf(doubt)}); read the stream's end and look for their ids`;
    return left({ _tag: "UnknownOutcome", reason, cause: doubt });
  }

  async #call({ stream, expected, outgoing }: Append, at?: ServerRevision): Promise<AppendResult> {
    const { deadlineMs } = this.#options;
    const options = {
      expectedRevision: at ?? serverRevision(expected),
      deadline: deadlineMs,
      requiresLeader: true,
    };
    return this.#connection.append((client) =>
      within(
        client.appendToStream(writeName(stream), [...outgoing.events], options),
        // Later than the client's own deadline, which says more; this one is for what the client does before that begins.
        deadlineMs + 1_000,
        `an append to stream ${JSON.stringify(stream)}`,
      ),
    );
  }

  /** The server says that the events are there: were they written by this append (A2)? */
  async #settled(append: Append, result: AppendResult, known: Position): Promise<Answer> {
    const revision = Number(result.nextExpectedRevision);
    const position = positionOf(result.position) ?? (await this.#positionAt(append.stream, revision));
    if (comparePositions(position, known) > 0) return right(this.#learnt({ revision, position }));
    return append.expected === "any" ? this.#atItsEnd(append) : this.#conflict(append.stream);
  }

  #learnt(appended: Appended): Appended {
    if (comparePositions(appended.position, this.#known) > 0) this.#known = appended.position;
    return appended;
  }

  async #positionAt(stream: string, revision: number): Promise<Position> {
    for await (const { position } of this.#reader.read(stream, { from: revision, max: 1 })) return position;
    const reason = `${this.#server}: stream ${JSON.stringify(stream)} has no event ${revision}, which the server has just acknowledged; it was deleted, or cut off by its metadata ($maxCount, $maxAge)`;
    throw new StoreError(reason, { _tag: "Corrupt", reason });
  }

  /** The append is refused although an earlier try of it may have been written: what stands in its place (A1)? */
  async #found({ stream, expected, outgoing }: Append): Promise<Answer> {
    const first = typeof expected === "number" ? expected + 1 : 0;
    const there = [];
    const { ids } = outgoing;
    for await (const event of this.#reader.read(stream, { from: first, max: ids.length })) there.push(event);
    const last = there.at(-1);
    const same = there.length === ids.length && there.every(({ id }, n) => id === ids[n]?.toLowerCase());
    if (!same || last === undefined) return this.#conflict(stream);
    return right(this.#learnt({ revision: last.revision, position: last.position }));
  }

  /** `"any"`, where the server mistakes the ids for those of an earlier append: at the revision that the stream has now (A3). */
  async #atItsEnd(append: Append, doubt?: unknown): Promise<Answer> {
    const { stream, outgoing } = append;
    for (let race = 0; race < RACES; race += 1) {
      const written = doubt !== undefined ? await this.#lookedBack(stream, outgoing.ids) : undefined;
      if (written !== undefined) return right(this.#learnt(written));
      const end = await this.#reader.end(stream);
      const at = end === undefined ? "none" : end.revision;
      const answer = await this.#pursue({ ...append, expected: at }, doubt);
      if (answer._tag === "Right" || answer.left._tag !== "WrongExpectedRevision") return answer;
    }
    if (doubt !== undefined) return this.#unanswered(append, doubt, doubt);
    return left(
      unavailable(
        this.#server,
        `stream ${JSON.stringify(stream)} is written to by so many that an append found no place; try again`,
      ),
    );
  }

  /** The append with these ids, if it is among the last events of the stream. */
  async #lookedBack(stream: string, ids: readonly string[]): Promise<Appended | undefined> {
    const wanted = ids.at(-1)?.toLowerCase();
    const options = { direction: "backwards", max: ids.length + LOOK_BACK } as const;
    for await (const { id, revision, position } of this.#reader.read(stream, options))
      if (id === wanted) return { revision, position };
    return undefined;
  }
}

/** `undefined` where the server could not be asked: another try may tell. Damage and the like is an answer. */
const readable = async (answer: Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await answer;
  } catch (error) {
    if (StoreError.is(error) && error.error._tag === "Unavailable") return undefined;
    throw error;
  }
};

const serverRevision = (expected: ExpectedRevision): ServerRevision =>
  expected === "none" ? "no_stream" : expected === "any" ? "any" : BigInt(expected);

const refusal = (stream: string, error: unknown): AppendError => {
  const { actualVersion } = error as { readonly actualVersion?: unknown };
  const actual = typeof actualVersion === "bigint" ? Number(actualVersion) : "none";
  return { _tag: "WrongExpectedRevision", stream, actual };
};
