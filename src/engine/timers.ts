/**
 * Timers: turns deadlines that have passed into facts. What is due is asked of the run index; one timer waits for the next deadline,
 * so that memory does not grow with the number of sleepers.
 *
 * Invariants:
 * - M1 A timer is a hint (law L7): it fires early, late or twice without harm, since what is due is decided by the clock and recorded
 *   once, by the expected revision, whichever worker comes first.
 * - M2 It looks again at least every minute, so that a clock that was set does not leave runs asleep.
 * - M3 Trouble is logged and tried again; it never ends the timers.
 */
import { defer, retry, type Subscription, timer } from "rxjs";
import { decodeRunEvent } from "../events/codec.ts";
import type { EventLog } from "../events/event-log.ts";
import { RUN_PREFIX } from "../events/stream-names.ts";
import type { RunIndex } from "../projections/run-index.ts";
import { elapseDue } from "./decide/sleeps.ts";
import type { Logger } from "./logger.ts";
import { mapConcurrent } from "./map-concurrent.ts";
import type { SessionPool } from "./session/session-pool.ts";
import { messageOf } from "./step-errors.ts";

export interface TimersOptions {
  readonly log: EventLog;
  readonly index: RunIndex;
  readonly sessions: SessionPool;
  readonly clock: () => number;
  readonly logger: Logger;
}

export interface Timers {
  stop(): Promise<void>;
}

const LOOK_AGAIN_MS = 60_000;
const RETRY_MS = 1_000;
const PAGE = 1_000;
const AT_ONCE = 256;

export const startTimers = ({ log, index, sessions, clock, logger }: TimersOptions): Timers => {
  let stopped = false;
  let alarm: NodeJS.Timeout | undefined;
  let armedFor = Number.POSITIVE_INFINITY;
  let firing: Promise<void> | undefined;
  let again = false;

  const arm = (at: number): void => {
    if (stopped || at >= armedFor) return;
    armedFor = at;
    clearTimeout(alarm);
    alarm = setTimeout(() => fire(), Math.min(Math.max(0, at - clock()), LOOK_AGAIN_MS));
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
      const unrecorded = await elapseAllDue();
      const next = await index.nextDeadline();
      const soonest = unrecorded ? clock() + RETRY_MS : 0;
      arm(Math.max(soonest, Math.min(next ?? Number.POSITIVE_INFINITY, clock() + LOOK_AGAIN_MS)));
    } catch (error) {
      if (stopped) return;
      logger.error("Workflow timers could not look for what is due", { error: messageOf(error) });
      arm(clock() + RETRY_MS);
    }
  };

  /** Answers whether anything stayed due, because its run could not be written. */
  const elapseAllDue = async (): Promise<boolean> => {
    const until = clock();
    let failed = false;
    for (let after: Awaited<ReturnType<RunIndex["due"]>>[number] | undefined; !stopped; ) {
      const page = await index.due({ until, limit: PAGE, ...(after !== undefined && { after }) });
      const runIds = [...new Set(page.map(({ runId }) => runId))];
      await mapConcurrent(runIds, AT_ONCE, async (runId) => {
        try {
          await sessions.get(runId).propose(elapseDue(clock()));
        } catch (error) {
          failed = true;
          logger.error("Workflow deadline could not be recorded", { runId, error: messageOf(error) });
        }
      });
      after = page.at(-1);
      if (page.length < PAGE) return failed;
    }
    return failed;
  };

  const scheduled = defer(() => {
    arm(clock());
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
    .subscribe((item) => {
      if (!("type" in item)) return;
      const decoded = decodeRunEvent(item);
      if (decoded._tag === "Right" && decoded.right.type === "SleepScheduled") arm(decoded.right.data.wakeAt);
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
