import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, it } from "vitest";
import { createJournal, createMemoryJournal, openRunIndex } from "../../src/index.ts";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { journalStoreConformance } from "../../src/testing/index.ts";

const runner = { describe, it, afterAll };

describe("the journal over a memory log is a JournalStore", () => {
  journalStoreConformance(async () => ({ store: createMemoryJournal() }), runner);
});

describe("the journal over a SQLite file is a JournalStore", () => {
  journalStoreConformance(async () => {
    const folder = mkdtempSync(join(tmpdir(), "runstream-journal-"));
    const log = openSqliteLog(join(folder, "runs.db"));
    const index = openRunIndex(log, { path: join(folder, "runs.db-index") });
    return {
      store: createJournal(log, { index: () => index }),
      dispose: async () => {
        await index.close();
        await log.close();
        rmSync(folder, { recursive: true });
      },
    };
  }, runner);
});
