/** The EventLog in one SQLite file: the embedded, durable default. Several processes may share the file. */
import type { EventLog } from "../events/event-log.ts";
import { SqliteLog, type SqliteLogOptions } from "./sqlite-log.ts";

export { checkSqliteLog, type GroupHealth, type SqliteLogHealth } from "./health.ts";
export type { SqliteLogOptions } from "./sqlite-log.ts";

/**
 * Opens the log in the file at `path`, and makes the file if there is none; `":memory:"` keeps a log in memory instead.
 *
 * An event may have 64 MiB of JSON. The caller closes the log.
 *
 * @throws StoreError `Unavailable` if the folder is missing or the file cannot be written; `Corrupt` if the file is not a log,
 *   is damaged, or was written by a newer Runstream. The file is not altered then.
 */
export const openSqliteLog = (path: string, options?: SqliteLogOptions): EventLog =>
  new SqliteLog(path, options);
