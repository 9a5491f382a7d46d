/**
 * The consumer groups of this log: joins consumers to groups, takes part in every transaction, and keeps the slow business going
 * (acks that no append carries, deliveries that wait, owners that died, heartbeats) from the log's one poll.
 */
import { Observable } from "rxjs";
import type { Consumed, ConsumeOptions } from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";
import type { Connection } from "./connection.ts";
import { Consumer } from "./consumer.ts";
import { Group } from "./group.ts";
import { GroupTables } from "./group-tables.ts";
import type { NameBook } from "./name-book.ts";
import { BEAT_MS } from "./owners.ts";
import type { Reader } from "./reader.ts";
import { storeError, storeErrorOf, type Trouble } from "./sqlite-errors.ts";
import { elapsed, nextTurn } from "./turns.ts";
import type { Transaction } from "./writer.ts";

const DEFAULT_MAX_IN_FLIGHT = 1_024;
const THOROUGH_VISIT_MS = 1_000;
/** Consumers are told of trouble that lasts this long; shorter trouble is waited out. */
const PATIENCE_MS = 30_000;

export interface DeskOptions {
  readonly clock: () => number;
  /** Somebody came or went. */
  readonly changed: () => void;
  /** A transaction is wanted in the coming turn. */
  readonly request: () => void;
}

export class GroupDesk {
  readonly #connection: Connection;
  readonly #reader: Reader;
  readonly #names: NameBook;
  readonly #tables: GroupTables;
  readonly #options: DeskOptions;
  readonly #groups = new Map<string, Group>();
  #head = 0;
  #skimming = false;
  #closed = false;
  #visited = 0;
  #beaten = 0;
  #troubleSince: number | undefined;

  constructor(connection: Connection, reader: Reader, names: NameBook, options: DeskOptions) {
    this.#connection = connection;
    this.#reader = reader;
    this.#names = names;
    this.#tables = new GroupTables(connection);
    this.#options = options;
  }

  get listening(): boolean {
    return this.#groups.size > 0;
  }

  consume(name: string, options: ConsumeOptions = {}): Observable<Consumed> {
    return new Observable((subscriber) => {
      if (this.#closed) return subscriber.complete();
      const group = this.#group(name);
      const consumer = new Consumer(
        subscriber,
        options.maxInFlight ?? DEFAULT_MAX_IN_FLIGHT,
        this.#options.clock,
        (_, answer) => {
          group.answered(answer.held);
          if (answer._tag === "retry") this.#options.request();
          this.#goOn();
        },
      );
      group.join(consumer, options);
      this.#beaten = elapsed();
      this.#options.changed();
      this.#options.request();
      return () => {
        group.leave(consumer);
        this.#options.request();
      };
    });
  }

  wantsTransaction(): boolean {
    for (const group of this.#groups.values()) if (group.wantsTransaction()) return true;
    return false;
  }

  ride(transaction: Transaction): void {
    for (const group of this.#groups.values()) group.ride(transaction);
  }

  committed({ before, written }: Transaction): void {
    if (this.#groups.size === 0) return;
    this.#troubleSince = undefined;
    this.#head = before + written.length;
    const groups = [...this.#groups.values()];
    for (const group of groups) {
      const failure = group.committed();
      if (failure !== undefined) group.fail(storeErrorOf(failure, this.#connection.path));
    }
    for (const group of groups) group.emit();
    this.#sweep();
    this.#goOn();
  }

  rolledBack(trouble: Trouble): void {
    if (this.#groups.size === 0) return;
    this.#troubleSince ??= elapsed();
    for (const group of this.#groups.values()) group.rolledBack();
    if (trouble._tag === "Unavailable" && elapsed() - this.#troubleSince < PATIENCE_MS) return;
    this.#troubleSince = undefined;
    for (const group of [...this.#groups.values()]) group.fail(storeError(trouble));
  }

  /** The log's poll; `foreign` says that another connection wrote since the last one. */
  tick(foreign: boolean): void {
    if (this.#groups.size === 0) return;
    const now = elapsed();
    const thorough = now - this.#visited >= THOROUGH_VISIT_MS;
    if (thorough) this.#visited = now;
    const beat = now - this.#beaten >= BEAT_MS;
    if (beat) this.#beaten = now;
    try {
      if (foreign) this.#head = this.#reader.head();
      for (const group of this.#groups.values()) {
        if (foreign) group.refresh();
        if (beat) group.beat();
        group.visit(thorough);
        group.noticeWaiting();
      }
    } catch (cause) {
      this.#connection.distrust(cause);
      if (StoreError.is(cause)) for (const group of [...this.#groups.values()]) group.fail(cause);
    }
    if (this.wantsTransaction()) this.#options.request();
    this.#goOn();
  }

  /** Completes all consumers; the transaction that follows hands back what they had. */
  close(): void {
    this.#closed = true;
    for (const group of [...this.#groups.values()]) group.complete();
  }

  #group(name: string): Group {
    let group = this.#groups.get(name);
    if (group === undefined) {
      group = new Group(name, this.#tables, this.#reader, this.#names, this.#options.clock);
      this.#groups.set(name, group);
    }
    return group;
  }

  #sweep(): void {
    for (const [name, group] of this.#groups) if (group.isOver) this.#groups.delete(name);
    this.#options.changed();
  }

  /** Somebody has room: what can be given out at once is. */
  #goOn(): void {
    if (this.#skimming || this.#closed) return;
    for (const group of this.#groups.values()) {
      if (!group.hasMore(this.#head)) continue;
      this.#skimming = true;
      nextTurn(() => this.#skim());
      return;
    }
  }

  #skim(): void {
    this.#skimming = false;
    if (this.#closed) return;
    let more = false;
    for (const group of [...this.#groups.values()]) {
      try {
        group.noticeWaiting();
        if (group.skim(this.#head)) more = true;
      } catch (cause) {
        group.fail(storeErrorOf(cause, this.#connection.path));
      }
    }
    if (this.wantsTransaction()) this.#options.request();
    if (more) this.#goOn();
  }
}
