import { describe, it } from "vitest";
import { createMemoryJournal } from "../../src/embedded/memory-journal.ts";
import { journalStoreConformance } from "../../src/testing/journal-store-conformance.ts";

describe("the journal over a memory log is a JournalStore", () => {
  journalStoreConformance(async () => ({ store: createMemoryJournal() }), { describe, it });
});
