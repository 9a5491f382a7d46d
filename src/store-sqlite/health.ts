/**
 * Examines a log file for an operator. It opens the file read-only, and changes neither it nor its write-ahead log: also a file
 * that is not ours may be examined.
 */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { pragma, recogniseFile } from "./log-file.ts";
import { decodeName } from "./rows.ts";
import { storeErrorOf } from "./sqlite-errors.ts";

/** Payloads of longer logs are sampled: the newest ones, and as many again spread over the rest. */
const COMPLETE_UP_TO = 200_000;
const SAMPLE = 100_000;
/** So many places of one kind of damage are named. */
const NAMED = 5;
const ATTEMPTS = 3;
const LOCK_WAIT_MS = 2_000;

export interface GroupHealth {
  readonly name: string;
  /** Events behind the place up to which the group has looked; not all of them need concern it. */
  readonly lag: number;
  readonly consumers: number;
  /** Deliveries in a consumer's hands. */
  readonly inHand: number;
  /** Deliveries that wait for a consumer or for their retry. */
  readonly waiting: number;
  readonly parked: number;
}

export interface SqliteLogHealth {
  /** No problem was found. Parked deliveries and lag are no problems of the file. */
  readonly healthy: boolean;
  /** What is wrong and where, in sentences for people. */
  readonly problems: readonly string[];
  /** The schema's version; 0 where it cannot be told. */
  readonly schema: number;
  readonly events: number;
  readonly streams: number;
  /** Size of the file. */
  readonly bytes: number;
  /** Size of the write-ahead log beside it. */
  readonly walBytes: number;
  /** How many events' payloads were parsed, and whether that was all of them. */
  readonly payloads: { readonly checked: number; readonly complete: boolean };
  readonly groups: readonly GroupHealth[];
}

const NOTHING: SqliteLogHealth = {
  healthy: false,
  problems: [],
  schema: 0,
  events: 0,
  streams: 0,
  bytes: 0,
  walBytes: 0,
  payloads: { checked: 0, complete: false },
  groups: [],
};

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

/** Without a write-ahead log the file is all there is, and can be read without making anything beside it. */
const openToLook = (path: string): DatabaseSync => {
  const url = pathToFileURL(resolve(path));
  if (sizeOf(`${path}-wal`) === 0) url.searchParams.set("immutable", "1");
  const db = new DatabaseSync(url, { readOnly: true });
  db.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}`);
  return db;
};

const all = <Row>(db: DatabaseSync, sql: string, ...values: number[]): Row[] => {
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement.all(...values) as unknown as Row[];
};

const one = (db: DatabaseSync, sql: string): number => all<[number]>(db, sql)[0]![0];

const structure = (db: DatabaseSync): string[] =>
  all<[string]>(db, `PRAGMA quick_check(${NAMED})`)
    .filter(([line]) => line !== "ok")
    .map(([line]) => `SQLite finds: ${line}`);

const gaps = (db: DatabaseSync): string[] =>
  all<[string | null, number, number, number]>(
    db,
    `SELECT (SELECT name FROM streams WHERE id = stream), stream, count(*), max(revision) FROM events
     GROUP BY stream HAVING min(revision) <> 0 OR max(revision) <> count(*) - 1 LIMIT ${NAMED}`,
  ).map(([name, id, count, last]) => {
    const stream = name === null ? `number ${id}` : decodeName(name);
    return `Stream ${stream} has a gap: ${count} events, but its last revision is ${last}`;
  });

const nameless = (db: DatabaseSync): string[] => {
  const streams = one(
    db,
    "SELECT count(*) FROM (SELECT DISTINCT stream FROM events EXCEPT SELECT id FROM streams)",
  );
  const types = one(
    db,
    "SELECT count(*) FROM (SELECT DISTINCT type FROM events EXCEPT SELECT id FROM types)",
  );
  return [
    ...(streams > 0 ? [`${streams} streams have events but no name`] : []),
    ...(types > 0 ? [`${types} event types have events but no name`] : []),
  ];
};

const payloads = (
  db: DatabaseSync,
  events: number,
  last: number,
): { problems: string[]; checked: number } => {
  const complete = events <= COMPLETE_UP_TO;
  const stride = complete ? 1 : Math.ceil(events / SAMPLE);
  const newest = complete ? 0 : last - SAMPLE;
  const rows = all<[number, number | null]>(
    db,
    `SELECT count(*), min(iif(json_valid(coalesce(data, '{}')) AND json_valid(coalesce(metadata, '{}')), NULL, position))
     FROM events WHERE position > ? OR position % ? = 0`,
    newest,
    stride,
  );
  const [checked, bad] = rows[0]!;
  return {
    checked,
    problems: bad === null ? [] : [`The event at position ${bad} cannot be parsed (others may not either)`],
  };
};

const groups = (db: DatabaseSync, last: number): GroupHealth[] =>
  all<[string, number, number, number, number, number]>(
    db,
    `SELECT name, scanned,
       (SELECT count(*) FROM consumers WHERE grp = groups.id),
       (SELECT count(*) FROM deliveries WHERE grp = groups.id AND waiting = 0),
       (SELECT count(*) FROM deliveries WHERE grp = groups.id AND waiting = 1),
       (SELECT count(*) FROM parked WHERE grp = groups.id)
     FROM groups ORDER BY name`,
  ).map(([name, scanned, consumers, inHand, waiting, parked]) => ({
    name,
    lag: Math.max(0, last - scanned),
    consumers,
    inHand,
    waiting,
    parked,
  }));

const examine = (db: DatabaseSync, path: string): SqliteLogHealth => {
  const events = one(db, "SELECT count(*) FROM events");
  const last = one(db, "SELECT coalesce(max(position), 0) FROM events");
  const parsed = payloads(db, events, last);
  const problems = [...structure(db), ...gaps(db), ...nameless(db), ...parsed.problems];
  return {
    healthy: problems.length === 0,
    problems,
    schema: Number(pragma(db, "user_version")),
    events,
    streams: one(db, "SELECT count(*) FROM streams"),
    bytes: sizeOf(path),
    walBytes: sizeOf(`${path}-wal`),
    payloads: { checked: parsed.checked, complete: parsed.checked === events },
    groups: groups(db, last),
  };
};

const examineFile = (path: string): SqliteLogHealth => {
  let db: DatabaseSync | undefined;
  try {
    if (!recogniseFile(path))
      return { ...NOTHING, problems: [`${path}: there is no log here; check the path`] };
    db = openToLook(path);
    return examine(db, path);
  } catch (cause) {
    const problems = [storeErrorOf(cause, path).message];
    return { ...NOTHING, problems, bytes: sizeOf(path), walBytes: sizeOf(`${path}-wal`) };
  } finally {
    db?.close();
  }
};

/**
 * Says whether the log file at `path` is whole, and what is in it. Alters nothing and never throws: a file that is missing, foreign
 * or damaged is unhealthy, with the reason in `problems`. Reads the whole file: expect a second per million events.
 */
export const checkSqliteLog = (path: string): SqliteLogHealth => {
  for (let attempt = 1; ; attempt += 1) {
    const hadWal = sizeOf(`${path}-wal`) > 0;
    const health = examineFile(path);
    // A process that opens or closes the log meanwhile makes or removes the write-ahead log under the reader.
    const disturbed = hadWal !== sizeOf(`${path}-wal`) > 0;
    if (health.healthy || !disturbed || attempt === ATTEMPTS) return health;
  }
};
