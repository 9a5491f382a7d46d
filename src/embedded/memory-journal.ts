/** A journal in memory: the JournalStore over a memory EventLog, with its index in memory as well. It lives as long as the process. */

import { createJournal, type LogJournal } from "../engine/journal/create-journal.ts";
import type { EventLog } from "../events/event-log.ts";
import { openRunIndex, type RunIndex } from "../projections/run-index.ts";
import { createMemoryLog } from "../store-memory/index.ts";

/** A fresh, empty journal. `log` gives access to the facts beneath it. */
export const createMemoryJournal = (
  options: { readonly clock?: () => number } = {},
): LogJournal & { readonly log: EventLog } => {
  const log = createMemoryLog();
  let index: RunIndex | undefined;
  return Object.assign(
    createJournal(log, {
      index: () => {
        index ??= openRunIndex(log);
        return index;
      },
      ...options,
    }),
    { log },
  );
};
