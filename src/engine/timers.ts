/**
 * Timers: turns deadlines that have passed into facts. What is due is asked of the run index; one timer waits for the next deadline,
 * so that memory does not grow with the number of sleepers.
 *
 * Invariants:
 * - M1 A timer is a hint (law L7): it fires early, late or twice without harm, since what is due is decided by the clock and recorded
 *   once, by the expected revision, whichever worker comes first.
 * - M2 It looks again at least every minute, so that a clock that was set does not leave runs asleep.
 * - M3 Trouble is logged and tried again; it never ends the timers, and a run that cannot be written holds up no other.
 * - M4 Every look goes on from what the one before left behind: what stays due is looked at again after a wait, never at once.
 */
import { defer, retry, type Subscription, timer } from "rxjs";
import { decodeRunEvent } from "../events/codec.ts";
import type { EventLog } from "../events/event-log.ts";
import { RUN_PREFIX } from "../events/stream-names.ts";
import type { RunIndex } from "../projections/run-index.ts";
import type { DueWait } from "../projections/run-index-waits.ts";
import { elapseDue } from "./decide/sleeps.ts";
import type { Logger } from "./logger.ts";
import { mapConcurrent } from "./map-concurrent.ts";
import type { SessionPool } from "./session/session-pool.ts";
import { messageOf } from "./step-errors.ts";

export interface TimersOptions {
  readonly log: EventLog;
  readonly index: Pick<RunIndex, "due">;
  readonly sessions: SessionPool;
  readonly clock: () => number;
  readonly logger: Logger;
}

export interface Timers {
  stop(): Promise<void>;
}

/** A worker that starts takes over what can go on first: the index behind a look may have much to read. */
const FIRST_LOOK_MS = 50;
const LOOK_AGAIN_MS = 60_000;
const RETRY_MS = 1_000;
const PAGE = 1_000;
const AT_ONCE = 256;

/** What a look found: how far it looked, where it stopped, and whether it left something due behind. */
interface Look {
  readonly until: number;
  readonly last: DueWait | undefined;
  readonly left: boolean;
}

export const startTimers = ({ log, index, sessions, clock, logger }: TimersOptions): Timers => {
  const unwritable = new Set<string>();
  let stopped = false;
  let alarm: NodeJS.Timeout | undefined;
  /** When the alarm rings, on a clock that nobody sets. */
  let armedFor = Number.POSITIVE_INFINITY;
  let firing: Promise<void> | undefined;
  let again = false;
  let retryMs = RETRY_MS;

  const armIn = (ms: number): void => {
    const delayMs = Math.min(Math.max(0, ms), LOOK_AGAIN_MS);
    const at = performance.now() + delayMs;
    if (stopped || at >= armedFor) return;
    armedFor = at;
    clearTimeout(alarm);
    alarm = setTimeout(() => fire(), delayMs);
    alarm.unref();
  };

  /** One look at a time; a deadline that passes meanwhile is looked for right after it. */
  const fire = (): void => {
    armedFor = Number.POSITIVE_INFINITY;
    if (firing !== undefined) {
      again = true;
      return;
    }
    again = false;
    firing = look().finally(() => {
      firing = undefined;
      if (again && !stopped) fire();
    });
  };

  const look = async (): Promise<void> => {
    try {
      const { until, last, left } = await elapseAllDue();
      if (stopped) return;
      const [next] = await index.due({
        until: Number.POSITIVE_INFINITY,
        limit: 1,
        ...(last !== undefined && { after: last }),
      });
      armIn(LOOK_AGAIN_MS);
      if (next !== undefined && next.wakeAt > until) armIn(next.wakeAt - clock());
      if (left || (next !== undefined && next.wakeAt <= until)) {
        armIn(retryMs);
        retryMs = Math.min(retryMs * 2, LOOK_AGAIN_MS);
      } else retryMs = RETRY_MS;
    } catch (error) {
      if (stopped) return;
      logger.error("Workflow timers could not look for what is due", { error: messageOf(error) });
      armIn(RETRY_MS);
    }
  };

  const elapseAllDue = async (): Promise<Look> => {
    const until = clock();
    let last: DueWait | undefined;
    let left = false;
    for (;;) {
      const page = await index.due({ until, limit: PAGE, ...(last !== undefined && { after: last }) });
      const runIds = [...new Set(page.map(({ runId }) => runId))];
      await mapConcurrent(runIds, AT_ONCE, async (runId) => {
        if (!(await elapse(runId, until))) left = true;
      });
      last = page.at(-1) ?? last;
      if (page.length < PAGE || stopped) return { until, last, left };
    }
  };

  /** Answers whether it recorded anything: what stays due without that must not be looked for again at once. */
  const elapse = async (runId: string, until: number): Promise<boolean> => {
    if (stopped) return false;
    try {
      const recorded = await sessions.get(runId).propose(elapseDue(until));
      unwritable.delete(runId);
      return recorded > 0;
    } catch (error) {
      if (!stopped && !unwritable.has(runId)) {
        unwritable.add(runId);
        logger.error("Workflow deadline could not be recorded", { runId, error: messageOf(error) });
      }
      return false;
    }
  };

  const scheduled = defer(() => {
    armIn(FIRST_LOOK_MS);
    return log.subscribe({ after: "end", filter: { streamPrefix: RUN_PREFIX, types: ["SleepScheduled"] } });
  });
  const subscription: Subscription = scheduled
    .pipe(
      retry({
        delay: (error: unknown) => {
          logger.error("Workflow timers lost their subscription", { error: messageOf(error) });
          return timer(RETRY_MS);
        },
      }),
    )
    .subscribe({
      next: (item) => {
        if (!("type" in item)) return;
        const decoded = decodeRunEvent(item);
        if (decoded._tag === "Right" && decoded.right.type === "SleepScheduled")
          armIn(decoded.right.data.wakeAt - clock());
      },
      complete: () => {
        // The log was closed: there is nothing to look at any more.
        stopped = true;
        clearTimeout(alarm);
      },
    });

  return {
    async stop() {
      stopped = true;
      clearTimeout(alarm);
      subscription.unsubscribe();
      await firing;
    },
  };
};
