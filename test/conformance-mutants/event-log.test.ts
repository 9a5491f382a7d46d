/**
 * The teeth of the EventLog conformance suite: each log here breaks one promise on purpose, and the cases that keep that promise
 * must say so. The sound log passes the very same cases, so a case that always fails does not count as a tooth.
 */
import { AssertionError } from "node:assert";
import { describe, expect, it } from "vitest";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { eventLogConformance } from "../../src/testing/event-log-conformance.ts";
import { DELIVERY_DEFECTS } from "./event-log-delivery-defects.ts";
import { type Defect, WRITING_DEFECTS } from "./event-log-writing-defects.ts";

interface Case {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/** The suite's cases for a log changed by a defect: collected and not run. */
const casesOf = (change: Defect[2], deadlineMs: number): Case[] => {
  const cases: Case[] = [];
  const makeLog = () => {
    const log = createMemoryLog();
    return { log: { ...log, ...change(log) }, dispose: () => log.close() };
  };
  eventLogConformance(makeLog, {
    describe: (_, body) => body(),
    it: (name, run) => cases.push({ name, run }),
    deadlineMs,
  });
  return cases;
};

const failures = async (cases: readonly Case[]): Promise<unknown[]> => {
  const errors: unknown[] = [];
  for (const { run } of cases) await run().catch((error) => errors.push(error));
  return errors;
};

/** A verdict of the suite, and not a fault of the broken log or of the case. */
const isVerdict = (error: unknown): boolean =>
  error instanceof AssertionError ||
  (error instanceof Error && /^waited \d+ ms in vain for /.test(error.message));

describe("the EventLog conformance suite", () => {
  it("finds no fault with a sound log", async () => {
    const cases = casesOf(() => ({}), 10_000);
    expect(cases.length).toBeGreaterThan(100);
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    expect(await failures(cases)).toEqual([]);
  });

  for (const [name, noticedBy, change] of [...WRITING_DEFECTS, ...DELIVERY_DEFECTS]) {
    it(`notices a log that ${name}`, async () => {
      const cases = casesOf(change, 150).filter((one) => noticedBy.test(one.name));
      const errors = await failures(cases);
      expect(errors.length).toBeGreaterThan(0);
      expect(errors.filter((error) => !isVerdict(error))).toEqual([]);
    });
  }
});
