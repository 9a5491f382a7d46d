/**
 * The small numbers that stand for stream and type names, and the last revision of each stream in use, kept in memory.
 *
 * - N1 Names never change their number. What a transaction that was rolled back added is forgotten with {@link NameBook.forget}.
 * - N2 A revision in memory is the stream's last one unless another connection wrote: then {@link NameBook.catchUp} comes first.
 * - N3 Streams are kept in two generations of bounded size; types are few and all kept.
 */
import type { Connection } from "./connection.ts";
import { decodeName, encodeName } from "./rows.ts";
import { corrupt, storeError } from "./sqlite-errors.ts";

const GENERATION_STREAMS = 16_384;
/** More foreign events than this are not read one by one: the revisions in memory are dropped instead. */
const CATCH_UP_EVENTS = 2_000;

export interface StreamEntry {
  readonly id: number;
  readonly name: string;
  /** The last revision, -1 for no events, `undefined` when it must be read. */
  head: number | undefined;
  era: number;
}

/** Streams by name and by number, in two generations that are rotated together: who is in one map is in the other. */
class StreamCache {
  #young = { byName: new Map<string, StreamEntry>(), byId: new Map<number, StreamEntry>() };
  #old = { byName: new Map<string, StreamEntry>(), byId: new Map<number, StreamEntry>() };

  byName(name: string): StreamEntry | undefined {
    return this.#young.byName.get(name) ?? this.#again(this.#old.byName.get(name));
  }

  byId(id: number): StreamEntry | undefined {
    return this.#young.byId.get(id) ?? this.#again(this.#old.byId.get(id));
  }

  keep(entry: StreamEntry): StreamEntry {
    if (this.#young.byId.size >= GENERATION_STREAMS) {
      this.#old = this.#young;
      this.#young = { byName: new Map(), byId: new Map() };
    }
    this.#young.byName.set(entry.name, entry);
    this.#young.byId.set(entry.id, entry);
    return entry;
  }

  #again(entry: StreamEntry | undefined): StreamEntry | undefined {
    return entry === undefined ? undefined : this.keep(entry);
  }
}

export class NameBook {
  #connection: Connection;
  #streams = new StreamCache();
  #typeIds = new Map<string, number>();
  #typeNames = new Map<number, string>();
  #era = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  stream(name: string): StreamEntry | undefined {
    const kept = this.#streams.byName(name);
    if (kept !== undefined) return kept;
    const row = this.#connection
      .rows("SELECT id FROM streams WHERE name = ?")
      .get(encodeName(name)) as unknown;
    return row === undefined ? undefined : this.#keep((row as [number])[0], name, undefined);
  }

  /** Only inside a write transaction. */
  addStream(name: string): StreamEntry {
    const { lastInsertRowid } = this.#connection
      .sql("INSERT INTO streams (name) VALUES (?)")
      .run(encodeName(name));
    return this.#keep(Number(lastInsertRowid), name, -1);
  }

  streamName(id: number): string {
    const kept = this.#streams.byId(id);
    if (kept !== undefined) return kept.name;
    const row = this.#connection.rows("SELECT name FROM streams WHERE id = ?").get(id) as unknown;
    if (row === undefined) throw this.#damaged(`no name is stored for stream number ${id}`);
    return this.#keep(id, decodeName((row as [string])[0]), undefined).name;
  }

  /** The stream's last revision, or -1. */
  head(entry: StreamEntry): number {
    if (entry.head === undefined || entry.era !== this.#era) {
      const [head] = this.#connection
        .rows("SELECT coalesce(max(revision), -1) FROM events WHERE stream = ?")
        .get(entry.id) as unknown as [number];
      this.setHead(entry, head);
    }
    return entry.head!;
  }

  setHead(entry: StreamEntry, head: number): void {
    entry.head = head;
    entry.era = this.#era;
  }

  typeId(name: string): number | undefined {
    const kept = this.#typeIds.get(name);
    if (kept !== undefined) return kept;
    const row = this.#connection.rows("SELECT id FROM types WHERE name = ?").get(encodeName(name)) as unknown;
    return row === undefined ? undefined : this.#keepType((row as [number])[0], name);
  }

  /** Only inside a write transaction. */
  typeIdFor(name: string): number {
    const kept = this.typeId(name);
    if (kept !== undefined) return kept;
    const { lastInsertRowid } = this.#connection
      .sql("INSERT INTO types (name) VALUES (?)")
      .run(encodeName(name));
    return this.#keepType(Number(lastInsertRowid), name);
  }

  typeName(id: number): string {
    const kept = this.#typeNames.get(id);
    if (kept !== undefined) return kept;
    const row = this.#connection.rows("SELECT name FROM types WHERE id = ?").get(id) as unknown;
    if (row === undefined) throw this.#damaged(`no name is stored for event type number ${id}`);
    const name = decodeName((row as [string])[0]);
    this.#keepType(id, name);
    return name;
  }

  /** Takes in what another connection appended in (`after`, `upTo`]. */
  catchUp(after: number, upTo: number): void {
    if (upTo - after > CATCH_UP_EVENTS) {
      this.#era += 1;
      return;
    }
    const rows = this.#connection
      .rows("SELECT stream, max(revision) FROM events WHERE position > ? GROUP BY stream")
      .all(after) as unknown as [number, number][];
    for (const [id, head] of rows) {
      const entry = this.#streams.byId(id);
      if (entry !== undefined) this.setHead(entry, head);
    }
  }

  forget(): void {
    this.#streams = new StreamCache();
    this.#typeIds.clear();
    this.#typeNames.clear();
  }

  #keep(id: number, name: string, head: number | undefined): StreamEntry {
    return this.#streams.keep({ id, name, head, era: this.#era });
  }

  #keepType(id: number, name: string): number {
    this.#typeIds.set(name, id);
    this.#typeNames.set(id, name);
    return id;
  }

  #damaged(what: string): Error {
    return storeError(corrupt(this.#connection.path, `is damaged: ${what}; restore it from a copy`));
  }
}
