/**
 * A run as it goes on: its events as they are recorded, by whatever process, and whether it is over or has nothing to do but wait.
 */
import { decodeRunEvent } from "../events/codec.ts";
import type { EventLog } from "../events/event-log.ts";
import { runStream } from "../events/stream-names.ts";
import type { HistoryEntry } from "../projections/history.ts";
import { reportOf } from "../projections/run-report.ts";
import { isTerminal } from "../projections/run-state.ts";
import { type Timeline, timelineBuilder } from "../projections/timeline.ts";

export interface FollowedRun {
  /** Resolves when nothing that is recorded from now on can be missed. */
  readonly ready: Promise<void>;
  /** Resolves when the run is over; rejects where the log fails. */
  readonly over: Promise<void>;
  /** Resolves when the run has waited, with no step under way, for {@link QUIET_MS}. */
  readonly parked: Promise<void>;
  readonly timeline: Timeline;
  stop(): void;
}

/** A wait that is over sooner than this, in milliseconds, is not worth the word. */
const QUIET_MS = 500;

/** Follows a run that is not recorded yet. `next` is told of every event, in order, once. */
export const followRun = (log: EventLog, runId: string, next: (entry: HistoryEntry) => void): FollowedRun => {
  const { timeline, add } = timelineBuilder();
  const ready = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const parked = Promise.withResolvers<void>();
  let quiet: NodeJS.Timeout | undefined;

  const note = (entry: HistoryEntry): void => {
    if (entry.revision <= timeline.revision) return;
    add(entry);
    next(entry);
    clearTimeout(quiet);
    if (isTerminal(timeline.status)) return over.resolve();
    const { waitingFor, steps } = reportOf(timeline);
    if (waitingFor.length > 0 && steps.running === 0) quiet = setTimeout(parked.resolve, QUIET_MS);
  };

  const subscription = log.subscribe({ after: "end", filter: { streamPrefix: runStream(runId) } }).subscribe({
    next: (item) => {
      if (!("type" in item)) return ready.resolve();
      if (item.stream !== runStream(runId)) return;
      const decoded = decodeRunEvent(item);
      if (decoded._tag === "Left") return over.reject(decoded.left);
      const { id, revision, position, recordedAt } = item;
      const { type, data } = decoded.right;
      note({ id, revision, position, recordedAt, event: { type, data } as HistoryEntry["event"] });
    },
    error: (error: unknown) => over.reject(error),
  });
  over.promise.catch(() => {});

  return {
    ready: ready.promise,
    over: over.promise,
    parked: parked.promise,
    timeline,
    stop() {
      clearTimeout(quiet);
      subscription.unsubscribe();
    },
  };
};
