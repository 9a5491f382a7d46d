import { afterAll, describe, it } from "vitest";
import { journalStoreConformance } from "../../src/testing/journal-store-conformance.ts";
import { createReferenceJournal } from "./reference-journal.ts";

describe("a journal written by somebody else", () => {
  journalStoreConformance(async () => ({ store: createReferenceJournal() }), { describe, it, afterAll });
});

describe("a journal written by somebody else, which cannot enumerate its runs", () => {
  const makeStore = async () => {
    const { resumableRuns: _, ...store } = createReferenceJournal();
    return { store };
  };
  journalStoreConformance(makeStore, { describe, it, afterAll }, { resumable: false });
});
