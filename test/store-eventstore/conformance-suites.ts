/** Both conformance suites over any server: the stand-in always, others where they are to be had (`test/esdb-servers`). */
import { afterAll, describe, it } from "vitest";
import { createJournal, openRunIndex } from "../../src/index.ts";
import { type EventStoreLogOptions, openEventStoreLog } from "../../src/store-eventstore/index.ts";
import { eventLogConformance } from "../../src/testing/event-log-conformance.ts";
import { journalStoreConformance } from "../../src/testing/index.ts";

/** `server` is asked when a case begins; the server takes appends of 4 MiB, and may hold whatever it likes. */
export const logConformance = (server: () => string, options?: EventStoreLogOptions): void => {
  eventLogConformance(
    async () => {
      const log = await openEventStoreLog(server(), options);
      return { log, reopen: () => openEventStoreLog(server(), options), dispose: () => log.close() };
    },
    { describe, it, deadlineMs: 30_000 },
  );
};

export const journalConformance = (server: () => string, options?: EventStoreLogOptions): void => {
  journalStoreConformance(
    async () => {
      const log = await openEventStoreLog(server(), options);
      const index = openRunIndex(log, { path: ":memory:" });
      return {
        store: createJournal(log, { index: () => index }),
        dispose: async () => {
          await index.close();
          await log.close();
        },
      };
    },
    { describe, it, afterAll },
  );
};
