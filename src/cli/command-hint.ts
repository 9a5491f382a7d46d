/** A command line for people to copy: its words quoted for a shell, and the store named where it is not the one that is taken anyway. */
import { DEFAULT_STORE } from "./command-options.ts";
import { harmless } from "./terminal.ts";

/** `runstream` with `words`, on the store at `db`. */
export const commandHint = (words: readonly string[], db: string): string =>
  harmless(["runstream", ...words, ...(isTaken(db) ? [] : ["--db", db])].map(shellWord).join(" "));

/** Whether a command that names no store takes this one, wherever it is typed. */
const isTaken = (db: string): boolean => db === DEFAULT_STORE && !process.env.RUNSTREAM_DB;

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
