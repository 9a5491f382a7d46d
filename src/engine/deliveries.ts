/**
 * Deliveries from the log: which facts ask for a walk, and the subscription that turns them into walks.
 *
 * Every worker of a group gets a share of the runs; a run stays with its worker while that lives.
 *
 * Invariants:
 * - V1 The group's subscription is opened again when it breaks, without touching the walks under way: a run that is redelivered
 *   meanwhile is walked after them, not beside them.
 * - V2 Stopping drains: no further walk begins, walks under way come to their end or are given up after a grace time, and what was not
 *   acked goes to the other workers.
 * - V3 A run that is cancelled by another process has its walks here aborted.
 * - V4 A delivery that arrives while its run is walked is looked at at once, besides being walked for: the walk goes on with what another
 *   process recorded, instead of hearing of it at its own next append.
 * - V5 A run that no further walk can help (blocked-runs.ts) is said once and looked at seldom; a new fact of it is looked at at once.
 */
import { defer, finalize, from, type Observable, retry, type Subscription, tap, timer } from "rxjs";
import type { Consumed, EventLog } from "../events/event-log.ts";
import { RUN_PREFIX, runIdOf } from "../events/stream-names.ts";
import { BlockedRuns, isBlocking, lookAgainMs } from "./blocked-runs.ts";
import { sliceDelay } from "./deadline.ts";
import type { Logger } from "./logger.ts";
import { pauseMs, walks } from "./pipeline.ts";
import { messageOf } from "./step-errors.ts";
import { UndeclaredWorkflowError } from "./undeclared-workflow-error.ts";

/** The facts after which a run has something to do. */
export const DELIVERED_TYPES = ["RunCreated", "SleepElapsed", "SleepWoken", "HookDelivered"] as const;

export interface DeliveriesOptions {
  readonly log: EventLog;
  /**
   * The consumer group. All its workers must declare the same workflows: a run stays with its worker, also with one that cannot walk it,
   * until that one stops.
   */
  readonly group: string;
  readonly execute: (runId: string, signal: AbortSignal, reaching: number) => Promise<unknown>;
  /** Has the walk of a run in this process hear at once what another process recorded meanwhile. It must not throw. */
  readonly look: (runId: string) => void;
  /** Aborts the walks of a run in this process, if there are any. */
  readonly abortWalks: (runId: string) => void;
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

/** How many deliveries a worker holds for each walk it may do at once: what it holds and does not walk, others could. */
const HELD_PER_WALK = 2;
/** How long an aborted walk may take to come to rest. */
const REST_MS = 1_000;

export const startDeliveries = (options: DeliveriesOptions): Deliveries => {
  const { log, group, execute, concurrency, logger } = options;
  const giveUp = new AbortController();
  const undeclared = new Set<string>();
  const blocked = new BlockedRuns();
  const walking = new Set<string>();
  let draining = false;
  let idle: (() => void) | undefined;

  const walk = (runId: string, reaching: number): Observable<unknown> =>
    defer(() => {
      walking.add(runId);
      return from(execute(runId, giveUp.signal, reaching));
    }).pipe(
      tap({ complete: () => blocked.delete(runId) }),
      // After the acks: this is told only when those who listen have seen the end.
      finalize(() => {
        walking.delete(runId);
        if (walking.size === 0) idle?.();
      }),
    );

  const failed = (runId: string, error: unknown): void => {
    if (giveUp.signal.aborted) return;
    if (isBlocking(error)) {
      const reason = messageOf(error);
      if (blocked.add(runId, reason))
        logger.error("Workflow run cannot go on; it is left alone, and looked at again within the hour", {
          runId,
          error: reason,
        });
    } else if (!UndeclaredWorkflowError.is(error)) {
      logger.error("Workflow delivery failed", { runId, error: messageOf(error) });
    } else if (!undeclared.has(error.workflow)) {
      undeclared.add(error.workflow);
      logger.error("Workflow is not declared by this worker; its runs are left to workers that declare it", {
        workflow: error.workflow,
        runId,
        group,
      });
    }
  };

  const deliveries = log
    .consume(group, {
      filter: { streamPrefix: RUN_PREFIX, types: DELIVERED_TYPES },
      maxInFlight: concurrency * HELD_PER_WALK,
    })
    .pipe(
      openedAgain<Consumed>("Workflow deliveries broke off", group, logger),
      tap(({ event }) => {
        const runId = runIdOf(event.stream);
        if (runId !== undefined && walking.has(runId)) options.look(runId);
      }),
    );
  const cancelled = log
    .subscribe({ after: "end", filter: { streamPrefix: RUN_PREFIX, types: ["RunCancelled"] } })
    .pipe(openedAgain("Workflow cancellations broke off", group, logger));

  const subscription: Subscription = walks(deliveries, {
    runOf: ({ event }) => runIdOf(event.stream),
    walk,
    concurrency,
    failed,
    pause: (error, failures) => (isBlocking(error) ? lookAgainMs(failures) : pauseMs(failures)),
    draining: () => draining,
  }).subscribe({
    complete: () => {
      if (!draining) logger.error("Workflow deliveries ended: the log was closed under them", { group });
    },
  });
  subscription.add(
    cancelled.subscribe((item) => {
      const runId = "type" in item ? runIdOf(item.stream) : undefined;
      if (runId !== undefined) options.abortWalks(runId);
    }),
  );

  return {
    get walking() {
      return walking.size;
    },
    async stop(graceMs) {
      draining = true;
      const drained = new Promise<void>((resolve) => {
        idle = resolve;
        if (walking.size === 0) resolve();
      });
      await within(graceMs, drained);
      if (walking.size > 0) {
        giveUp.abort(new DOMException("The worker is stopping; the run goes on elsewhere.", "AbortError"));
        await within(REST_MS, drained);
      }
      subscription.unsubscribe();
    },
  };
};

/** Opens the source again when it breaks, after a wait that doubles until something comes through. */
const openedAgain = <T>(trouble: string, group: string, logger: Logger) =>
  retry<T>({
    delay: (error: unknown, failures) => {
      logger.error(trouble, { group, error: messageOf(error) });
      return timer(pauseMs(failures - 1));
    },
    resetOnSuccess: true,
  });

const within = async (ms: number, done: Promise<void>): Promise<void> => {
  let timeout: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timeout = setTimeout(resolve, sliceDelay(ms));
  });
  await Promise.race([done, late]);
  clearTimeout(timeout);
};
