/**
 * The delivery pipeline: a stream of deliveries becomes walks, serial and collapsed per run, bounded across runs, acked after the walk.
 *
 * Not here: where deliveries come from (a consumer group of the log), what a walk is.
 *
 * Invariants:
 * - Q1 One walk a run at a time; deliveries that arrive while it walks become one more walk after it.
 * - Q2 A run's deliveries are acked after a walk that began after they arrived (law L8). More than {@link STANDING} that wait for the
 *   same walk are acked at once: the ones that stand keep the walk owed, and a busy run must not use up what the worker may hold.
 * - Q3 An error in one run ends that walk only: its deliveries come again later, and the others go on.
 * - Q4 A run that is idle leaves nothing behind; none is opened a second time while its first walk still drains.
 * - Q5 Runs take turns: one that is to be walked again goes behind those that wait.
 */
import {
  catchError,
  concatWith,
  defer,
  EMPTY,
  expand,
  filter,
  ignoreElements,
  map,
  type Observable,
  type ObservableInput,
  of,
  tap,
} from "rxjs";
import type { Consumed } from "../events/event-log.ts";
import { messageOf } from "./step-errors.ts";

export interface PipelineOptions {
  /** Which run a delivery is about; `undefined` for one that is about none, which is acked and dropped. It must not throw. */
  readonly runOf: (delivery: Consumed) => string | undefined;
  /**
   * One walk, over when it completes. An error means that it must be done again. `reaching`: the last revision of the run's stream that
   * one of its deliveries is about.
   */
  readonly walk: (runId: string, reaching: number) => ObservableInput<unknown>;
  /** Walks at once, over all runs; 1 or more. */
  readonly concurrency: number;
  /** Told of every walk that failed. It must not throw. */
  readonly failed: (runId: string, error: unknown) => void;
  /** How long in milliseconds to wait after `error`, when as many tries as `failures` failed before. Default: {@link pauseMs}. */
  readonly pause?: (error: unknown, failures: number) => number;
  /** While this answers true no further walk is begun, and what fails stays unanswered: closing the source hands it to others. */
  readonly draining: () => boolean;
}

export const FIRST_RETRY_MS = 100;
export const LONGEST_RETRY_MS = 30_000;
/** How many deliveries of a run may wait for its next walk. */
export const STANDING = 16;

interface RunQueue {
  readonly runId: string;
  pending: Consumed[];
  /** The last revision that a delivery was about, acked ones included. */
  reaching: number;
}

/** The wait in milliseconds before what failed is tried again, after `failures` tries that failed before: it doubles each time. */
export const pauseMs = (failures: number): number =>
  Math.min(FIRST_RETRY_MS * 2 ** Math.min(failures, 16), LONGEST_RETRY_MS);

/** Emits a run's id as each walk of it begins. */
export const walks = (deliveries: Observable<Consumed>, options: PipelineOptions): Observable<string> =>
  defer(() => {
    const queues = new Map<string, RunQueue>();
    return deliveries.pipe(
      map((delivery) => enqueue(queues, delivery, options)),
      filter((queue) => queue !== undefined),
      expand((queue) => walkOnce(queues, queue, options), options.concurrency),
      map(({ runId }) => runId),
    );
  });

/** Puts the delivery with its run; answers the run if it was idle. */
const enqueue = (
  queues: Map<string, RunQueue>,
  delivery: Consumed,
  { runOf, draining }: PipelineOptions,
): RunQueue | undefined => {
  if (draining()) return undefined;
  const runId = runOf(delivery);
  if (runId === undefined) {
    delivery.ack();
    return undefined;
  }
  const queue = queues.get(runId);
  const { revision } = delivery.event;
  if (queue !== undefined) {
    queue.reaching = Math.max(queue.reaching, revision);
    if (queue.pending.length < STANDING) queue.pending.push(delivery);
    else delivery.ack();
    return undefined;
  }
  const opened: RunQueue = { runId, pending: [delivery], reaching: revision };
  queues.set(runId, opened);
  return opened;
};

/** Walks the run for all that has arrived by now; emits it if more arrived meanwhile. */
const walkOnce = (
  queues: Map<string, RunQueue>,
  queue: RunQueue,
  { walk, draining, failed, pause = pauseOf }: PipelineOptions,
): Observable<RunQueue> => {
  const { runId } = queue;
  const covered = queue.pending;
  queue.pending = [];
  const next = defer(() => {
    if (queue.pending.length > 0 && !draining()) return of(queue);
    queues.delete(runId);
    return EMPTY;
  });
  if (draining()) return next;
  return defer(() => walk(runId, queue.reaching)).pipe(
    ignoreElements(),
    tap({
      complete: () => {
        for (const delivery of covered) delivery.ack();
      },
    }),
    catchError((error: unknown) => {
      failed(runId, error);
      if (!draining())
        for (const delivery of covered)
          delivery.nack("retry", messageOf(error), pause(error, delivery.redeliveries));
      return EMPTY;
    }),
    concatWith(next),
  );
};

const pauseOf = (_error: unknown, failures: number): number => pauseMs(failures);
