/** Conformance cases 52–66: a deadline is decided once, waits are read whole, and a wake reaches what it may reach. */
import assert from "node:assert/strict";
import type { JournalStore } from "../engine/journal-store.ts";
import {
  DAY,
  HOUR,
  type JournalCaseGroup,
  journalCase,
  same,
  together,
} from "./journal-store-conformance-scene.ts";

const soon = (): number => Date.now() + DAY;

const wokenByKey = async (store: JournalStore, runId: string): Promise<Record<string, boolean>> =>
  Object.fromEntries((await store.readSleeps(runId)).map(({ key, woken }) => [key, woken]));

const claimCases: JournalCaseGroup = {
  title: "waits: a sleep is claimed once",
  cases: [
    journalCase(
      52,
      "the first deadline stands, and a later claim changes nothing",
      async ({ store, newRun }) => {
        const runId = await newRun();
        const first = await store.claimSleep(runId, "sleep!nap#0", 5_000, undefined);
        same(first, { wakeAt: 5_000, woken: false, kind: "sleep" });
        same(await store.claimSleep(runId, "sleep!nap#0", 9_000, "late"), first);
      },
    ),
    journalCase(53, "a wait without an id has none, and is not woken", async ({ store, newRun }) => {
      const record = await store.claimSleep(await newRun(), "sleep!nap#0", soon(), undefined);
      assert.equal(record.correlationId, undefined);
      assert.equal(record.woken, false);
    }),
    journalCase(54, "id and kind are stored", async ({ store, newRun }) => {
      const runId = await newRun();
      const wakeAt = soon();
      const expected = { wakeAt, woken: false, correlationId: "review", kind: "hookTimeout" };
      same(await store.claimSleep(runId, "hookTimeout!t#0", wakeAt, "review", "hookTimeout"), expected);
      same(await store.readSleeps(runId), [{ ...expected, key: "hookTimeout!t#0" }]);
    }),
    journalCase(55, "a wait is a sleep unless it says otherwise", async ({ store, newRun }) => {
      assert.equal((await store.claimSleep(await newRun(), "sleep!nap#0", soon(), undefined)).kind, "sleep");
    }),
    journalCase(56, "two concurrent claims of a wait get one deadline", async ({ store, newRun }) => {
      const runId = await newRun();
      const claim = (wakeAt: number) => () => store.claimSleep(runId, "sleep!nap#0", wakeAt, undefined);
      const [one, other] = await together(claim(5_000), claim(6_000));
      same(one, other);
    }),
  ],
};

const readCases: JournalCaseGroup = {
  title: "waits: all of them are read at once",
  cases: [
    journalCase(57, "a run without waits has none", async ({ store, newRun }) => {
      same(await store.readSleeps(await newRun()), []);
    }),
    journalCase(
      58,
      "waits of both kinds are read in the order of their keys, as they were claimed",
      async ({ store, newRun }) => {
        const runId = await newRun();
        const second = await store.claimSleep(runId, "sleep!poll#1", soon(), undefined);
        const first = await store.claimSleep(runId, "sleep!poll#0", soon(), "nightly");
        const deadline = await store.claimSleep(runId, "hookTimeout!t#0", soon(), undefined, "hookTimeout");
        same(await store.readSleeps(runId), [
          { ...deadline, key: "hookTimeout!t#0" },
          { ...first, key: "sleep!poll#0" },
          { ...second, key: "sleep!poll#1" },
        ]);
      },
    ),
    journalCase(59, "a wake is visible to the next read", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.claimSleep(runId, "sleep!nap#0", soon(), undefined);
      await store.wakeSleeps(runId, undefined);
      same(await wokenByKey(store, runId), { "sleep!nap#0": true });
    }),
    journalCase(60, "an unknown run has no waits", async ({ store, id }) => {
      same(await store.readSleeps(id("nobody")), []);
    }),
  ],
};

const wakeCases: JournalCaseGroup = {
  title: "waits: what a wake reaches",
  cases: [
    journalCase(61, "a bare wake ends sleeps, and no hook's deadline", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.claimSleep(runId, "sleep!nap#0", soon(), undefined);
      await store.claimSleep(runId, "hookTimeout!t#0", soon(), "t", "hookTimeout");
      assert.equal(await store.wakeSleeps(runId, undefined), 1);
      same(await wokenByKey(store, runId), { "hookTimeout!t#0": false, "sleep!nap#0": true });
    }),
    journalCase(
      62,
      "a wake with ids ends the waits that declared one, of any kind",
      async ({ store, newRun }) => {
        const runId = await newRun();
        await store.claimSleep(runId, "hookTimeout!a#0", soon(), "a", "hookTimeout");
        await store.claimSleep(runId, "hookTimeout!b#0", soon(), "b", "hookTimeout");
        assert.equal(await store.wakeSleeps(runId, ["a"]), 1);
        same(await wokenByKey(store, runId), { "hookTimeout!a#0": true, "hookTimeout!b#0": false });
      },
    ),
    journalCase(63, "an empty id does not reach a wait that declared none", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.claimSleep(runId, "sleep!nap#0", soon(), undefined);
      assert.equal(await store.wakeSleeps(runId, [""]), 0);
      same(await wokenByKey(store, runId), { "sleep!nap#0": false });
    }),
    journalCase(64, "a wait is woken once", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.claimSleep(runId, "sleep!nap#0", soon(), undefined);
      assert.equal(await store.wakeSleeps(runId, undefined), 1);
      assert.equal(await store.wakeSleeps(runId, undefined), 0);
    }),
    journalCase(65, "a wait that has elapsed is not woken", async ({ store, newRun }) => {
      const runId = await newRun();
      await store.claimSleep(runId, "sleep!nap#0", Date.now() - HOUR, undefined);
      assert.equal(await store.wakeSleeps(runId, undefined), 0);
      same(await wokenByKey(store, runId), { "sleep!nap#0": false });
    }),
    journalCase(66, "a run without waits and an unknown run wake none", async ({ store, newRun, id }) => {
      assert.equal(await store.wakeSleeps(await newRun(), undefined), 0);
      assert.equal(await store.wakeSleeps(id("nobody"), undefined), 0);
    }),
  ],
};

export const sleepCases: readonly JournalCaseGroup[] = [claimCases, readCases, wakeCases];
