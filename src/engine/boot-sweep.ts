/**
 * The boot sweep: finds the runs whose deliveries ended with an earlier process and asks for them again, once, when an engine with the
 * in-process dispatcher is made. Overdue ones are spread out, so that a start is not a stampede.
 */
import type { JournalStore } from "./journal-store.ts";
import type { Logger } from "./logger.ts";
import { messageOf } from "./step-errors.ts";
import type { Dispatch } from "./workflow-engine.ts";

export const BOOT_SWEEP_LIMIT = 200;
export const BOOT_SWEEP_STAGGER_MS = 25;

export const bootSweep = async (
  journal: JournalStore,
  dispatch: Dispatch,
  {
    logger,
    clock,
    stopped,
  }: { readonly logger: Logger; readonly clock: () => number; readonly stopped: () => boolean },
): Promise<void> => {
  if (journal.resumableRuns === undefined) {
    logger.warn("Workflow runs cannot be recovered at boot", {
      detail:
        "This journal cannot list the runs that are owed a delivery. A run that was in ctx.sleep when the process ended stays there until somebody delivers it.",
    });
    return;
  }
  try {
    const runs = await journal.resumableRuns(BOOT_SWEEP_LIMIT);
    const now = clock();
    let overdue = 0;
    for (const { runId, wakeAt } of runs) {
      if (stopped()) return;
      if (wakeAt !== undefined && wakeAt > now) void dispatch(runId, wakeAt);
      else void dispatch(runId, now + overdue++ * BOOT_SWEEP_STAGGER_MS);
    }
    if (runs.length > 0) logger.info("Workflow runs recovered at boot", { runs: runs.length, overdue });
    if (runs.length === BOOT_SWEEP_LIMIT) {
      logger.warn("More workflow runs may be owed a delivery", {
        detail: `Only ${BOOT_SWEEP_LIMIT} runs are recovered at a boot; others may wait until the next one.`,
      });
    }
  } catch (error) {
    logger.error("Workflow runs could not be recovered at boot", { error: messageOf(error) });
  }
};
