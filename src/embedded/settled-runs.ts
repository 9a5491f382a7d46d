/**
 * Who waits for the end of which run: one subscription to the ends of all runs, opened by the first who waits and kept until the close.
 * It goes on from where it was after a break, and the process stays alive while somebody waits.
 */
import { defer, retry, type Subscription, timer } from "rxjs";
import type { EventLog, Position } from "../events/event-log.ts";
import { RUN_PREFIX, runIdOf } from "../events/stream-names.ts";
import { type KeptAlive, keepAlive } from "./keep-alive.ts";

export interface SettledRuns {
  /**
   * `over` resolves when an end of the run is recorded from now on; `watching` when "now" has begun: look at the run's state after it.
   */
  wait(runId: string): { readonly watching: Promise<void>; readonly over: Promise<void>; leave(): void };
  close(): void;
}

const RESUBSCRIBE_MS = 200;
const ENDS = ["RunCompleted", "RunFailed", "RunCancelled"];

export const createSettledRuns = (log: EventLog): SettledRuns => {
  const waiters = new Map<string, Set<() => void>>();
  let subscription: Subscription | undefined;
  let watching = Promise.resolve();
  let alive: KeptAlive | undefined;

  const settled = (runId: string): void => {
    for (const resolve of waiters.get(runId) ?? []) resolve();
  };

  const watch = (): void => {
    if (subscription !== undefined) return;
    let after: Position | "end" = "end";
    watching = new Promise((caughtUp) => {
      subscription = defer(() => log.subscribe({ after, filter: { streamPrefix: RUN_PREFIX, types: ENDS } }))
        .pipe(retry({ delay: () => timer(RESUBSCRIBE_MS) }))
        .subscribe((item) => {
          after = item.position ?? after;
          if ("type" in item) settled(runIdOf(item.stream) ?? "");
          else caughtUp();
        });
    });
  };

  return {
    wait(runId) {
      watch();
      let resolve: () => void = () => {};
      const over = new Promise<void>((end) => {
        resolve = end;
      });
      const others = waiters.get(runId) ?? new Set();
      waiters.set(runId, others.add(resolve));
      alive ??= keepAlive();
      return {
        watching,
        over,
        leave() {
          others.delete(resolve);
          if (others.size === 0) waiters.delete(runId);
          if (waiters.size > 0) return;
          alive?.end();
          alive = undefined;
        },
      };
    },
    close() {
      alive?.end();
      subscription?.unsubscribe();
    },
  };
};
