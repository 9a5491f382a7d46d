/**
 * The node's database: every record in memory, in order, and the EventLog behind it that keeps them.
 *
 * It is not a cache: a node reads its log once, at the start. What a client is told is what the log has acknowledged.
 *
 * - D1 An append is decided in one turn, against everything decided before it, and given to the log in that turn and order.
 * - D2 A record becomes visible when the log has acknowledged it and everything before it. Only visible records are read or pushed.
 * - D3 When the log fails, nothing further is written or becomes visible: the node must be started again on what the log then holds.
 *   So it is once it is closed: two databases never write to one log.
 * - D4 No append and no read costs more the more records there are (but for finding a position, by halving).
 */
import { randomUUID } from "node:crypto";
import { isLeft } from "fp-ts/lib/Either.js";
import type { EventLog } from "../../src/events/event-log.ts";
import { decideAppend, type Expected, type Target, type Verdict } from "./append-rules.ts";
import { IdCache } from "./id-cache.ts";
import {
  fromRecorded,
  type LogRecord,
  NO_BYTES,
  type Proposed,
  recordLength,
  TOMBSTONE,
  TOMBSTONE_TYPE,
  toEventData,
} from "./record.ts";
import {
  emptyStream,
  isSoftDeleted,
  METADATA_PREFIX,
  METADATA_TYPE,
  metadataIn,
  SOFT_DELETED_TEXT,
  type StreamMetadata,
  type StreamState,
} from "./stream-state.ts";

export type Outcome =
  /** `last` is -1 when an empty append met an absent stream. */
  | { readonly _tag: "Written"; readonly last: number; readonly position: number | undefined }
  | Exclude<Verdict, { _tag: "Write" | "Repeated" }>
  /** A repetition of what is not acknowledged yet: a server says nothing about it (rule 7). */
  | { readonly _tag: "Ignored" }
  | { readonly _tag: "LogFailed"; readonly reason: string };

interface Commit {
  readonly count: number;
  done: boolean;
}

export class Database {
  /** All records in log order; those from `visible` on are not acknowledged yet. */
  readonly all: LogRecord[] = [];
  visible = 0;
  readonly #log: EventLog;
  readonly #clock: () => number;
  readonly #ids: IdCache;
  readonly #streams = new Map<string, StreamState>();
  readonly #commits: Commit[] = [];
  readonly #allWatchers = new Set<() => void>();
  readonly #streamWatchers = new Map<string, Set<() => void>>();
  #nextPosition = 0;
  #lastAt = 0;
  #failure: string | undefined;
  readonly #unsettled = new Set<Promise<unknown>>();

  private constructor(log: EventLog, clock: () => number, idCacheBytes: number | undefined) {
    this.#log = log;
    this.#clock = clock;
    this.#ids = new IdCache(idCacheBytes);
  }

  /** Reads what `log` holds. */
  static async open(
    log: EventLog,
    options: { readonly clock?: () => number; readonly idCacheBytes?: number } = {},
  ): Promise<Database> {
    const database = new Database(log, options.clock ?? (() => Date.now()), options.idCacheBytes);
    for await (const event of log.readAll()) {
      database.#place(fromRecorded(event, database.#nextPosition));
      database.#show();
    }
    return database;
  }

  now(): number {
    return this.#clock();
  }

  stream(name: string): StreamState | undefined {
    return this.#streams.get(name);
  }

  /** The metadata that is in force for readers. */
  metadata(name: string): StreamMetadata {
    if (name.startsWith(METADATA_PREFIX)) return { maxCount: 1 };
    const meta = this.#streams.get(METADATA_PREFIX + name);
    return metadataIn(meta?.records[meta.visible - 1]);
  }

  isTombstoned(name: string): boolean {
    return this.#target(name).state.tombstoned;
  }

