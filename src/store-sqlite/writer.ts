/**
 * Group commit: appends that gather in one turn of the event loop go out in one transaction, with one fsync.
 *
 * The flush waits for `setImmediate`, not for `process.nextTick`: an append often follows from an I/O callback, and the many
 * callbacks of one poll phase each end in a tick of their own. Measured with 9,600 appends, 64 in flight, each from an I/O
 * callback: 9,600 transactions with `nextTick`, 170 to 190 with `setImmediate`, and 6 to 40 times the time. Where each append
 * follows on the acknowledgement before it (150 transactions either way), and with one in flight, the two do not differ.
 *
 * - W1 Appends are decided in the order of their calls, each against what the ones before it leave.
 * - W2 A refused append writes nothing and leaves the others of its transaction alone.
 * - W3 Acknowledged means committed (and fsynced, with durability "full"). If the transaction fails, none of it is there.
 * - W4 Every append is answered, whatever happens to the connection.
 */
import * as Either from "fp-ts/lib/Either.js";
import type { AppendError, Appended, ExpectedRevision } from "../events/event-log.ts";
import type { Connection, Sync } from "./connection.ts";
import type { NameBook, StreamEntry } from "./name-book.ts";
import { type EncodedEvent, encodeTextId, isUuid, positionOf, WrittenEvent } from "./rows.ts";
import { isBusy, isFailedSync, type Trouble, troubleOf } from "./sqlite-errors.ts";
import { after, elapsed, nextTurn } from "./turns.ts";

export type Answer = Either.Either<AppendError, Appended>;

interface Pending {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly EncodedEvent[];
  readonly answer: (answer: Answer) => void;
}

/** What a transaction is about, told to those who ride along in it. */
export interface Transaction {
  /** The last position before this transaction's own events. */
  readonly before: number;
  readonly written: readonly WrittenEvent[];
  /** Has another connection written since the last transaction? */
  readonly foreign: boolean;
}

/** Somebody with rows of his own to write, who takes part in every transaction so that he needs none for himself. */
export interface Rider {
  /** Is there reason for a transaction even without an append? */
  wantsTransaction(): boolean;
  /** Inside the transaction, after the appended events. */
  ride(transaction: Transaction): void;
  committed(transaction: Transaction): void;
  rolledBack(trouble: Trouble): void;
}

const RETRY_LOCK_MS = 2;
const INSERT = (id: string): string =>
  `INSERT INTO events (position, stream, revision, type, at, id, metadata, data) VALUES (?, ?, ?, ?, ?, ${id}, ?, ?)`;
const INSERT_UUID = INSERT("unhex(?, '-')");
const INSERT_TEXT_ID = INSERT("?");

export class Writer {
  readonly #connection: Connection;
  readonly #names: NameBook;
  readonly #clock: () => number;
  readonly #busyTimeoutMs: number;
  readonly #durableSync: Sync;
  readonly #rider: Rider;
  #queue: Pending[] = [];
  #scheduled = false;
  #busySince: number | undefined;
  #dataVersion = -1;
  #head = 0;

  constructor(
    connection: Connection,
    names: NameBook,
    rider: Rider,
    options: {
      readonly clock: () => number;
      readonly busyTimeoutMs: number;
      readonly durability: "full" | "normal";
    },
  ) {
    this.#connection = connection;
    this.#names = names;
    this.#rider = rider;
    this.#clock = options.clock;
    this.#busyTimeoutMs = options.busyTimeoutMs;
    this.#durableSync = options.durability === "full" ? "FULL" : "NORMAL";
  }

  append(stream: string, expected: ExpectedRevision, events: readonly EncodedEvent[]): Promise<Answer> {
    return new Promise((answer) => {
      this.#queue.push({ stream, expected, events, answer });
      this.request();
    });
  }

