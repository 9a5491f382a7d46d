/**
 * Brings the run index up to the log's head, step by step.
 *
 * Not here: what an event changes (run-index-fold), SQL of rows (run-index-writer), queries.
 *
 * Invariants:
 * - C1 A step's rows and its checkpoint are written in one transaction, which begins by reading the stored checkpoint: several
 *   processes may share a file, and a step that another one has done is skipped.
 * - C2 The checkpoint says how far the log was *looked at*, so a long tail of events of no interest is read once.
 * - C3 An index made from another log, or from one that has since lost its end, is emptied and filled again.
 * - C4 What was appended before a catch-up was asked for is in the index when it answers.
 */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { comparePositions, type EventLog, type Position, type RecordedEvent } from "../events/event-log.ts";
import { runStream } from "../events/stream-names.ts";
import { onDemand } from "./on-demand.ts";
import { INDEXED_TYPES } from "./run-index-fold.ts";
import {
  emptyIndex,
  givenText,
  inTransaction,
  SCHEMA_VERSION,
  schemaVersion,
  trouble,
} from "./run-index-schema.ts";
import { type DecodeForIndex, type IndexWriter, indexWriter } from "./run-index-writer.ts";

/** Events folded in one transaction: large enough to share work, small enough not to hold up the process. */
const STEP_EVENTS = 5_000;

export interface IndexProgress {
  /** Index-relevant events read so far by this catch-up. */
  readonly events: number;
  /** How far the index has looked, and where the log ended when the catch-up began. */
  readonly checkpoint: Position;
  readonly head: Position;
}

export interface CatchUp {
  /** Brings the index to where the log is now, or further. */
  run(): Promise<void>;
  /** Empties the index; the next catch-up fills it. */
  reset(): void;
  checkpoint(): Position | undefined;
  /** Stops a running catch-up at its next event. */
  stop(): void;
}

/** Thrown inside a step when another process emptied the index meanwhile: begin again from what is stored. */
const STARTED_OVER = Symbol("index emptied by another process");

export const catchUpOf = (
  database: DatabaseSync,
  log: EventLog,
  decode: DecodeForIndex,
  onProgress: ((progress: IndexProgress) => void) | undefined,
): CatchUp => {
  const writer = onDemand(() => indexWriter(database, decode));
  const get = onDemand(() => database.prepare("SELECT value FROM meta WHERE name = ?"));
  const put = onDemand(() =>
    database.prepare(
      "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
    ),
  );
  const stored = (name: string): string | undefined => get().get(name)?.value as string | undefined;
  const checkpoint = (): Position | undefined => stored("checkpoint") as Position | undefined;

  let firstEvent: string | undefined;
  let examined = false;
  let stopped = false;

  const reset = (): void => inTransaction(database, () => emptyIndex(database));

  /** Rule C3, once per opening: the log begins with the same event and still holds the last one that was indexed. */
  const examine = async (): Promise<void> => {
    if (firstEvent === undefined) {
      for await (const event of log.readAll({ max: 1 })) firstEvent = event.id;
    }
    if (examined) return;
    const known = stored("first event");
    if (known !== undefined && (known !== firstEvent || !(await holdsLast(log, stored("last event")))))
      reset();
    else await readUnreadableAgain(database, log, writer());
    examined = firstEvent !== undefined;
  };

  const step = (from: Position | undefined, events: readonly RecordedEvent[], upTo: Position): void => {
    inTransaction(database, () => {
      if (schemaVersion(database) !== SCHEMA_VERSION)
        throw trouble(
          "Another version of Runstream has taken over this run index. Give each version an index file of its own.",
          "Unavailable",
        );
      const known = stored("first event");
      if (known !== undefined && known !== firstEvent)
        throw trouble(
          "This run index is being filled from another log. Give each log an index file of its own.",
          "Unavailable",
        );
      const now = checkpoint();
      if (from !== undefined && (now === undefined || comparePositions(now, from) < 0)) throw STARTED_OVER;
      if (now !== undefined && comparePositions(now, upTo) >= 0) return;
      const fresh =
        now === undefined ? events : events.filter((event) => comparePositions(event.position, now) > 0);
      writer().write(fresh);
      put().run("checkpoint", upTo);
      if (known === undefined && firstEvent !== undefined) put().run("first event", firstEvent);
      const last = fresh.at(-1);
      if (last !== undefined) put().run("last event", JSON.stringify([last.stream, last.revision, last.id]));
    });
  };

  const advance = async (): Promise<void> => {
    await examine();
    if (firstEvent === undefined) return;
    // Read before the head: another process may move the checkpoint past a head that was taken first.
    let from = checkpoint();
    const head = await log.head();
    if (from !== undefined && (head === undefined || comparePositions(head, from) < 0)) {
      reset();
      from = undefined;
    }
    if (head === undefined || head === from) return;
    let events: RecordedEvent[] = [];
    let seen = 0;
    for await (const event of log.readAll({
      ...(from === undefined ? {} : { after: from }),
      filter: { types: INDEXED_TYPES },
    })) {
      if (stopped) return;
      if (comparePositions(event.position, head) > 0) break;
      events.push(event);
      if (events.length < STEP_EVENTS) continue;
      step(from, events, event.position);
      from = event.position;
      seen += events.length;
      events = [];
      onProgress?.({ events: seen, checkpoint: from, head });
      await setImmediate();
    }
    if (stopped) return;
    step(from, events, head);
    onProgress?.({ events: seen + events.length, checkpoint: head, head });
  };

  const run = async (): Promise<void> => {
    for (;;) {
      try {
        return await advance();
      } catch (error) {
        if (error !== STARTED_OVER) throw error;
      }
    }
  };

  return {
    run: coalesced(run),
    reset,
    checkpoint,
    stop: () => {
      stopped = true;
    },
  };
};

/** Callers that come while one run is under way share the next one, because theirs must see what was appended since. */
const coalesced = (run: () => Promise<void>): (() => Promise<void>) => {
  let current: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    next = undefined;
    const mine = run().finally(() => {
      if (current === mine) current = undefined;
    });
    current = mine;
    return mine;
  };
  return () => {
    if (next !== undefined) return next;
    if (current === undefined) return begin();
    next = current.then(begin, begin);
    return next;
  };
};

const holdsLast = async (log: EventLog, last: string | undefined): Promise<boolean> => {
  if (last === undefined) return true;
  const [stream, revision, id] = JSON.parse(last) as [string, number, string];
  for await (const event of log.read(stream, { from: revision, max: 1 }))
    return event.revision === revision && event.id === id;
  return false;
};

/** What an older version could not read this one may: every unreadable run is folded anew when an index is opened. */
const readUnreadableAgain = async (
  database: DatabaseSync,
  log: EventLog,
  writer: IndexWriter,
): Promise<void> => {
  for (const { run } of database.prepare("SELECT run FROM runs WHERE problem IS NOT NULL").all()) {
    const runId = givenText(String(run));
    const events: RecordedEvent[] = [];
    for await (const event of log.read(runStream(runId)))
      if (INDEXED_TYPES.includes(event.type)) events.push(event);
    inTransaction(database, () => writer.refold(runId, events));
  }
};
