/**
 * Reads events back, page by page. A page is read in one go and holds no lock afterwards; between pages the event loop turns.
 *
 * - R1 A page is bounded in rows, in bytes and in rows looked at, so that neither memory nor a single turn grows with the log.
 * - R2 A row that cannot be read back is an error that names the file and the position, never a skipped event.
 */
import {
  type EventFilter,
  passes,
  type ReadAllOptions,
  type ReadOptions,
  type RecordedEvent,
} from "../events/event-log.ts";
import type { Connection } from "./connection.ts";
import type { NameBook } from "./name-book.ts";
import { type EventPage, PagedEvents } from "./paged-events.ts";
import { EVENT_COLUMNS, type EventRow, encodeName, placeOf, recordedRow } from "./rows.ts";
import { corrupt, storeError, storeErrorOf } from "./sqlite-errors.ts";

const PAGE_ROWS = 512;
const PAGE_TEXT = 8 * 1024 * 1024;
/** Rows of the whole log that one page looks at: some 10 ms where a filter skips them all. */
const PAGE_SPAN = 32_768;

/** A stretch of the whole log: the matching events in it, as far as `lookedTo`; `atEnd` when that is the end of the log. */
export interface Page extends EventPage {
  readonly lookedTo: number;
}

const NO_EVENTS: EventPage = { events: [], atEnd: true };

export class Reader {
  readonly #connection: Connection;
  readonly #names: NameBook;

  constructor(connection: Connection, names: NameBook) {
    this.#connection = connection;
    this.#names = names;
  }