  /** Index of the first record at or after `position`. */
  indexOf(position: number): number {
    let low = 0;
    let high = this.visible;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.all[middle]!.position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  async append(name: string, expected: Expected, events: readonly Proposed[]): Promise<Outcome> {
    const target = this.#target(name);
    const verdict = decideAppend(
      target,
      expected,
      events.map((event) => event.id),
      this.#ids,
    );
    if (verdict._tag === "Repeated") return this.#repeated(target.state, verdict.last);
    if (verdict._tag !== "Write") return verdict;
    if (events.length === 0) return this.#repeated(target.state, target.state.records.length - 1);
    if (target.softDeleted) this.#revive(name);
    return this.#write(name, events);
  }

  /** Soft: the events are hidden and the next append revives the stream, numbering on. */
  async delete(name: string, expected: Expected): Promise<Outcome> {
    const target = this.#target(name);
    const verdict = decideAppend(target, expected, [randomUUID()], this.#ids);
    if (verdict._tag === "Deleted" || verdict._tag === "Wrong") return verdict;
    if (target.state.records.length === 0) return { _tag: "Wrong", actual: -1 };
    return this.#write(METADATA_PREFIX + name, [metadataEvent(`{"$tb":${SOFT_DELETED_TEXT}}`)]);
  }

  /** For good. */
  async tombstone(name: string, expected: Expected): Promise<Outcome> {
    const verdict = decideAppend(this.#target(name), expected, [randomUUID()], this.#ids);
    if (verdict._tag === "Deleted" || verdict._tag === "Wrong") return verdict;
    const event: Proposed = {
      id: randomUUID(),
      type: TOMBSTONE_TYPE,
      isJson: false,
      data: NO_BYTES,
      metadata: NO_BYTES,
    };
    return this.#write(name, [event], true);
  }

  /** Nothing is written from now on, also by calls that are still under way; answers when the log has answered all that it was given. */
  async close(): Promise<void> {
    this.#failure ??= "the node was stopped";
    await Promise.allSettled(this.#unsettled);
  }

  /** Calls `changed` whenever records have become visible: in stream `name`, or anywhere. The answer ends that. */
  watch(name: string | undefined, changed: () => void): () => void {
    if (name === undefined) {
      this.#allWatchers.add(changed);
      return () => this.#allWatchers.delete(changed);
    }
    const watchers = this.#streamWatchers.get(name) ?? new Set();
    this.#streamWatchers.set(name, watchers);
    watchers.add(changed);
    return () => {
      watchers.delete(changed);
      if (watchers.size === 0 && this.#streamWatchers.get(name) === watchers)
        this.#streamWatchers.delete(name);
    };
  }

  #target(name: string): Target {
    const state = this.#streams.get(name) ?? emptyStream(name);
    if (name.startsWith(METADATA_PREFIX)) {
      const owner = this.#streams.get(name.slice(METADATA_PREFIX.length));
      return {
        state: owner?.tombstoned ? { ...state, tombstoned: true } : state,
        softDeleted: false,
        hasMetadata: false,
      };
    }
    const meta = this.#streams.get(METADATA_PREFIX + name);
    return {
      state,
      softDeleted: isSoftDeleted(metadataIn(meta?.records.at(-1))),
      hasMetadata: meta !== undefined,
    };
  }

  #repeated(state: StreamState, last: number): Outcome {
    if (last >= state.visible) return { _tag: "Ignored" };
    return { _tag: "Written", last, position: state.records[last]?.position };
  }

  /** What else the metadata says stays; only the truncation moves to the end of what was deleted. */
  #revive(name: string): void {
    const last = this.#streams.get(METADATA_PREFIX + name)!.records.at(-1)!;
    const metadata = JSON.parse(Buffer.from(last.data).toString("utf8")) as Record<string, unknown>;
    const $tb = this.#streams.get(name)?.records.length ?? 0;
    this.#write(METADATA_PREFIX + name, [metadataEvent(JSON.stringify({ ...metadata, $tb }))]);
  }

  async #write(name: string, events: readonly Proposed[], tombstone = false): Promise<Outcome> {
    if (this.#failure !== undefined) return { _tag: "LogFailed", reason: this.#failure };
    const at = Math.max(this.#clock(), this.#lastAt);
    this.#lastAt = at;
    const first = this.#streams.get(name)?.records.length ?? 0;
    const records = events.map((event, index): LogRecord => {
      const record = {
        ...event,
        stream: name,
        revision: tombstone ? TOMBSTONE : first + index,
        position: this.#nextPosition,
        at,
      };
      this.#place(record);
      this.#ids.add(record.id, name, record.revision);
      return record;
    });
    const commit = { count: records.length, done: false };
    this.#commits.push(commit);
    const answering = this.#log.append(name, "any", records.map(toEventData))();
    this.#unsettled.add(answering);
    const answer = await answering;
    this.#unsettled.delete(answering);
    if (isLeft(answer)) {
      this.#failure ??= `the log answered ${answer.left._tag}`;
      return { _tag: "LogFailed", reason: this.#failure };
    }
    commit.done = true;
    this.#publish();
    const last = records.at(-1)!;
    return { _tag: "Written", last: last.revision, position: last.position };
  }

  #place(record: LogRecord): void {
    const state = this.#streams.get(record.stream) ?? emptyStream(record.stream);
    this.#streams.set(record.stream, state);
    state.records.push(record);
    if (record.revision === TOMBSTONE) state.tombstoned = true;
    this.all.push(record);
    this.#nextPosition = record.position + recordLength(record.stream, record);
    this.#lastAt = Math.max(this.#lastAt, record.at);
  }

  #show(): LogRecord {
    const record = this.all[this.visible]!;
    this.visible += 1;
    this.#streams.get(record.stream)!.visible += 1;
    return record;
  }

  #publish(): void {
    const touched = new Set<string>();
    while (this.#failure === undefined && this.#commits[0]?.done) {
      for (let left = this.#commits.shift()!.count; left > 0; left -= 1) touched.add(this.#show().stream);
    }
    if (touched.size === 0) return;
    for (const name of touched) for (const changed of [...(this.#streamWatchers.get(name) ?? [])]) changed();
    for (const changed of [...this.#allWatchers]) changed();
  }
}

export const metadataEvent = (json: string): Proposed => ({
  id: randomUUID(),
  type: METADATA_TYPE,
  isJson: true,
  data: Buffer.from(json, "utf8"),
  metadata: NO_BYTES,
});
