/**
 * The run index's SQLite database: its tables, how a file of it is told from any other, and how it is opened.
 *
 * Not here: what the rows mean (run-index-fold), how they are asked for (run-index-queries, run-index-waits).
 *
 * Invariants:
 * - X1 The file is disposable: one of ours that is torn, corrupt, older or newer is emptied and filled again from the log.
 * - X2 A file that is not ours is refused and not written to.
 * - X3 Text from outside (ids, keys, tokens, names) is stored in the escaped form of stream names, because SQLite's text keeps
 *   neither lone surrogates nor, everywhere, NUL. Instants are REAL: an integer beyond 2^53 could not be read back.
 */
import { closeSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { AppendError } from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";
import { RUN_PREFIX, runIdOf, runStream } from "../events/stream-names.ts";

/** "RSix": marks a file as a run index, at offset 68 of its header. */
const APPLICATION_ID = 0x52536978;
/** Raised whenever the tables, or what the fold puts into them, change: every index with another number is filled again. */
export const SCHEMA_VERSION = 4;

const BUSY_TIMEOUT_MS = 10_000;

/**
 * NORMAL: a power cut may cost the last steps, which are read again, but never mixes old pages with new. The WAL may grow to 64 MB
 * before it is copied back, because a rebuild touches the same pages many times over.
 */
const SETTINGS =
  "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 16384";

const TABLES = `
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE workflows (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE (name, kind));
CREATE TABLE counts (workflow INTEGER, status INTEGER, n INTEGER NOT NULL, PRIMARY KEY (workflow, status)) WITHOUT ROWID;
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL UNIQUE,
  kind INTEGER NOT NULL,
  workflow INTEGER NOT NULL,
  status INTEGER NOT NULL,
  created_at REAL NOT NULL,
  ended_at REAL,
  key TEXT,
  tenant TEXT,
  code_version TEXT,
  revision INTEGER NOT NULL,
  position TEXT NOT NULL,
  problem TEXT,
  next_wake REAL,
  ready INTEGER NOT NULL,
  latency TEXT
);
CREATE INDEX runs_status ON runs (kind, status, created_at, run);
CREATE INDEX runs_workflow ON runs (workflow, status, created_at, run);
CREATE INDEX runs_key ON runs (key, workflow, status, created_at, run) WHERE key IS NOT NULL;
CREATE INDEX runs_wake ON runs (next_wake, run) WHERE next_wake IS NOT NULL;
CREATE INDEX runs_ready ON runs (run) WHERE ready = 1;
CREATE INDEX runs_problem ON runs (run) WHERE problem IS NOT NULL;
CREATE TABLE waits (
  run INTEGER, key TEXT, kind INTEGER NOT NULL, wake_at REAL NOT NULL, correlation TEXT, moot INTEGER NOT NULL,
  PRIMARY KEY (run, key)
) WITHOUT ROWID;
CREATE INDEX waits_due ON waits (wake_at, run, key) WHERE moot = 0;
CREATE INDEX waits_of_run ON waits (run, wake_at);
CREATE TABLE hooks (run INTEGER, key TEXT, token TEXT NOT NULL, opened_at REAL NOT NULL, PRIMARY KEY (run, key)) WITHOUT ROWID;
CREATE TABLE sdk_messages (run TEXT PRIMARY KEY, owed INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX sdk_messages_owed ON sdk_messages (run) WHERE owed = 1;
CREATE TABLE sdk_hooks (opened TEXT PRIMARY KEY, run TEXT NOT NULL, hook TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX sdk_hooks_hook ON sdk_hooks (hook, run);
CREATE INDEX sdk_hooks_run ON sdk_hooks (run);
`;

const DATA_TABLES = ["meta", "workflows", "counts", "runs", "waits", "hooks", "sdk_messages", "sdk_hooks"];

/** Any text, as it is stored; {@link givenText} is the way back. */
export const storedText = (text: string): string => runStream(text).slice(RUN_PREFIX.length);
export const givenText = (stored: string): string => runIdOf(RUN_PREFIX + stored) ?? stored;

/**
 * Opens or creates the index at `path`; `":memory:"` keeps it in memory.
 *
 * @throws StoreError `Corrupt` where the file is not a run index, `Unavailable` where it cannot be opened or written.
 */
export const openIndexDatabase = (path: string): DatabaseSync => {
  try {
    return open(path);
  } catch (error) {
    if (StoreError.is(error) || !isDamage(error) || !looksLikeOurs(path)) throw indexError(path, error);
    return discardIndexFile(path);
  }
};

/** Removes a damaged index file of ours and starts an empty one. */
const discardIndexFile = (path: string): DatabaseSync => {
  try {
    if (path !== ":memory:")
      for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(path + suffix, { force: true });
    return open(path);
  } catch (error) {
    throw indexError(path, error);
  }
};

/** Opens the file once more after damage was met, and throws it away unless SQLite finds it sound after all. */
export const reopenDamaged = (path: string): DatabaseSync => {
  const database = openIndexDatabase(path);
  try {
    if (database.prepare("PRAGMA quick_check(1)").get()?.quick_check === "ok") return database;
  } catch (error) {
    if (!isDamage(error)) throw indexError(path, error);
  }
  database.close();
  return discardIndexFile(path);
};

/** Empties the index; to be called inside a transaction. */
export const emptyIndex = (database: DatabaseSync): void => {
  for (const table of DATA_TABLES) database.exec(`DELETE FROM ${table}`);
};

/** Runs `work` in one write transaction, which is rolled back when it throws. */
export const inTransaction = <T>(database: DatabaseSync, work: () => T): T =>
  between(database, "BEGIN IMMEDIATE", work);

/** Runs `work`, which only reads, against one state of the index, whatever other processes write meanwhile. */
export const inSnapshot = <T>(database: DatabaseSync, work: () => T): T => between(database, "BEGIN", work);

const between = <T>(database: DatabaseSync, begin: "BEGIN" | "BEGIN IMMEDIATE", work: () => T): T => {
  database.exec(begin);
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
};

/** Did SQLite meet a damaged file (SQLITE_CORRUPT, SQLITE_NOTADB)? */
export const isDamage = (error: unknown): boolean => {
  const code = primaryCode(error);
  return code === 11 || code === 26;
};

/** What SQLite or the file system said, as a StoreError that names the index file. */
export const indexError = (path: string, error: unknown): StoreError => {
  if (StoreError.is(error)) return error;
  const said = error instanceof Error ? error.message : String(error);
  return isDamage(error)
    ? trouble(
        `The run index ${path} cannot be read: ${said}. If it is an index, delete it: it is made again from the log.`,
        "Corrupt",
        error,
      )
    : trouble(`The run index ${path} cannot be used: ${said}.`, "Unavailable", error);
};

export const trouble = (
  message: string,
  tag: Extract<AppendError["_tag"], "Corrupt" | "Unavailable">,
  cause?: unknown,
): StoreError =>
  new StoreError(message, { _tag: tag, reason: message, ...(cause === undefined ? {} : { cause }) });

const open = (path: string): DatabaseSync => {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    claim(database, path);
    // Set after the tables exist, so that the main file itself, not only its WAL, says whose it is.
    database.exec(SETTINGS);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

/** Makes the tables where there are none or others, under the write lock, so that two processes cannot both do it. */
const claim = (database: DatabaseSync, path: string): void => {
  if (standing(database) === "ours") return;
  if (standing(database) === "foreign") throw notOurs(path);
  inTransaction(database, () => {
    const now = standing(database);
    if (now === "ours") return;
    if (now === "foreign") throw notOurs(path);
    for (const { name } of database
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'")
      .all())
      database.exec(`DROP TABLE "${String(name).replaceAll('"', '""')}"`);
    database.exec(
      `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SCHEMA_VERSION}; ${TABLES}`,
    );
  });
};

const standing = (database: DatabaseSync): "empty" | "ours" | "other version" | "foreign" => {
  const application = database.prepare("PRAGMA application_id").get()?.application_id;
  if (application === APPLICATION_ID)
    return schemaVersion(database) === SCHEMA_VERSION ? "ours" : "other version";
  const tables = database.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.n;
  return application === 0 && tables === 0 ? "empty" : "foreign";
};

export const schemaVersion = (database: DatabaseSync): unknown =>
  database.prepare("PRAGMA user_version").get()?.user_version;

const notOurs = (path: string): StoreError =>
  trouble(`${path} is not a run index, so it is left alone. Name another path for the index.`, "Corrupt");

/** For a file that SQLite cannot open: does its header still carry our mark? */
const looksLikeOurs = (path: string): boolean => {
  try {
    if (!statSync(path).isFile()) return false;
    const header = Buffer.alloc(72);
    const file = openSync(path, "r");
    try {
      if (readSync(file, header, 0, header.length, 0) < header.length) return false;
    } finally {
      closeSync(file);
    }
    return (
      header.toString("latin1", 0, 16) === "SQLite format 3\0" && header.readUInt32BE(68) === APPLICATION_ID
    );
  } catch {
    return false;
  }
};

const primaryCode = (error: unknown): number | undefined => {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
};
