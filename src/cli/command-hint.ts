/** A command line for people to copy: its words quoted for a shell, and the store named where it is not the one that is taken anyway. */
import { usualStore } from "./command-options.ts";
import { shownStore } from "./store.ts";
import { harmless } from "./terminal.ts";

/** `runstream` with `words`, on `store`; a password in it is left out. */
export const commandHint = (words: readonly string[], store: string): string =>
  harmless(
    ["runstream", ...words, ...(store === usualStore() ? [] : ["--store", shownStore(store)])]
      .map(shellWord)
      .join(" "),
  );

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
