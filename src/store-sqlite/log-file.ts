/**
 * Opens a log file: recognises it, makes it when it is not there, and sets the connection up. Not for reading or writing events.
 *
 * - O1 A file that is not ours, or is newer than this version knows, is refused before a byte of it could change.
 * - O2 A file is made in one transaction: two processes that open it at once, or a crash in between, leave none or a whole one.
 */
import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "./schema.ts";
import { corrupt, isBusy, storeError, storeErrorOf, unavailable } from "./sqlite-errors.ts";
import { elapsed } from "./turns.ts";

export type Durability = "full" | "normal";

/** Pages the write-ahead log may hold before a commit copies them into the file: 4,000 pages are 16 MB. */
const CHECKPOINT_PAGES = 4_000;
/** The longest a single lock wait may block the event loop; longer waits are made of several, with turns in between. */
export const LOCK_WAIT_MS = 50;

const MAGIC = "SQLite format 3\u0000";
const HEADER_BYTES = 100;

const readHeader = (path: string): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, "r");
  try {
    return header.subarray(0, readSync(file, header, 0, HEADER_BYTES, 0));
  } finally {
    closeSync(file);
  }
};

const newer = (path: string, version: number): Error =>
  storeError(
    corrupt(
      path,
      `was written by a newer Runstream (schema ${version}; this version reads up to ${SCHEMA_VERSION}); nothing was altered, upgrade Runstream`,
    ),
  );

const foreign = (path: string, what: string): Error =>
  storeError(corrupt(path, `${what}; nothing was altered, choose another path or remove the file`));

/** Throws a StoreError unless `path` is a log of ours, or nothing yet. Answers whether something is there. Only reads. */
export const recogniseFile = (path: string): boolean => {
  const folder = dirname(path);
  if (!existsSync(folder))
    throw storeError(unavailable(path, `its folder ${folder} does not exist; create it first`));
  if (!existsSync(path)) return false;
  if (!statSync(path).isFile())
    throw storeError(unavailable(path, "is not a regular file; name a file inside a folder"));
  let header: Buffer;
  try {
    header = readHeader(path);
  } catch (cause) {
    throw storeError(unavailable(path, "cannot be read; give this user the right to", cause));
  }
  if (header.length === 0) return false;
  if (header.length < HEADER_BYTES || header.toString("latin1", 0, 16) !== MAGIC) {
    throw foreign(path, "is not a Runstream log (it is no SQLite file, or its beginning is damaged)");
  }
  if (header.readInt32BE(68) !== APPLICATION_ID)
    throw foreign(path, "is a SQLite database of another program");
  const version = header.readInt32BE(60);
  if (version > SCHEMA_VERSION) throw newer(path, version);
  return true;
};

/** SQLite says only that it "cannot open"; the write-ahead log stands beside the file, so that its folder matters too. */
const mustBeWritable = (path: string, exists: boolean): void => {
  try {
    if (exists) accessSync(path, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
  } catch (cause) {
    const what =
      "cannot be written to (read-only file, folder or disk); make it and its folder writable for this user";
    throw storeError(unavailable(path, what, cause));
  }
};

export const pragma = (db: DatabaseSync, name: string): number | string => {
  const row = db.prepare(`PRAGMA ${name}`).get();
  return (row === undefined ? 0 : Object.values(row)[0]) as number | string;
};

const isEmpty = (db: DatabaseSync): boolean =>
  db.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;

const inWriteLock = (db: DatabaseSync, work: () => void): void => {
  db.exec("BEGIN IMMEDIATE");
  try {
    work();
    db.exec("COMMIT");
  } catch (cause) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw cause;
  }
};

const prepareFile = (db: DatabaseSync, path: string): void => {
  inWriteLock(db, () => {
    const version = Number(pragma(db, "user_version"));
    if (version > SCHEMA_VERSION) throw newer(path, version);
    if (version === SCHEMA_VERSION) return;
    if (!isEmpty(db)) throw foreign(path, "holds tables that are not Runstream's");
    db.exec(SCHEMA);
  });
  db.exec("PRAGMA journal_mode = WAL");
};

const untilNotBusy = (budgetMs: number, work: () => void): void => {
  const start = elapsed();
  for (;;) {
    try {
      return work();
    } catch (cause) {
      if (!isBusy(cause) || elapsed() - start >= budgetMs) throw cause;
    }
  }
};

/** Opens the log at `path` (or `:memory:`) for reading and writing. Throws a StoreError that names the file and the remedy. */
export const openLogFile = (path: string, durability: Durability, busyTimeoutMs: number): DatabaseSync => {
  const inMemory = path === ":memory:";
  if (!inMemory) mustBeWritable(path, recogniseFile(path));
  let db: DatabaseSync | undefined;
  try {
    const opened = new DatabaseSync(path);
    db = opened;
    opened.exec(`PRAGMA busy_timeout = ${Math.min(busyTimeoutMs, LOCK_WAIT_MS)}`);
    // Every setting reads the file, and meets the lock of a process that is making it.
    untilNotBusy(busyTimeoutMs, () => {
      opened.exec(
        `PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
         PRAGMA cache_size = -32000;
         PRAGMA temp_store = MEMORY`,
      );
      prepareFile(opened, path);
      opened.exec(`PRAGMA synchronous = ${durability === "full" ? "FULL" : "NORMAL"}`);
    });
    return opened;
  } catch (cause) {
    db?.close();
    throw storeErrorOf(cause, path);
  }
};
