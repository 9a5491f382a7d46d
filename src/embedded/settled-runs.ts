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
  /**
   * "From now on" has begun, and began at the instant answered, in milliseconds of `performance.now()`: look at the run's state after
   * it, unless what is known of it is younger than that.
   */
  readonly watching: Promise<number>;
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

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
}

export interface SettledRunsOptions {
  /** Called for every end of a run that is recorded while somebody watches, before who waits for it is told. */
  readonly onEnd: (runId: string, revision: number) => void;
  /** Why a wait ends when the log is closed under it. */
  readonly logClosed: (runId: string) => Error;
}

export const createSettledRuns = (log: EventLog, { onEnd, logClosed }: SettledRunsOptions): SettledRuns => {
  const waiters = new Map<string, Set<Deferred<void>>>();
  let subscription: Subscription | undefined;
  let watching: Deferred<number> | undefined;
  let alive: KeptAlive | undefined;

  const watch = (): Deferred<number> => {
    if (watching !== undefined && subscription?.closed === false) return watching;
    const caughtUp = deferred<number>();
    watching = caughtUp;
    let after: Position | "start" | "end" = "end";
    let begun = false;
    subscription = defer(() => log.subscribe({ after, filter: { streamPrefix: RUN_PREFIX, types: ENDS } }))
      .pipe(retry({ delay: (error) => (begun ? timer(RESUBSCRIBE_MS) : throwError(() => error)) }))
      .subscribe({
        next: (item) => {
          if ("type" in item) {
            after = item.position;
            const runId = runIdOf(item.stream) ?? "";
            onEnd(runId, item.revision);
            for (const waiter of waiters.get(runId) ?? []) waiter.resolve();
          } else {
            after = item.position ?? "start";
            begun = true;
            caughtUp.resolve(performance.now());
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
      const waiter = deferred<void>();
      const others = waiters.get(runId) ?? new Set();
      waiters.set(runId, others.add(waiter));
      alive ??= keepAlive();
      const begun = watch().promise;
      return {
        // The wait's own reason names its run, so it goes first.
        watching: Promise.race([waiter.promise.then(() => Number.POSITIVE_INFINITY), begun]),
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
const deferred = <T>(): Deferred<T> => {
  let resolve: (value: T) => void = () => {};
  let reject: (reason: Error) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
};
