/**
 * The EventLog in one SQLite file: puts the writer, the reader, the live feed and the consumer groups together over one
 * connection, and looks every now and then whether another process wrote. It decides nothing itself.
 */
import * as Either from "fp-ts/lib/Either.js";
import type { TaskEither } from "fp-ts/lib/TaskEither.js";
import type { Observable } from "rxjs";
import type {
  AppendError,
  Appended,
  CaughtUp,
  Consumed,
  ConsumeOptions,
  EventData,
  EventLog,
  ExpectedRevision,
  Position,
  ReadAllOptions,
  ReadOptions,
  RecordedEvent,
  SubscribeOptions,
} from "../events/event-log.ts";
import { Connection } from "./connection.ts";
import { GroupDesk } from "./group-desk.ts";
import { LiveFeed } from "./live-feed.ts";
import { type Durability, openLogFile } from "./log-file.ts";
import { NameBook } from "./name-book.ts";
import { Reader } from "./reader.ts";
import { type EncodedEvent, EVENT_LIMIT_BYTES, encodeEvent, positionOf } from "./rows.ts";
import { unavailable } from "./sqlite-errors.ts";
import { Watch } from "./watch.ts";
import { type Transaction, Writer } from "./writer.ts";

export interface SqliteLogOptions {
  /**
   * What an acknowledged append has survived. `"full"` (default): a crash of the process, of the machine, and power loss, by one
   * fsync per transaction. `"normal"`: a crash of the process; the last few acknowledged appends before a power loss may be gone,
   * the file stays whole.
   */
  readonly durability?: Durability;
  /** How long an append waits for another process's write before it answers `Unavailable`, in ms. Default 5,000. */
  readonly busyTimeoutMs?: number;
  /**
   * How often to look for other processes' events while somebody subscribes or consumes, in ms. Default 20. In an idle log the
   * system reports them, and the looks become rarer.
   */
  readonly pollIntervalMs?: number;
  /** Epoch milliseconds, for `recordedAt`, retry delays and heartbeats. Default `Date.now`. */
  readonly clock?: () => number;
}

const DEFAULT_BUSY_TIMEOUT_MS = 5_000;
const DEFAULT_POLL_INTERVAL_MS = 20;

export class SqliteLog implements EventLog {
  readonly #connection: Connection;
  readonly #reader: Reader;
  readonly #writer: Writer;
  readonly #feed: LiveFeed;
  readonly #desk: GroupDesk;
  readonly #watch: Watch;
  #dataVersion = -1;
  #head = 0;
  #closing = false;

  constructor(path: string, options: SqliteLogOptions = {}) {
    const {
      durability = "full",
      busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS,
      clock = () => Date.now(),
    } = options;
    this.#connection = new Connection(path, () => openLogFile(path, durability, busyTimeoutMs));
    this.#watch = new Watch(path, options.pollIntervalMs ?? DEFAULT_POLL_INTERVAL_MS, () => this.#look());
    const names = new NameBook(this.#connection);
    this.#reader = new Reader(this.#connection, names);
    this.#feed = new LiveFeed(this.#reader, () => this.#listen());
    this.#desk = new GroupDesk(this.#connection, this.#reader, names, {
      clock,
      changed: () => this.#listen(),
      request: () => this.#writer.request(),
    });
    const rider = {
      wantsTransaction: () => this.#desk.wantsTransaction(),
      ride: (transaction: Transaction) => this.#desk.ride(transaction),
      committed: (transaction: Transaction) => {
        if (transaction.written.length > 0) this.#watch.stir();
        this.#feed.committed(transaction);
        this.#desk.committed(transaction);
      },
      rolledBack: (trouble: Parameters<GroupDesk["rolledBack"]>[0]) => this.#desk.rolledBack(trouble),
    };
    this.#writer = new Writer(this.#connection, names, rider, { clock, busyTimeoutMs, durability });
  }

  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventData[],
  ): TaskEither<AppendError, Appended> {
    return async () => {
      if (this.#closing)
        return Either.left(unavailable(this.#connection.path, "the log is closed; open it again"));
      const encoded: EncodedEvent[] = [];
      for (const event of events) {
        const one = encodeEvent(event);
        if ("tooLarge" in one)
          return Either.left({ _tag: "TooLarge", limit: EVENT_LIMIT_BYTES, actual: one.tooLarge });
        encoded.push(one);
      }
      return this.#writer.append(stream, expected, encoded);
    };
  }

  read(stream: string, options?: ReadOptions): AsyncIterable<RecordedEvent> {
    return { [Symbol.asyncIterator]: () => this.#reader.read(stream, options) };
  }

  readAll(options?: ReadAllOptions): AsyncIterable<RecordedEvent> {
    return { [Symbol.asyncIterator]: () => this.#reader.readAll(options) };
  }

  subscribe(options: SubscribeOptions): Observable<RecordedEvent | CaughtUp> {
    return this.#feed.subscribe(options);
  }

  consume(group: string, options?: ConsumeOptions): Observable<Consumed> {
    return this.#desk.consume(group, options);
  }

  async head(): Promise<Position | undefined> {
    const head = this.#reader.head();
    return head === 0 ? undefined : positionOf(head);
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#desk.close();
    this.#writer.drain();
    this.#feed.close();
    this.#watch.stop();
    this.#connection.close();
  }

  /** Polls while somebody listens, and only then. */
  #listen(): void {
    const needed = !this.#closing && (this.#feed.listening || this.#desk.listening);
    if (needed) this.#watch.start();
    else this.#watch.stop();
  }

  /** Answers whether another connection appended. */
  #look(): boolean {
    let foreign = true;
    let head = this.#head;
    try {
      const version = this.#connection.dataVersion();
      foreign = version !== this.#dataVersion;
      this.#dataVersion = version;
      if (foreign) head = this.#reader.head();
    } catch (cause) {
      // Whoever reads next meets the same trouble, and says so to those who listen.
      this.#connection.distrust(cause);
    }
    if (foreign) this.#feed.lookAgain();
    this.#desk.tick(foreign);
    const grown = head !== this.#head;
    this.#head = head;
    return grown;
  }
}
