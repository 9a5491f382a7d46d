/**
 * One connection to the log file with its prepared statements. A connection that met disk trouble is not trusted any more:
 * it is closed, and the file is opened anew by whoever needs it next.
 */
import { statSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isDiskTrouble, isFailedSync, storeError, unavailable } from "./sqlite-errors.ts";

/** Statements made for a set of event types are many; beyond this number all are prepared anew. */
const MAX_STATEMENTS = 256;

export type Sync = "FULL" | "NORMAL";

/** How often the path is compared with the open file, at most, in milliseconds. */
const LOOK_AT_PATH_MS = 250;

export class Connection {
  readonly path: string;
  readonly inMemory: boolean;
  #open: () => DatabaseSync;
  #db: DatabaseSync | undefined;
  #statements = new Map<string, StatementSync>();
  #closed = false;
  #unsyncedTail = false;
  #generation = 0;
  #sync: Sync | undefined;
  /** The file that was opened, whatever the path leads to later. */
  #file: string | undefined;
  #lookedAtPath = performance.now();

  constructor(path: string, open: () => DatabaseSync) {
    this.path = path;
    this.inMemory = path === ":memory:";
    this.#open = open;
    this.#db = open();
    this.#file = fileAt(path);
  }

  get closed(): boolean {
    return this.#closed;
  }

  get db(): DatabaseSync {
    if (this.#closed) throw storeError(unavailable(this.path, "the log is closed; open it again"));
    if (this.#db === undefined) {
      const db = this.#open();
      this.#db = db;
      // After a failed fsync the kernel may call pages clean that never reached the disk: what is committed next must not lie
      // behind them in the write-ahead log.
      if (this.#unsyncedTail) db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      this.#unsyncedTail = false;
    }
    return this.#db;
  }

  /**
   * Throws `StoreError` (`Unavailable`) when the path leads to another file, or to none: what is written then would be acknowledged and
   * lost with the last handle.
   */
  assertInPlace(): void {
    if (this.inMemory) return;
    const now = performance.now();
    if (now - this.#lookedAtPath < LOOK_AT_PATH_MS) return;
    if (fileAt(this.path) !== this.#file) {
      throw storeError(
        unavailable(
          this.path,
          "was removed or replaced while it was open, so nothing more is written to it; open the log again",
        ),
      );
    }
    this.#lookedAtPath = now;
  }

  /** A number that changes when another connection has written since, or when this one was opened anew. */
  dataVersion(): number {
    const [version] = this.rows("PRAGMA data_version").get() as unknown as [number];
    return this.#generation * 2 ** 32 + version;
  }

  /** How the transactions from now on are brought to the disk. Not inside a transaction. */
  setSync(sync: Sync): void {
    const { db } = this;
    if (sync === this.#sync) return;
    db.exec(`PRAGMA synchronous = ${sync}`);
    this.#sync = sync;
  }

  /** A prepared statement that answers rows as objects. */
  sql(text: string): StatementSync {
    return this.#statements.get(text) ?? this.#prepare(text, false);
  }

  /** A prepared statement that answers rows as arrays. */
  rows(text: string): StatementSync {
    return this.#statements.get(text) ?? this.#prepare(text, true);
  }

  /** Ends the transaction that is open, if SQLite has not done so itself. */
  rollBack(): void {
    try {
      if (this.#db?.isTransaction) this.#db.exec("ROLLBACK");
    } catch {
      this.#drop();
    }
  }

  /** Drops the connection if `cause` says that it cannot be trusted. */
  distrust(cause: unknown): void {
    if (isFailedSync(cause)) this.#unsyncedTail = true;
    if (isDiskTrouble(cause)) this.#drop();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#statements.clear();
    this.#db?.close();
    this.#db = undefined;
  }

  #prepare(text: string, arrays: boolean): StatementSync {
    const db = this.db;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = db.prepare(text);
    statement.setReturnArrays(arrays);
    this.#statements.set(text, statement);
    return statement;
  }

  #drop(): void {
    if (this.inMemory) return;
    this.#statements.clear();
    this.#generation += 1;
    this.#sync = undefined;
    const db = this.#db;
    this.#db = undefined;
    try {
      db?.close();
    } catch {
      // The handle is given up whatever its last words are.
    }
  }
}

const fileAt = (path: string): string | undefined => {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return stats === undefined ? undefined : `${stats.dev} ${stats.ino}`;
};
