/**
 * Who waits for the end of which run: one subscription to the ends of all runs, opened by the first who waits and kept until the close.
 * It goes on from where it was after a break, and the process stays alive while somebody waits. Where it cannot even begin, those who
 * wait are told the store's trouble.
 */
import { defer, retry, type Subscription, throwError, timer } from "rxjs";
import type { EventLog, Position } from "../events/event-log.ts";
import { RUN_PREFIX, runIdOf } from "../events/stream-names.ts";
import { type KeptAlive, keepAlive } from "./keep-alive.ts";

/** Somebody's wait for the end of a run. Both promises reject when the waits are closed. */
export interface SettledWait {
  /** "From now on" has begun: look at the run's state after it. */
  readonly watching: Promise<void>;
  /** An end of the run was recorded from then on. */
  readonly over: Promise<void>;
  leave(): void;
}

export interface SettledRuns {
  wait(runId: string): SettledWait;
  /** Rejects every wait with what `reason` answers for its run. */
  close(reason: (runId: string) => Error): void;
}

const RESUBSCRIBE_MS = 200;
const ENDS = ["RunCompleted", "RunFailed", "RunCancelled"];

interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

export const createSettledRuns = (
  log: EventLog,
  /** Why a wait ends when the log is closed under it. */
  logClosed: (runId: string) => Error,
): SettledRuns => {
  const waiters = new Map<string, Set<Deferred>>();
  let subscription: Subscription | undefined;
  let watching: Deferred | undefined;
  let alive: KeptAlive | undefined;

  const watch = (): Deferred => {
    if (watching !== undefined && subscription?.closed === false) return watching;
    const caughtUp = deferred();
    watching = caughtUp;
    let after: Position | "start" | "end" = "end";
    let begun = false;
    subscription = defer(() => log.subscribe({ after, filter: { streamPrefix: RUN_PREFIX, types: ENDS } }))
      .pipe(retry({ delay: (error) => (begun ? timer(RESUBSCRIBE_MS) : throwError(() => error)) }))
      .subscribe({
        next: (item) => {
          if ("type" in item) {
            after = item.position;
            for (const waiter of waiters.get(runIdOf(item.stream) ?? "") ?? []) waiter.resolve();
          } else {
            after = item.position ?? "start";
            begun = true;
            caughtUp.resolve();
          }
        },
        error: (error) => end(() => error),
        complete: () => end(logClosed),
      });
    return caughtUp;
  };

  const end = (reason: (runId: string) => Error): void => {
    for (const [runId, waiting] of waiters) for (const waiter of waiting) waiter.reject(reason(runId));
    watching?.reject(reason(""));
    watching = undefined;
  };

  return {
    wait(runId) {
      const waiter = deferred();
      const others = waiters.get(runId) ?? new Set();
      waiters.set(runId, others.add(waiter));
      alive ??= keepAlive();
      const begun = watch().promise;
      return {
        // The wait's own reason names its run, so it goes first.
        watching: Promise.race([waiter.promise, begun]),
        over: waiter.promise,
        leave() {
          others.delete(waiter);
          if (others.size === 0 && waiters.get(runId) === others) waiters.delete(runId);
          if (waiters.size > 0) return;
          alive?.end();
          alive = undefined;
        },
      };
    },
    close(reason) {
      end(reason);
      alive?.end();
      subscription?.unsubscribe();
    },
  };
};

/** A promise with its two ends. Nobody has to listen to its rejection. */
const deferred = (): Deferred => {
  let resolve: () => void = () => {};
  let reject: (reason: Error) => void = () => {};
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
};
