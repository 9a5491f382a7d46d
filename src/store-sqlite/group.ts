/**
 * One consumer group as this process takes part in it: which event goes to whom. Its rows are written inside transactions that
 * appends (or an idle turn) pay for; what a transaction decided becomes true in memory when it is committed, or is undone.
 *
 * - G1 Log order: an event is looked at once the ones before it were, and a stream's later event waits behind its earlier ones.
 * - G2 A stream with unacked deliveries stays with its consumer, be it of this process or of another. Among the consumers of
 *   this process it stays beyond that, as long as it is remembered.
 * - G3 Nobody is given what he has no room for; then the scan stops, and the backlog is the log itself.
 * - G4 What happens to a group never fails an append.
 */
import { type ConsumeOptions, type EventFilter, passes, type RecordedEvent } from "../events/event-log.ts";
import type { Consumer, Held } from "./consumer.ts";
import type { GroupTables, StoredConsumer } from "./group-tables.ts";
import type { NameBook } from "./name-book.ts";
import { isGone, looksGone } from "./owners.ts";
import type { Reader } from "./reader.ts";
import { Roster } from "./roster.ts";
import { placeOf } from "./rows.ts";
import type { Transaction } from "./writer.ts";

/** Rows of the log that a scan looks at while it holds the write lock. */
const SCAN_SPAN = 4_096;
/** The stored place lags behind by no more than this many events that concern nobody. */
const SCAN_LAG = 2_000;
/** So many deliveries may wait for a consumer that has no room; then the scan waits too. */
const MAX_WAITING = 4_096;

export class Group {
  readonly name: string;
  readonly #tables: GroupTables;
  readonly #reader: Reader;
  readonly #names: NameBook;
  readonly #clock: () => number;
  readonly #consumers = new Roster();
  #departing: Consumer[] = [];
  #id: number | undefined;
  #wanted: { readonly filter: EventFilter | undefined } | undefined;
  #filter: EventFilter = {};
  /** Everything up to here was looked at. */
  #scanned = 0;
  #storedScanned = 0;
  #others: StoredConsumer[] = [];
  #gone = new Set<number>();
  #mayWait = true;
  #beatDue = false;
  #ready = false;
  /** Too many deliveries wait for others to go on. */
  #clogged = false;
  /** The group's rows must be read again. */
  #stale = false;
  #failure: unknown;
  /** What the transaction under way leaves behind if it is committed, and how to take it back if not. */
  #stagedScanned = 0;
  #answered = new Map<Consumer, number>();
  #assigned = false;
  #undo: (() => void)[] = [];

  constructor(name: string, tables: GroupTables, reader: Reader, names: NameBook, clock: () => number) {
    this.name = name;
    this.#tables = tables;
    this.#reader = reader;
    this.#names = names;
    this.#clock = clock;
  }

  get isOver(): boolean {
    return this.#consumers.size === 0 && this.#departing.length === 0;
  }

  join(consumer: Consumer, options: ConsumeOptions): void {
    this.#consumers.add(consumer);
    this.#wanted = { filter: options.filter };
  }

