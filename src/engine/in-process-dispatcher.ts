/**
 * The in-process dispatcher: deliveries by timers of this process. What it forgets when the process ends is found again by the boot
 * sweep (`resumableRuns`).
 *
 * Invariants:
 * - D1 One walk a run at a time in this process: deliveries that arrive meanwhile become one more after it.
 * - D2 A timer is never longer than 2^31-1 ms, never keeps the process alive, and an early one is set again (law L7).
 * - D3 A delivery that fails is logged, never unhandled.
 */
import { sliceDelay } from "./deadline.ts";
import type { Logger } from "./logger.ts";
import { messageOf } from "./step-errors.ts";

export interface InProcessDispatcher {
  dispatch(runId: string, at?: number): void;
  /** Forgets what is scheduled and ignores what comes. Walks in flight go on. */
  stop(): void;
  readonly stopped: boolean;
}

export const createInProcessDispatcher = (
  execute: (runId: string) => Promise<unknown>,
  { logger, clock }: { readonly logger: Logger; readonly clock: () => number },
): InProcessDispatcher => {
  const timers = new Set<NodeJS.Timeout>();
  const walking = new Map<string, { again: boolean }>();
  let stopped = false;

  const later = (delayMs: number, then: () => void): void => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      then();
    }, delayMs);
    timer.unref();
    timers.add(timer);
  };

  const schedule = (runId: string, at: number | undefined): void => {
    if (stopped) return;
    const delayMs = at === undefined ? 0 : sliceDelay(at - clock());
    later(delayMs, () => {
      if (at !== undefined && at > clock()) schedule(runId, at);
      else void deliver(runId);
    });
  };

  const deliver = async (runId: string): Promise<void> => {
    const current = walking.get(runId);
    if (current !== undefined) {
      current.again = true;
      return;
    }
    const walk = { again: false };
    walking.set(runId, walk);
    try {
      await execute(runId);
    } catch (error) {
      logger.error("Workflow delivery failed", { runId, error: messageOf(error) });
    }
    walking.delete(runId);
    if (walk.again) schedule(runId, undefined);
  };

  return {
    dispatch: schedule,
    stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
    get stopped() {
      return stopped;
    },
  };
};
