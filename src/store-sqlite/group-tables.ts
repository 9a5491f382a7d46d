/**
 * The rows of consumer groups: statements and their meaning, no decisions. Everything that writes runs inside a transaction.
 */
import type { EventFilter } from "../events/event-log.ts";
import type { Connection } from "./connection.ts";
import { type Owner, thisProcess } from "./owners.ts";
import { realNow } from "./turns.ts";

export interface StoredConsumer {
  readonly id: number;
  readonly owner: Owner;
  readonly beat: number;
}

export interface WaitingDelivery {
  readonly stream: number;
  readonly place: number;
  readonly redeliveries: number;
}

type Answered = { readonly stream: number; readonly place: number };

export class GroupTables {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The group's number; the filter of the last caller holds from now on. */
  openGroup(name: string, filter: EventFilter | undefined): number {
    const [id] = this.#connection
      .rows(
        "INSERT INTO groups (name, scanned, filter) VALUES (?, 0, ?) ON CONFLICT (name) DO UPDATE SET filter = excluded.filter RETURNING id",
      )
      .get(name, JSON.stringify(filter ?? {})) as unknown as [number];
    return id;
  }

  group(id: number): { readonly scanned: number; readonly filter: EventFilter } {
    const [scanned, filter] = this.#connection
      .rows("SELECT scanned, filter FROM groups WHERE id = ?")
      .get(id) as unknown as [number, string];
    return { scanned, filter: JSON.parse(filter) as EventFilter };
  }

  setScanned(id: number, scanned: number): void {
    this.#connection.sql("UPDATE groups SET scanned = max(scanned, ?) WHERE id = ?").run(scanned, id);
  }

  addConsumer(group: number): number {
    const { lastInsertRowid } = this.#connection
      .sql("INSERT INTO consumers (grp, owner, beat) VALUES (?, ?, ?)")
      .run(group, JSON.stringify(thisProcess()), realNow());
    return Number(lastInsertRowid);
  }

  consumers(group: number): StoredConsumer[] {
    const rows = this.#connection
      .rows("SELECT id, owner, beat FROM consumers WHERE grp = ?")
      .all(group) as unknown as [number, string, number][];
    return rows.map(([id, owner, beat]) => ({ id, owner: JSON.parse(owner) as Owner, beat }));
  }

  beat(consumer: number): void {
    this.#connection.sql("UPDATE consumers SET beat = ? WHERE id = ?").run(realNow(), consumer);
  }

  /** Takes a consumer out and hands back what it had, due at once: who asked for a delay is gone. Answers whether it was there. */
  removeConsumer(group: number, consumer: number): boolean {
    if (this.#connection.sql("DELETE FROM consumers WHERE id = ?").run(consumer).changes === 0) return false;
    this.#connection
      .sql(
        `UPDATE deliveries SET owner = NULL, waiting = 1, redeliveries = redeliveries + (waiting = 0), due = 0
         WHERE grp = ? AND owner = ?`,
      )
      .run(group, consumer);
    return true;
  }

  /** The consumer that has deliveries of the stream; `null` when they wait for one, `undefined` when there are none. */
  ownerOf(group: number, stream: number): number | null | undefined {
    const row = this.#connection
      .rows("SELECT owner FROM deliveries WHERE grp = ? AND stream = ? LIMIT 1")
      .get(group, stream) as unknown as [number | null] | undefined;
    return row?.[0];
  }

  add(group: number, stream: number, place: number, owner: number | null, waiting: boolean): void {
    this.#connection
      .sql(
        `INSERT OR IGNORE INTO deliveries (grp, stream, position, owner, waiting, redeliveries, due)
         VALUES (?, ?, ?, ?, ?, 0, 0)`,
      )
      .run(group, stream, place, owner, waiting ? 1 : 0);
  }

  /** Deliveries that wait for this owner (or for anyone), are due, and are next in order. */
  waiting(group: number, owner: number | null, now: number, max: number): WaitingDelivery[] {
    const rows = this.#connection
      .rows(
        `SELECT stream, position, redeliveries FROM deliveries
         WHERE grp = ? AND waiting = 1 AND owner IS ? AND due <= ? ORDER BY due, position LIMIT ?`,
      )
      .all(group, owner, now, max) as unknown as [number, number, number][];
    return rows.map(([stream, place, redeliveries]) => ({ stream, place, redeliveries }));
  }

  someWait(group: number): boolean {
    const row = this.#connection
      .rows("SELECT 1 FROM deliveries INDEXED BY deliveries_waiting WHERE grp = ? AND waiting = 1 LIMIT 1")
      .get(group);
    return row !== undefined;
  }

  /** Deliveries that only want for a consumer's room: not those that wait for the time of their retry. At most `max` are counted. */
  countHeldUp(group: number, now: number, max: number): number {
    const [count] = this.#connection
      .rows(
        "SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE grp = ? AND waiting = 1 AND due <= ? LIMIT ?)",
      )
      .get(group, now, max) as unknown as [number];
    return count;
  }

  /** Puts a waiting delivery into its owner's hands, and with it all of its stream. */
  take(group: number, { stream, place }: WaitingDelivery, owner: number, wasFree: boolean): void {
    if (wasFree) {
      this.#connection
        .sql("UPDATE deliveries SET owner = ? WHERE grp = ? AND stream = ?")
        .run(owner, group, stream);
    }
    this.#connection
      .sql("UPDATE deliveries SET waiting = 0, due = 0 WHERE grp = ? AND stream = ? AND position = ?")
      .run(group, stream, place);
  }

  remove(group: number, { stream, place }: Answered, owner: number): boolean {
    const { changes } = this.#connection
      .sql("DELETE FROM deliveries WHERE grp = ? AND stream = ? AND position = ? AND owner = ?")
      .run(group, stream, place, owner);
    return changes !== 0;
  }

  retry(group: number, { stream, place }: Answered, owner: number, due: number): void {
    this.#connection
      .sql(
        `UPDATE deliveries SET waiting = 1, redeliveries = redeliveries + 1, due = ?
         WHERE grp = ? AND stream = ? AND position = ? AND owner = ?`,
      )
      .run(due, group, stream, place, owner);
  }

  park(group: number, place: number, redeliveries: number, reason: string, at: number): void {
    this.#connection
      .sql("INSERT OR REPLACE INTO parked (grp, position, redeliveries, reason, at) VALUES (?, ?, ?, ?, ?)")
      .run(group, place, redeliveries, reason, at);
  }

  savepoint(): void {
    this.#connection.sql("SAVEPOINT groups").run();
  }

  release(): void {
    this.#connection.sql("RELEASE groups").run();
  }

  /** Undoes what was written since the savepoint. Answers whether the transaction around it is still there. */
  undo(): boolean {
    if (!this.#connection.db.isTransaction) return false;
    this.#connection.sql("ROLLBACK TO groups").run();
    this.release();
    return true;
  }
}
