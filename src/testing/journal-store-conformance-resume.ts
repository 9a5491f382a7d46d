/** Conformance cases 84–94: which runs are owed a delivery, and when. */
import assert from "node:assert/strict";
import type { JournalStore, ResumableRun } from "../engine/journal-store.ts";
import {
  DAY,
  HOUR,
  type JournalCaseGroup,
  journalCase,
  resumeCase,
  same,
} from "./journal-store-conformance-scene.ts";

const KEY = "hook!review#0";

/** What the store owes the runs of `runIds`, in its own order; other cases' runs are left out. */
export const owed = async (
  store: JournalStore,
  ...runIds: readonly string[]
): Promise<readonly ResumableRun[]> => {
  assert.ok(store.resumableRuns !== undefined, "the store has no resumableRuns");
  return (await store.resumableRuns(1_000)).filter(({ runId }) => runIds.includes(runId));
};

export const resumeCases: JournalCaseGroup = {
  title: "runs that are owed a delivery",
  cases: [
    journalCase(84, "the store has resumableRuns exactly if it says so", async ({ store, resumable }) => {
      assert.equal(typeof store.resumableRuns, resumable ? "function" : "undefined");
    }),
    resumeCase(85, "a pending run is owed one", async ({ store, newRun }) => {
      const runId = await newRun();
      same(await owed(store, runId), [{ runId }]);
    }),
    resumeCase(86, "a sleeping run is owed one at its deadline", async ({ store, newRun }) => {
      const [runId, wakeAt] = [await newRun({ status: "running" }), Date.now() + DAY];
      await store.claimSleep(runId, "sleep!nap#0", wakeAt, undefined);
      same(await owed(store, runId), [{ runId, wakeAt }]);
    }),
    resumeCase(87, "a run whose sleep has elapsed is still owed one", async ({ store, newRun }) => {
      const [runId, wakeAt] = [await newRun({ status: "running" }), Date.now() - HOUR];
      await store.claimSleep(runId, "sleep!nap#0", wakeAt, undefined);
      same(await owed(store, runId), [{ runId, wakeAt }]);
    }),
    resumeCase(88, "of two sleeps the earlier counts", async ({ store, newRun }) => {
      const [runId, wakeAt] = [await newRun({ status: "running" }), Date.now() + HOUR];
      await store.claimSleep(runId, "sleep!long#0", wakeAt + DAY, undefined);
      await store.claimSleep(runId, "sleep!short#0", wakeAt, undefined);
      same(await owed(store, runId), [{ runId, wakeAt }]);
    }),
    resumeCase(89, "a run whose sleep was woken is owed one now", async ({ store, newRun }) => {
      const runId = await newRun({ status: "running" });
      await store.claimSleep(runId, "sleep!nap#0", Date.now() + DAY, undefined);
      await store.wakeSleeps(runId, undefined);
      same(await owed(store, runId), [{ runId }]);
    }),
    resumeCase(90, "a settled run is owed nothing", async ({ store, newRun }) => {
      const runIds: string[] = [];
      for (const status of ["completed", "failed", "cancelled"] as const) {
        const runId = await newRun({ status: "running" });
        await store.setStatus(runId, status);
        runIds.push(runId);
      }
      same(await owed(store, ...runIds), []);
    }),
    resumeCase(
      91,
      "a run that waits for an answer and nothing else is owed nothing",
      async ({ store, newRun, id }) => {
        const runId = await newRun({ status: "running" });
        await store.claimHook(runId, KEY, id("token"));
        same(await owed(store, runId), []);
      },
    ),
    resumeCase(
      92,
      "a run whose window has elapsed is owed one, though the hook is open",
      async ({ store, newRun, id }) => {
        const [runId, wakeAt] = [await newRun({ status: "running" }), Date.now() - HOUR];
        await store.claimHook(runId, KEY, id("token"));
        await store.claimSleep(runId, "hookTimeout!review#0", wakeAt, undefined, "hookTimeout");
        same(await owed(store, runId), [{ runId, wakeAt }]);
      },
    ),
    resumeCase(
      93,
      "a run whose hook was answered, and one whose hook was closed, are owed one now",
      async (scene) => {
        const { store, newRun, id } = scene;
        const [answered, closed] = [await newRun({ status: "running" }), await newRun({ status: "running" })];
        const token = id("token");
        await store.claimHook(answered, KEY, token);
        await store.deliverHook(token, "yes");
        await store.claimHook(closed, KEY, id("token"));
        await store.closeHook(closed, KEY);
        const runs = await owed(store, answered, closed);
        same(runs.map(({ runId }) => runId).sort(), [answered, closed].sort());
        for (const run of runs)
          assert.equal("wakeAt" in run, false, "a run owed a delivery now has no wakeAt");
      },
    ),
    resumeCase(
      94,
      "no more than the limit are answered, and none for a limit of nothing",
      async ({ store, newRun }) => {
        await newRun();
        await newRun();
        assert.equal((await store.resumableRuns?.(1))?.length, 1);
        same(await store.resumableRuns?.(0), []);
      },
    ),
  ],
};
