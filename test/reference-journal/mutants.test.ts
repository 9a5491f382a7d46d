/** A store with a defect must not pass: the suite is as good as the defects it finds. */
import { describe, expect, it } from "vitest";
import { journalStoreConformance } from "../../src/testing/journal-store-conformance.ts";
import { collectTests, failuresOf } from "./collecting-runner.ts";
import { mutants } from "./mutants.ts";
import { createReferenceJournal } from "./reference-journal.ts";

const suiteOver = (makeStore: () => ReturnType<(typeof mutants)[number]["break"]>) =>
  collectTests((runner) => journalStoreConformance(async () => ({ store: makeStore() }), runner));

describe("the conformance suite", () => {
  it("has all 94 numbered cases, each once", () => {
    const numbers = suiteOver(createReferenceJournal).flatMap(
      ({ name }) => /^case (\d+):/.exec(name)?.[1] ?? [],
    );
    expect(numbers.map(Number)).toEqual(Array.from({ length: 94 }, (_, index) => index + 1));
  });

  it("finds nothing in the store that the mutants are made from", async () => {
    expect(await failuresOf(suiteOver(createReferenceJournal))).toEqual([]);
  });

  it.each(mutants)("finds that $defect", async ({ break: broken, foundBy }) => {
    // Values up to a megabyte are there for codecs; no mutant is about their size.
    const tests = suiteOver(() => broken(createReferenceJournal())).filter(
      ({ name }) => !name.startsWith("value "),
    );
    const failed = await failuresOf(tests);
    for (const label of foundBy) {
      expect(failed.filter((name) => name.startsWith(`${label}:`))).toHaveLength(1);
    }
  });
});
