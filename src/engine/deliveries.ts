/**
 * Deliveries from the log: which facts ask for a walk, and the one subscription that turns them into walks.
 *
 * Every worker of a group gets a share of the runs; a run stays with its worker while that lives. Stopping drains: no further walk
 * begins, walks under way come to their end or are given up after a grace time, and what was not acked goes to the other workers.
 */
import { retry, type Subscription, timer } from "rxjs";
import type { EventLog } from "../events/event-log.ts";
import { RUN_PREFIX, runIdOf } from "../events/stream-names.ts";
import type { Logger } from "./logger.ts";
import { FIRST_RETRY_MS, LONGEST_RETRY_MS, walks } from "./pipeline.ts";
import { messageOf } from "./step-errors.ts";

/** The facts after which a run has something to do. */
export const DELIVERED_TYPES = ["RunCreated", "SleepElapsed", "SleepWoken", "HookDelivered"] as const;

export interface DeliveriesOptions {
  readonly log: EventLog;
  /** The consumer group; all its workers must declare the same workflows. */
  readonly group: string;
  readonly execute: (runId: string, signal: AbortSignal) => Promise<unknown>;
  /** Walks at once in this worker. */
  readonly concurrency: number;
  readonly logger: Logger;
}

export interface Deliveries {
  /** Walks under way. */
  readonly walking: number;
  /** Drains, for at most `graceMs`; then walks under way are aborted and their deliveries left to others. */
  stop(graceMs: number): Promise<void>;
}

/** How many deliveries a worker holds for each walk it may do at once. */
const HELD_PER_WALK = 4;

export const startDeliveries = ({
  log,
  group,
  execute,
  concurrency,
  logger,
}: DeliveriesOptions): Deliveries => {
  const giveUp = new AbortController();
  let walking = 0;
  let draining = false;
  let idle: (() => void) | undefined;

  const walk = async (runId: string): Promise<void> => {
    walking += 1;
    try {
      await execute(runId, giveUp.signal);
    } finally {
      walking -= 1;
      if (walking === 0) idle?.();
    }
  };

  const deliveries = log.consume(group, {
    filter: { streamPrefix: RUN_PREFIX, types: DELIVERED_TYPES },
    maxInFlight: concurrency * HELD_PER_WALK,
  });
  const pipeline = walks(deliveries, {
    runOf: ({ event }) => runIdOf(event.stream),
    walk,
    concurrency,
    logger,
    draining: () => draining,
  }).pipe(
    retry({
      delay: (error: unknown, failures) => {
        logger.error("Workflow deliveries broke off", { group, error: messageOf(error) });
        return timer(Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures, 16), LONGEST_RETRY_MS));
      },
      resetOnSuccess: true,
    }),
  );
  const subscription: Subscription = pipeline.subscribe();

  return {
    get walking() {
      return walking;
    },
    async stop(graceMs) {
      draining = true;
      if (walking > 0) {
        const drained = new Promise<void>((resolve) => {
          idle = resolve;
        });
        await within(graceMs, drained);
        if (walking > 0) {
          giveUp.abort(new DOMException("The worker is stopping; the run goes on elsewhere.", "AbortError"));
          await within(graceMs, drained);
        }
      }
      subscription.unsubscribe();
    },
  };
};

const within = async (ms: number, done: Promise<void>): Promise<void> => {
  let timeout: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timeout = setTimeout(resolve, ms);
  });
  await Promise.race([done, late]);
  clearTimeout(timeout);
};
