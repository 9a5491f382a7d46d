/** Conformance cases 34–45: a charge is a lease of one holder, counted among those that are still live. */
import type { JournalStore } from "../engine/journal-store.ts";
import {
  at,
  HOUR,
  type JournalCaseGroup,
  journalCase,
  same,
  together,
} from "./journal-store-conformance-scene.ts";

const MINUTE = HOUR / 60;

const claimer =
  (store: JournalStore, runId: string, key = "work#0") =>
  (holder: string, leaseMs = HOUR): Promise<number> =>
    store.claimAttempt(runId, key, holder, leaseMs);

const ago = (ms: number): number => Date.now() - ms;

const inTurn = async (...calls: readonly (() => Promise<number>)[]): Promise<number[]> => {
  const answers: number[] = [];
  for (const call of calls) answers.push(await call());
  return answers;
};

export const attemptCases: JournalCaseGroup = {
  title: "steps: attempts are leases",
  cases: [
    journalCase(34, "three holders count one, two, three", async ({ store, newRun }) => {
      const claim = claimer(store, await newRun());
      same(
        await inTurn(
          () => claim("w1"),
          () => claim("w2"),
          () => claim("w3"),
        ),
        [1, 2, 3],
      );
    }),
    journalCase(35, "one holder counts once however often it claims", async ({ store, newRun }) => {
      const claim = claimer(store, await newRun());
      same(
        await inTurn(
          () => claim("w1"),
          () => claim("w1"),
          () => claim("w1"),
        ),
        [1, 1, 1],
      );
    }),
    journalCase(36, "charges older than the lease are forgotten", async ({ store, newRun }) => {
      const claim = claimer(store, await newRun());
      same(
        await at(ago(2 * HOUR), () =>
          inTurn(
            () => claim("w1"),
            () => claim("w2"),
          ),
        ),
        [1, 2],
      );
      same(await claim("w3"), 1);
    }),
    journalCase(37, "a lease of nothing still counts the one who claims", async ({ store, newRun }) => {
      const runId = await newRun();
      same(await claimer(store, runId, "fresh#0")("w1", 0), 1);
      const claim = claimer(store, runId, "used#0");
      await at(ago(2 * HOUR), () => claim("w1"));
      same(await claim("w2", 0), 1);
    }),
    journalCase(38, "an expired charge is renewed by its holder", async ({ store, newRun }) => {
      const claim = claimer(store, await newRun());
      await at(ago(2 * HOUR), () => claim("w1"));
      same(
        await inTurn(
          () => claim("w1"),
          () => claim("w2"),
        ),
        [1, 2],
      );
    }),
    journalCase(39, "a live charge is not refreshed by its holder", async ({ store, newRun }) => {
      const claim = claimer(store, await newRun());
      await at(ago(30 * MINUTE), () => claim("w1"));
      same(await claim("w1"), 1);
      same(await claim("w2", 10 * MINUTE), 1);
    }),
    journalCase(40, "two keys of a run are counted apart", async ({ store, newRun }) => {
      const runId = await newRun();
      const [first, second] = [claimer(store, runId, "first#0"), claimer(store, runId, "second#0")];
      same(
        await inTurn(
          () => first("w1"),
          () => first("w2"),
          () => second("w1"),
          () => first("w3"),
        ),
        [1, 2, 1, 3],
      );
    }),
    journalCase(41, "two runs with the same key are counted apart", async ({ store, newRun }) => {
      const [one, other] = [claimer(store, await newRun()), claimer(store, await newRun())];
      same(
        await inTurn(
          () => one("w1"),
          () => one("w2"),
          () => other("w1"),
          () => other("w3"),
        ),
        [1, 2, 1, 2],
      );
    }),
    journalCase(42, "three concurrent holders never get the same number", async ({ store, newRun }) => {
      const claim = claimer(store, await newRun());
      const answers = await together(
        () => claim("w1"),
        () => claim("w2"),
        () => claim("w3"),
      );
      same(answers.sort(), [1, 2, 3]);
    }),
    journalCase(43, "a charge that was given back no longer counts", async ({ store, newRun }) => {
      const runId = await newRun();
      const claim = claimer(store, runId);
      await inTurn(
        () => claim("w1"),
        () => claim("w2"),
      );
      await store.releaseAttempt(runId, "work#0", "w2");
      same(await claim("w3"), 2);
    }),
    journalCase(
      44,
      "giving back what one never had takes nobody else's charge",
      async ({ store, newRun }) => {
        const runId = await newRun();
        const claim = claimer(store, runId);
        await claim("w1");
        await store.releaseAttempt(runId, "work#0", "w2");
        await store.releaseAttempt(runId, "work#0", "w2");
        same(await claim("w3"), 2);
      },
    ),
    journalCase(
      45,
      "giving back twice is giving back once, and the holder may claim again",
      async ({ store, newRun }) => {
        const runId = await newRun();
        const claim = claimer(store, runId);
        await claim("w1");
        await store.releaseAttempt(runId, "work#0", "w1");
        await store.releaseAttempt(runId, "work#0", "w1");
        same(await claim("w1"), 1);
      },
    ),
  ],
};