  /** The last position of the log, 0 while it is empty. */
  head(): number {
    return this.#guarded(() => {
      const [head] = this.#connection
        .rows("SELECT coalesce(max(position), 0) FROM events")
        .get() as unknown as [number];
      return head;
    });
  }

  read(stream: string, options: ReadOptions = {}): PagedEvents {
    const backwards = options.direction === "backwards";
    const sql = `SELECT ${EVENT_COLUMNS} FROM events WHERE stream = ? AND revision ${
      backwards ? "<= ? ORDER BY revision DESC" : ">= ? ORDER BY revision"
    } LIMIT ?`;
    let from = options.from ?? (backwards ? Number.MAX_SAFE_INTEGER : 0);
    let left = options.max ?? Number.MAX_SAFE_INTEGER;
    return new PagedEvents(() => {
      const want = Math.min(left, PAGE_ROWS);
      if (want <= 0) return NO_EVENTS;
      const { events, whole } = this.#guarded(() => {
        const entry = this.#names.stream(stream);
        if (entry === undefined) return { events: [], whole: true };
        return this.#page(this.#connection.rows(sql).iterate(entry.id, from, want), stream);
      });
      const last = events.at(-1);
      if (last === undefined) return NO_EVENTS;
      left -= events.length;
      from = last.revision + (backwards ? -1 : 1);
      return { events, atEnd: left <= 0 || (whole && events.length < want) };
    });
  }

  readAll(options: ReadAllOptions = {}): PagedEvents {
    let after: number | undefined;
    let left = options.max ?? Number.MAX_SAFE_INTEGER;
    return new PagedEvents(() => {
      after ??= options.after === undefined ? 0 : placeOf(options.after);
      if (left <= 0) return NO_EVENTS;
      const { events, lookedTo, atEnd } = this.page(after, options.filter, left);
      left -= events.length;
      after = lookedTo;
      return { events, atEnd: atEnd || left <= 0 };
    });
  }

  /** The next stretch of the log behind `after`. */
  page(
    after: number,
    filter: EventFilter | undefined,
    max: number = PAGE_ROWS,
    span: number = PAGE_SPAN,
  ): Page {
    return this.#guarded(() => {
      const head = this.head();
      const end = Math.min(head, after + span);
      const want = Math.min(max, PAGE_ROWS);
      const { events, whole } = this.#page(
        this.#connection.rows(this.#selectAll(filter)).iterate(after, end, ...prefixRange(filter), want),
      );
      const lookedTo = whole && events.length < want ? end : Number(events.at(-1)!.position);
      return {
        events: endsInsidePair(filter?.streamPrefix ?? "")
          ? events.filter((e) => passes(filter, e.stream, e.type))
          : events,
        lookedTo: Math.max(after, lookedTo),
        atEnd: lookedTo >= head,
      };
    });
  }

  /** The first matching event behind `after`, in a bounded stretch of the log: its place, and as far as was looked before it. */
  firstMatch(
    after: number,
    filter: EventFilter,
  ): { readonly place: number | undefined; readonly lookedTo: number } {
    const { events, lookedTo } = this.page(after, filter, 1);
    const place = events[0] === undefined ? undefined : placeOf(events[0].position);
    return { place, lookedTo: place === undefined ? lookedTo : place - 1 };
  }

  /** The event at a place where there is one. */
  at(place: number): RecordedEvent {
    return this.#guarded(() => {
      const row = this.#connection
        .rows(`SELECT ${EVENT_COLUMNS} FROM events WHERE position = ?`)
        .get(place) as unknown;
      if (row === undefined) {
        const what = `is damaged: a delivery is about the event at position ${place}, which is not there; restore it from a copy`;
        throw storeError(corrupt(this.#connection.path, what));
      }
      return this.#recorded(row as EventRow);
    });
  }

  #selectAll(filter: EventFilter | undefined): string {
    const types = filter?.types?.map((name) => this.#names.typeId(name)).filter((id) => id !== undefined);
    const ofTypes = types === undefined ? "" : `AND type IN (${types.join()})`;
    const ofStreams =
      filter?.streamPrefix === undefined
        ? ""
        : "AND EXISTS (SELECT 1 FROM streams WHERE streams.id = events.stream AND name >= CAST(? AS TEXT) AND name < CAST(? AS TEXT))";
    return `SELECT ${EVENT_COLUMNS} FROM events WHERE position > ? AND position <= ? ${ofTypes} ${ofStreams} ORDER BY position LIMIT ?`;
  }

  /** `stream`: the one that all rows are of, where there is one. */
  #page(
    rows: Iterable<unknown>,
    stream?: string,
  ): { readonly events: readonly RecordedEvent[]; readonly whole: boolean } {
    const events: RecordedEvent[] = [];
    let text = 0;
    for (const row of rows as Iterable<EventRow>) {
      events.push(this.#recorded(row, stream));
      text += (row[6]?.length ?? 0) + (row[5]?.length ?? 0);
      if (text > PAGE_TEXT) return { events, whole: false };
    }
    return { events, whole: true };
  }

  #recorded(row: EventRow, stream?: string): RecordedEvent {
    try {
      return recordedRow(row, stream ?? this.#names.streamName(row[7]), this.#names.typeName(row[2]));
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      const what = `the event at position ${row[0]} cannot be parsed (${cause.message}); restore the file from a copy`;
      throw storeError(corrupt(this.#connection.path, what, cause));
    }
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (cause) {
      this.#connection.distrust(cause);
      throw storeErrorOf(cause, this.#connection.path);
    }
  }
}

/** A pair of surrogates is one character to SQLite: a prefix that ends inside it is looked for without its last unit. */
const endsInsidePair = (prefix: string): boolean => /[\ud800-\udbff]$/.test(prefix);

/** Names from the prefix up to it followed by a byte that no text contains. */
const prefixRange = (filter: EventFilter | undefined): Uint8Array[] => {
  const prefix = filter?.streamPrefix;
  if (prefix === undefined) return [];
  const from = Buffer.from(encodeName(endsInsidePair(prefix) ? prefix.slice(0, -1) : prefix));
  return [from, Buffer.concat([from, Buffer.from([0xff])])];
};