  leave(consumer: Consumer): void {
    if (this.#consumers.remove(consumer) && consumer.id !== undefined) this.#departing.push(consumer);
  }

  /** The delivery was answered: its stream may be free again. */
  answered({ stream }: Held): void {
    this.#consumers.discharge(stream);
  }

  /** Could something be given out that no append of this process brings? */
  hasMore(head: number): boolean {
    return (this.#mayWait || this.#isBehind(head)) && this.#consumers.hasRoom;
  }

  /** Is something to be written that cannot wait for the next append? */
  wantsTransaction(): boolean {
    if (this.#wanted !== undefined || this.#departing.length > 0 || this.#gone.size > 0) return true;
    return this.#ready || this.#beatDue || this.#consumers.hasAnswers || this.#consumers.hasNewcomers;
  }

  /** Looks on in the backlog without a lock, to the next event that concerns the group. Answers whether there is more to look at. */
  skim(head: number): boolean {
    if (this.#id === undefined || this.#ready || !this.#isBehind(head)) return false;
    const { place, lookedTo } = this.#reader.firstMatch(this.#scanned, this.#filter);
    this.#scanned = Math.max(this.#scanned, lookedTo);
    this.#ready = place !== undefined;
    return !this.#ready && this.#isBehind(head);
  }

  /** Is something waiting that a consumer of this process could have now? Reads only. */
  noticeWaiting(): void {
    if (this.#id === undefined || this.#ready || !this.#mayWait || !this.#consumers.hasRoom) return;
    const now = this.#clock();
    const owners = [null, ...[...this.#consumers].filter((it) => it.room > 0).map((it) => it.id ?? -1)];
    this.#ready = owners.some((owner) => this.#tables.waiting(this.#id!, owner, now, 1).length > 0);
    this.#mayWait = this.#ready || this.#tables.someWait(this.#id);
  }

  /** Another connection wrote: its group rows may have changed. Reads only. */
  refresh(): void {
    if (this.#id === undefined) return;
    const { scanned, filter } = this.#tables.group(this.#id);
    this.#filter = filter;
    this.#storedScanned = scanned;
    this.#scanned = Math.max(this.#scanned, scanned);
    const stored = this.#tables.consumers(this.#id);
    const mine = new Map([...this.#consumers, ...this.#departing].map((it) => [it.id, it]));
    this.#others = stored.filter(({ id }) => !mine.has(id));
    const ids = new Set(stored.map(({ id }) => id));
    for (const consumer of this.#consumers) {
      if (consumer.id !== undefined && !ids.has(consumer.id)) this.#evict(consumer);
    }
    this.#mayWait = true;
    this.#clogged = false;
    this.#stale = false;
  }

  /** Looks after the other consumers: a glance at their processes, or a thorough look. */
  visit(thorough: boolean): void {
    for (const { id, owner, beat } of this.#others) {
      if (thorough ? isGone(owner, beat) : looksGone(owner)) this.#gone.add(id);
    }
  }

  beat(): void {
    this.#beatDue = true;
  }

  ride(transaction: Transaction): void {
    if (this.isOver) return;
    this.#tables.savepoint();
    try {
      this.#write(transaction);
    } catch (cause) {
      if (!this.#tables.undo()) throw cause;
      this.#failure = cause;
      return;
    }
    this.#tables.release();
  }

  /** Makes true in memory what was committed. Nothing is handed out yet. Answers what went wrong with this group, if anything. */
  committed(): unknown {
    const failure = this.#failure;
    if (failure !== undefined) {
      this.rolledBack();
      return failure;
    }
    this.#undo = [];
    for (const [consumer, count] of this.#answered) consumer.answers.splice(0, count);
    this.#answered.clear();
    this.#scanned = Math.max(this.#scanned, this.#stagedScanned);
    return undefined;
  }

  emit(): void {
    for (const consumer of [...this.#consumers]) consumer.emit();
  }

  rolledBack(): void {
    this.#failure = undefined;
    this.#consumers.takeBack();
    this.#answered.clear();
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
    this.#mayWait = true;
    this.#stale = true;
  }

  fail(error: unknown): void {
    for (const { subscriber } of [...this.#consumers]) subscriber.error(error);
  }

  complete(): void {
    for (const { subscriber } of [...this.#consumers]) subscriber.complete();
  }

  #write(transaction: Transaction): void {
    const joining = this.#wanted !== undefined || this.#consumers.hasNewcomers;
    const id = this.#open();
    for (const consumer of [...this.#consumers, ...this.#departing]) this.#writeAnswers(id, consumer);
    this.#handBack(id);
    if (joining || transaction.foreign || this.#stale) this.refresh();
    this.#register(id);
    if (joining) this.visit(true);
    this.#reap(id);
    this.#stagedScanned = this.#scanned;
    this.#takeWaiting(id);
    this.#scanBacklog(id, transaction.before);
    this.#scanWritten(id, transaction);
    this.#ready = false;
    this.#storeScanned(id);
    if (this.#beatDue) {
      this.#beatDue = false;
      for (const consumer of this.#consumers) this.#tables.beat(consumer.id!);
    }
  }

  #open(): number {
    const wanted = this.#wanted;
    if (wanted !== undefined) {
      const before = this.#id;
      this.#id = this.#tables.openGroup(this.name, wanted.filter);
      this.#wanted = undefined;
      this.#undo.push(() => {
        this.#id = before;
        this.#wanted ??= wanted;
      });
    }
    return this.#id!;
  }

  #register(id: number): void {
    for (const consumer of this.#consumers) {
      if (consumer.id !== undefined) continue;
      consumer.id = this.#tables.addConsumer(id);
      this.#undo.push(() => {
        consumer.id = undefined;
      });
    }
  }

  #writeAnswers(id: number, consumer: Consumer): void {
    const { answers } = consumer;
    if (answers.length === 0 || consumer.id === undefined) return;
    for (const answer of answers) {
      const { held } = answer;
      if (answer._tag === "retry") {
        this.#tables.retry(id, held, consumer.id, answer.due);
        this.#mayWait = true;
      } else if (this.#tables.remove(id, held, consumer.id) && answer._tag === "park") {
        this.#tables.park(id, held.place, held.redeliveries, answer.reason, this.#clock());
      }
    }
    this.#answered.set(consumer, answers.length);
  }

  #handBack(id: number): void {
    if (this.#departing.length === 0) return;
    const departed = this.#departing;
    for (const consumer of departed) this.#tables.removeConsumer(id, consumer.id!);
    this.#departing = [];
    this.#mayWait = true;
    this.#undo.push(() => this.#departing.push(...departed));
  }

  #reap(id: number): void {
    if (this.#gone.size === 0) return;
    for (const consumer of this.#gone) this.#tables.removeConsumer(id, consumer);
    this.#others = this.#others.filter((other) => !this.#gone.has(other.id));
    this.#gone.clear();
    this.#mayWait = true;
  }

  #takeWaiting(id: number): void {
    if (!this.#mayWait) return;
    const now = this.#clock();
    for (const consumer of this.#consumers) {
      if (consumer.room <= 0) continue;
      for (const delivery of this.#tables.waiting(id, consumer.id!, now, consumer.room)) {
        this.#tables.take(id, delivery, consumer.id!, false);
        this.#consumers.give(consumer, delivery, this.#reader.at(delivery.place));
      }
    }
    const room = this.#consumers.room;
    for (const delivery of room > 0 ? this.#tables.waiting(id, null, now, room) : []) {
      const consumer = this.#consumers.chargedWith(delivery.stream) ?? this.#consumers.roomiest;
      if (consumer === undefined || consumer.room <= 0) continue;
      this.#tables.take(id, delivery, consumer.id!, true);
      this.#consumers.give(consumer, delivery, this.#reader.at(delivery.place));
    }
    this.#mayWait = this.#tables.someWait(id);
  }

  #scanBacklog(id: number, before: number): void {
    if (this.#stagedScanned >= before || !this.#consumers.hasRoom) return;
    this.#clogged = this.#mayWait && this.#tables.countHeldUp(id, this.#clock(), MAX_WAITING) >= MAX_WAITING;
    if (this.#clogged) return;
    const page = this.#reader.page(this.#stagedScanned, this.#filter, this.#consumers.room, SCAN_SPAN);
    for (const event of page.events) {
      const place = placeOf(event.position);
      if (place > before) break;
      if (!this.#assign(id, this.#names.stream(event.stream)!.id, place, () => event)) return;
      this.#stagedScanned = place;
    }
    this.#stagedScanned = Math.min(page.lookedTo, before);
  }

  #scanWritten(id: number, { before, written }: Transaction): void {
    if (this.#stagedScanned !== before) return;
    for (const event of written) {
      if (
        passes(this.#filter, event.stream, event.event.type) &&
        !this.#assign(id, event.streamId, event.place, () => event.recorded)
      ) {
        return;
      }
      this.#stagedScanned = event.place;
    }
  }

  /** Finds the event a consumer, or a place to wait for one. Answers whether the scan may go on. */
  #assign(id: number, stream: number, place: number, event: () => RecordedEvent): boolean {
    let consumer = this.#consumers.chargedWith(stream);
    let owner: number | null | undefined = consumer?.id;
    if (consumer === undefined && (this.#mayWait || this.#others.length > 0)) {
      owner = this.#tables.ownerOf(id, stream);
      consumer = this.#consumers.byId(owner);
    }
    if (owner === undefined) consumer = this.#consumers.homeOf(stream) ?? this.#consumers.roomiest;
    if (consumer === undefined && owner === undefined) return false;
    if (consumer !== undefined && consumer.room > 0) {
      this.#tables.add(id, stream, place, consumer.id!, false);
      this.#consumers.give(consumer, { stream, place, redeliveries: 0 }, event());
    } else {
      if (!this.#consumers.hasRoom) return false;
      this.#tables.add(id, stream, place, consumer?.id ?? owner ?? null, true);
      this.#mayWait = true;
    }
    this.#assigned = true;
    return true;
  }

  /** The stored place goes along with every delivery: another process that scans from there must not deliver it again. */
  #storeScanned(id: number): void {
    const lag = this.#stagedScanned - this.#storedScanned;
    if (!this.#assigned && lag <= (this.#consumers.size === 0 ? 0 : SCAN_LAG)) return;
    this.#tables.setScanned(id, this.#stagedScanned);
    this.#storedScanned = this.#stagedScanned;
    this.#assigned = false;
  }

  #isBehind(head: number): boolean {
    return this.#scanned < head && !this.#clogged && this.#consumers.hasRoom;
  }

  #evict(consumer: Consumer): void {
    this.#consumers.release(consumer);
    consumer.answers = [];
    consumer.id = undefined;
  }
}
