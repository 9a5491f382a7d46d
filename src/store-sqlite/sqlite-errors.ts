/**
 * What SQLite says, said in the port's words: which file, what happened, what to do. Nothing else looks at SQLite's numbers.
 */
import type { AppendError } from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";

export type Trouble = Exclude<AppendError, { _tag: "WrongExpectedRevision" }>;

const BUSY = 5;
const LOCKED = 6;
const NOMEM = 7;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const TOOBIG = 18;
const NOTADB = 26;
const IOERR_FSYNC = 1034;
const IOERR_DIR_FSYNC = 1290;

const extendedCode = (cause: unknown): number | undefined =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number"
    ? cause.errcode
    : undefined;

const code = (cause: unknown): number | undefined => {
  const extended = extendedCode(cause);
  return extended === undefined ? undefined : extended & 0xff;
};

/** Somebody else holds the write lock: worth another try. */
export const isBusy = (cause: unknown): boolean => code(cause) === BUSY || code(cause) === LOCKED;

/** The disk may or may not have kept what was written: SQLite rolled back, a crash may yet bring it forth. */
export const isFailedSync = (cause: unknown): boolean =>
  extendedCode(cause) === IOERR_FSYNC || extendedCode(cause) === IOERR_DIR_FSYNC;

/** A connection that met this is not trusted any more; the file is opened anew. */
export const isDiskTrouble = (cause: unknown): boolean => code(cause) === IOERR || code(cause) === NOMEM;

const words = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

export const unavailable = (file: string, what: string, cause?: unknown): Trouble => ({
  _tag: "Unavailable",
  reason: `${file}: ${what}`,
  ...(cause === undefined ? {} : { cause }),
});

export const corrupt = (file: string, what: string, cause?: unknown): Trouble => ({
  _tag: "Corrupt",
  reason: `${file}: ${what}`,
  ...(cause === undefined ? {} : { cause }),
});

/** SQLite's length limit, should something slip past the limit of one event. */
const SQLITE_MAX_LENGTH = 1_000_000_000;

/** The trouble an exception of the SQLite client stands for. */
export const troubleOf = (cause: unknown, file: string): Trouble => {
  if (StoreError.is(cause)) return cause.error;
  switch (code(cause)) {
    case BUSY:
    case LOCKED:
      return unavailable(
        file,
        "another process kept the write lock for longer than the busy timeout; try again",
        cause,
      );
    case READONLY:
      return unavailable(
        file,
        "cannot be written to (read-only file, folder or disk); make it writable for this user",
        cause,
      );
    case FULL:
      return unavailable(
        file,
        "the disk is full and nothing was written; free some space and try again",
        cause,
      );
    case IOERR:
      return unavailable(file, `the disk failed (${words(cause)}); check the disk and its free space`, cause);
    case CANTOPEN:
      return unavailable(
        file,
        "cannot be opened; check that its folder exists and that this user may write there",
        cause,
      );
    case CORRUPT:
    case NOTADB:
      return corrupt(
        file,
        `is damaged (${words(cause)}); nothing was altered, restore it from a copy`,
        cause,
      );
    case TOOBIG:
      return { _tag: "TooLarge", limit: SQLITE_MAX_LENGTH, actual: SQLITE_MAX_LENGTH + 1 };
    case 1:
      return corrupt(
        file,
        `does not hold the tables of a Runstream log (${words(cause)}); restore it from a copy`,
        cause,
      );
    default:
      return unavailable(file, words(cause), cause);
  }
};

export const messageOf = (trouble: Trouble): string => {
  switch (trouble._tag) {
    case "TooLarge":
      return `An event of ${trouble.actual} bytes is larger than the log takes (${trouble.limit} bytes).`;
    case "StreamGone":
      return `Stream ${trouble.stream} was deleted.`;
    default:
      return trouble.reason;
  }
};

export const storeError = (trouble: Trouble): StoreError => new StoreError(messageOf(trouble), trouble);

/** The StoreError an exception of the SQLite client becomes where errors are thrown or notified. */
export const storeErrorOf = (cause: unknown, file: string): StoreError =>
  StoreError.is(cause) ? cause : storeError(troubleOf(cause, file));
