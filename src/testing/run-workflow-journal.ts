/**
 * The journal as the driver hands it to its engine: the store's own, except while a test bends it.
 *
 * - J1 A method is replaced only while it has something to do, so that a walk runs on the store's own methods, as it does in production.
 * - J2 What is stored is never changed: an expired window is a way of answering.
 */
import type { JournalStore } from "../engine/journal-store.ts";

export interface BentJournal {
  readonly journal: JournalStore;
  /** Runs `work` while the deadline of every hook is answered as over. */
  expiring(work: () => Promise<void>): Promise<void>;
}

/** `onCrash` is called once, when the step `crashAt` has been charged and before the engine learns of it. */
export const bendJournal = (
  store: JournalStore,
  crashAt: string | undefined,
  onCrash: () => void,
): BentJournal => {
  const journal = { ...store };
  if (crashAt !== undefined) {
    journal.claimAttempt = async (runId, key, holder, leaseMs) => {
      const holders = await store.claimAttempt(runId, key, holder, leaseMs);
      if (journal.claimAttempt !== store.claimAttempt && key.startsWith(`${crashAt}#`)) {
        journal.claimAttempt = store.claimAttempt;
        onCrash();
      }
      return holders;
    };
  }
  return {
    journal,
    expiring: async (work) => {
      journal.claimSleep = async (runId, key, wakeAt, correlationId, kind) => {
        const record = await store.claimSleep(runId, key, wakeAt, correlationId, kind);
        return record.kind === "hookTimeout" ? { ...record, woken: true } : record;
      };
      try {
        await work();
      } finally {
        journal.claimSleep = store.claimSleep;
      }
    },
  };
};
