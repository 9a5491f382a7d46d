/**
 * Commands that come twice, through two workers that each have a session of their own over one log: the second time nothing is written,
 * whatever came before, and who asks for what stands is answered with that.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createJournal } from "../../src/engine/journal/create-journal.ts";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import type { EventLog } from "../../src/events/event-log.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";

const RUN = "r";
const NOW = 1_000_000;
const LEASE_MS = 60_000;

interface Command {
  readonly says: string;
  /** Answers what stands; a command that answers who made the change answers `undefined` here. */
  readonly give: (journal: JournalStore) => Promise<unknown>;
}

const key = fc.constantFrom("a#0", "b#0", "sleep!a#0");
const text = fc.constantFrom("x", "y");
const instant = fc.integer({ min: NOW - 10, max: NOW + 10 });
const output = fc.constantFrom<unknown>(undefined, null, 1, new Date(5), new Map([[1, "one"]]));

const unheard = async (work: Promise<unknown>): Promise<undefined> => {
  await work;
  return undefined;
};

const command: fc.Arbitrary<Command> = fc.oneof(
  fc.tuple(key, fc.constantFrom("w1", "w2", "w3")).map<Command>(([step, holder]) => ({
    says: `claim ${step} for ${holder}`,
    give: (journal) => journal.claimAttempt(RUN, step, holder, LEASE_MS),
  })),
  fc.tuple(key, fc.constantFrom("w1", "w2", "w3")).map<Command>(([step, holder]) => ({
    says: `release ${step} of ${holder}`,
    give: (journal) => journal.releaseAttempt(RUN, step, holder),
  })),
  fc.tuple(key, output, instant).map<Command>(([step, value, finishedAt]) => ({
    says: `settle ${step}`,
    give: (journal) =>
      journal.appendStep(RUN, { key: step, name: "n", status: "ok", output: value, attempts: 1, finishedAt }),
  })),
  fc.tuple(key, instant, fc.option(text, { nil: undefined })).map<Command>(([sleep, wakeAt, id]) => ({
    says: `sleep ${sleep} until ${wakeAt}`,
    give: (journal) => journal.claimSleep(RUN, sleep, wakeAt, id),
  })),
  fc.option(fc.array(text), { nil: undefined }).map<Command>((correlationIds) => ({
    says: `wake ${correlationIds}`,
    give: (journal) => unheard(journal.wakeSleeps(RUN, correlationIds)),
  })),
  fc.constant({
    says: "elapse what is due",
    give: async (journal: JournalStore) => journal.settlements?.(RUN),
  }),
  fc.tuple(key, text).map<Command>(([hook, token]) => ({
    says: `wait for ${token} at ${hook}`,
    give: (journal) => journal.claimHook(RUN, hook, token).catch((error: Error) => error.name),
  })),
  key.map<Command>((hook) => ({ says: `close ${hook}`, give: (journal) => journal.closeHook(RUN, hook) })),
  fc.tuple(text, output).map<Command>(([token, payload]) => ({
    says: `signal ${token}`,
    give: (journal) => unheard(journal.deliverHook(token, payload)),
  })),
  fc.constantFrom("running" as const, "completed" as const, "cancelled" as const).map<Command>((status) => ({
    says: `move to ${status}`,
    give: (journal) => unheard(journal.setStatus(RUN, status, undefined, ["pending", "running"])),
  })),
);

const noIndex = (): never => expect.fail("nothing is listed here");

const length = async (log: EventLog): Promise<number> => {
  let events = 0;
  for await (const _ of log.readAll()) events += 1;
  return events;
};

const orRejection = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: Error) => `${error.name}: ${error.message}`);

test("any command given twice, to two workers, is recorded once, and what stands is answered alike", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 25 }), async (commands) => {
      const log = createMemoryLog();
      const worker = (): JournalStore => createJournal(log, { index: noIndex, clock: () => NOW });
      const [one, other] = [worker(), worker()];
      const record = {
        runId: RUN,
        workflow: "w",
        status: "pending" as const,
        createdAt: NOW,
        input: {},
      };
      await one.createRun(record);
      await expect(other.createRun(record)).rejects.toThrow("exists");
      for (const { says, give } of commands) {
        const first = await orRejection(give(one));
        const written = await length(log);
        const second = await orRejection(give(other));
        expect(await length(log), says).toBe(written);
        expect(second, says).toEqual(first);
      }
    }),
    { numRuns: 300 },
  );
});