  /** Asks for a transaction in the coming turn. */
  request(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    nextTurn(() => this.#flush(false));
  }

  /** Writes what is pending, now, waiting for the lock as long as allowed. */
  drain(): void {
    do this.#flush(true);
    while (this.#queue.length > 0);
  }

  #flush(closing: boolean): void {
    this.#scheduled = false;
    const batch = this.#queue;
    this.#queue = [];
    if (batch.length === 0 && !this.#rider.wantsTransaction()) return;
    try {
      this.#connection.assertInPlace();
      this.#syncFor(batch);
      this.#connection.sql("BEGIN IMMEDIATE").run();
    } catch (cause) {
      if (isBusy(cause) && this.#mayWait()) {
        this.#queue = [...batch, ...this.#queue];
        if (closing) return this.#flush(true);
        this.#scheduled = true;
        after(() => this.#flush(false), RETRY_LOCK_MS);
        return;
      }
      return this.#fail(batch, cause, false);
    }
    this.#busySince = undefined;
    this.#transact(batch);
  }

  #mayWait(): boolean {
    this.#busySince ??= elapsed();
    if (elapsed() - this.#busySince < this.#busyTimeoutMs) return true;
    this.#busySince = undefined;
    return false;
  }

  #transact(batch: readonly Pending[]): void {
    let answers: Answer[];
    let transaction: Transaction;
    let committing = false;
    try {
      const foreign = this.#noticeOthers();
      const before = this.#head;
      const written: WrittenEvent[] = [];
      const at = this.#clock();
      answers = batch.map((pending) => this.#decide(pending, before, at, written));
      transaction = { before, written, foreign };
      this.#rider.ride(transaction);
      committing = true;
      this.#connection.sql("COMMIT").run();
      this.#head = before + written.length;
    } catch (cause) {
      return this.#fail(batch, cause, committing);
    }
    for (let i = 0; i < batch.length; i += 1) batch[i]!.answer(answers[i]!);
    this.#rider.committed(transaction);
  }

  /**
   * Only appended events are worth an fsync: what riders write may be lost with the power, and is then done again. (NORMAL, not
   * OFF: the write-ahead log must still reach the disk before a checkpoint copies it into the file.)
   */
  #syncFor(batch: readonly Pending[]): void {
    this.#connection.setSync(batch.length > 0 ? this.#durableSync : "NORMAL");
  }

  #noticeOthers(): boolean {
    const version = this.#connection.dataVersion();
    if (version === this.#dataVersion) return false;
    this.#dataVersion = version;
    const [head] = this.#connection
      .rows("SELECT coalesce(max(position), 0) FROM events")
      .get() as unknown as [number];
    if (head !== this.#head) this.#names.catchUp(this.#head, head);
    this.#head = head;
    return true;
  }

  #decide(pending: Pending, before: number, at: number, written: WrittenEvent[]): Answer {
    const known = this.#names.stream(pending.stream);
    const head = known === undefined ? -1 : this.#names.head(known);
    const expected = pending.expected;
    if (expected !== "any" && (expected === "none" ? head !== -1 : expected !== head || head === -1)) {
      return Either.left({
        _tag: "WrongExpectedRevision",
        stream: pending.stream,
        actual: head === -1 ? "none" : head,
      });
    }
    if (pending.events.length === 0)
      return Either.right({ revision: head, position: positionOf(this.#placeOf(known, head)) });
    const entry = known ?? this.#names.addStream(pending.stream);
    let revision = head;
    for (const encoded of pending.events) {
      revision += 1;
      const place = before + written.length + 1;
      const { event } = encoded;
      const type = this.#names.typeIdFor(event.type);
      if (isUuid(event.id)) {
        this.#connection
          .sql(INSERT_UUID)
          .run(place, entry.id, revision, type, at, event.id, encoded.metadata, encoded.data);
      } else {
        this.#connection
          .sql(INSERT_TEXT_ID)
          .run(place, entry.id, revision, type, at, encodeTextId(event.id), encoded.metadata, encoded.data);
      }
      written.push(new WrittenEvent(place, entry.id, entry.name, revision, at, event));
    }
    this.#names.setHead(entry, revision);
    return Either.right({ revision, position: positionOf(before + written.length) });
  }

  #placeOf(entry: StreamEntry | undefined, head: number): number {
    if (entry === undefined || head < 0) return 0;
    const [place] = this.#connection
      .rows("SELECT position FROM events WHERE stream = ? AND revision = ?")
      .get(entry.id, head) as unknown as [number];
    return place;
  }

  #fail(batch: readonly Pending[], cause: unknown, committing: boolean): void {
    this.#busySince = undefined;
    this.#connection.rollBack();
    this.#connection.distrust(cause);
    this.#names.forget();
    this.#dataVersion = -1;
    const trouble = troubleOf(cause, this.#connection.path);
    const error: AppendError =
      committing && isFailedSync(cause)
        ? {
            _tag: "UnknownOutcome",
            reason: `${this.#connection.path}: the disk failed to confirm the write; read the stream's tail before anything else`,
            cause,
          }
        : trouble;
    for (const pending of batch) pending.answer(Either.left(error));
    this.#rider.rolledBack(trouble);
  }
}
