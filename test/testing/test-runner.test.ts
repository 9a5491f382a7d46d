import { describe, expect, it } from "vitest";
import { journalStoreConformance } from "../../src/testing/journal-store-conformance.ts";
import { collectTests } from "../reference-journal/collecting-runner.ts";
import { createReferenceJournal } from "../reference-journal/reference-journal.ts";

describe("a conformance suite", () => {
  it("says what to hand over where there is no runner", () => {
    expect(() => journalStoreConformance(async () => ({ store: createReferenceJournal() }))).toThrow(
      "journalStoreConformance found no test runner: there is no global describe and it. Hand yours over",
    );
  });

  it("makes one store, at the first case, and disposes of it in a last test where the runner has no afterAll", async () => {
    const log: string[] = [];
    const makeStore = async () => {
      log.push("made");
      return { store: createReferenceJournal(), dispose: async () => void log.push("disposed") };
    };
    const tests = collectTests((runner) => journalStoreConformance(makeStore, runner));
    expect(log).toEqual([]);
    await tests[0]?.body();
    await tests[1]?.body();
    expect(log).toEqual(["made"]);
    await tests.at(-1)?.body();
    expect(log).toEqual(["made", "disposed"]);
  });

  it("names the cases that do not apply to a store without resumableRuns", () => {
    const tests = collectTests((runner) =>
      journalStoreConformance(async () => ({ store: createReferenceJournal() }), runner, {
        resumable: false,
      }),
    );
    const inapplicable = tests.filter(({ name }) =>
      name.includes("[not applicable: the store has no resumableRuns]"),
    );
    expect(inapplicable.flatMap(({ name }) => /^case (\d+)/.exec(name)?.[1] ?? []).map(Number)).toEqual([
      85, 86, 87, 88, 89, 90, 91, 92, 93, 94,
    ]);
  });

  it("takes the global runner where there is one", () => {
    const names: string[] = [];
    const globals = globalThis as Record<string, unknown>;
    globals.describe = (name: string, body: () => void) => {
      names.push(name);
      body();
    };
    globals.it = () => undefined;
    try {
      journalStoreConformance(async () => ({ store: createReferenceJournal() }));
    } finally {
      delete globals.describe;
      delete globals.it;
    }
    expect(names[0]).toBe("JournalStore conformance");
  });
});
