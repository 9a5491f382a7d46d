/**
 * The delivery pipeline: a stream of deliveries becomes walks, serial and collapsed per run, bounded across runs, acked after the walk.
 *
 * Not here: where deliveries come from (a consumer group of the log), what a walk is.
 *
 * Invariants:
 * - L1 One walk a run at a time; deliveries that arrive while it walks become one more walk after it.
 * - L2 A delivery is acked only after a walk that began after it arrived (law L8).
 * - L3 An error in one run ends that walk only: its deliveries come again later, and the others go on.
 * - L4 A run that is idle leaves nothing behind; none is opened a second time while its first walk still drains.
 */
import { defer, EMPTY, from, mergeMap, type Observable, of, repeat } from "rxjs";
import type { Consumed } from "../events/event-log.ts";
import type { Logger } from "./logger.ts";
import { messageOf } from "./step-errors.ts";

export interface PipelineOptions {
  /** Which run a delivery is about; `undefined` for one that is about none, which is acked and dropped. */
  readonly runOf: (delivery: Consumed) => string | undefined;
  /** One walk. A rejection means that it must be done again. */
  readonly walk: (runId: string) => Promise<unknown>;
  /** Walks at once, over all runs. */
  readonly concurrency: number;
  readonly logger: Logger;
  /** No further walk is begun while this answers true. */
  readonly draining: () => boolean;
}

/** The first wait before a failed delivery comes again, and the longest, in milliseconds. It doubles each time. */
export const FIRST_RETRY_MS = 100;
export const LONGEST_RETRY_MS = 30_000;

interface RunQueue {
  readonly runId: string;
  pending: Consumed[];
}

/** Emits the id of a run after every walk of it. */
export const walks = (deliveries: Observable<Consumed>, options: PipelineOptions): Observable<string> =>
  defer(() => {
    const queues = new Map<string, RunQueue>();
    return deliveries.pipe(
      mergeMap((delivery) => enqueue(queues, delivery, options)),
      mergeMap((queue) => walkUntilIdle(queues, queue, options), options.concurrency),
    );
  });

/** Puts the delivery with its run; emits the run if it was idle. */
const enqueue = (
  queues: Map<string, RunQueue>,
  delivery: Consumed,
  { runOf, draining }: PipelineOptions,
): Observable<RunQueue> => {
  if (draining()) return EMPTY;
  const runId = runOf(delivery);
  if (runId === undefined) {
    delivery.ack();
    return EMPTY;
  }
  const queue = queues.get(runId);
  if (queue !== undefined) {
    queue.pending.push(delivery);
    return EMPTY;
  }
  const opened: RunQueue = { runId, pending: [delivery] };
  queues.set(runId, opened);
  return of(opened);
};

const walkUntilIdle = (
  queues: Map<string, RunQueue>,
  queue: RunQueue,
  options: PipelineOptions,
): Observable<string> => {
  const goOn = (): boolean => {
    if (queue.pending.length > 0 && !options.draining()) return true;
    queues.delete(queue.runId);
    return false;
  };
  return defer(() => (goOn() ? from(walkOnce(queue, options)) : EMPTY)).pipe(
    repeat({ delay: () => (queues.get(queue.runId) === queue && goOn() ? of(undefined) : EMPTY) }),
  );
};

const walkOnce = async (queue: RunQueue, { walk, logger }: PipelineOptions): Promise<string> => {
  const { runId } = queue;
  const covered = queue.pending;
  queue.pending = [];
  try {
    await walk(runId);
    for (const delivery of covered) delivery.ack();
  } catch (error) {
    const reason = messageOf(error);
    logger.error("Workflow delivery failed", { runId, error: reason });
    for (const delivery of covered) delivery.nack("retry", reason, retryDelay(delivery.redeliveries));
  }
  return runId;
};

const retryDelay = (redeliveries: number): number =>
  Math.min(FIRST_RETRY_MS * 2 ** Math.min(redeliveries, 16), LONGEST_RETRY_MS);
