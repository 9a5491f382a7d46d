/**
 * The delivering half of the queue: a consumer group of the log hands out messages, and each is posted to the application until it is
 * handled. At least once, in no order.
 *
 * Invariants:
 * - D1 A message is acked only after `SdkMessageDone` is in its stream; one that is done is never posted again.
 * - D2 A message that was handed to another worker before, or to this one before it died, is no first attempt.
 * - D3 No message is given up: it is posted again, ever more slowly, until the application answers that it is handled.
 */
import { isLeft } from "fp-ts/lib/Either.js";
import {
  catchError,
  defer,
  from,
  mergeMap,
  type Observable,
  of,
  retry,
  type Subscription,
  timer,
} from "rxjs";
import type { Logger } from "../../engine/logger.ts";
import { messageOf } from "../../engine/step-errors.ts";
import type { Consumed, EventLog } from "../../events/event-log.ts";
import { decodeSdkQueueEvent, type SdkMessageQueued } from "../../events/sdk-queue.ts";
import { SDK_QUEUE_PREFIX } from "../../events/stream-names.ts";
import type { Queues } from "./queue.ts";
import { decideDone } from "./queue-fold.ts";
import type { Transport } from "./transport.ts";

export interface DeliveriesOptions {
  readonly log: EventLog;
  readonly queues: Queues;
  readonly transport: Transport;
  readonly group: string;
  /** How many messages are under way at once. */
  readonly concurrency: number;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly logger: Logger;
}

export interface Deliveries {
  /** Takes no more messages, and waits for those under way for at most `graceMs`; what is not done then goes to others. */
  stop(graceMs: number): Promise<void>;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;
/** How soon an application that does not listen is tried again. */
const UNREACHED_PAUSE_MS = 1_000;

/** The pause after so many failures: it doubles from a second to half a minute. */
const pauseMs = (failures: number): number =>
  Math.min(FIRST_PAUSE_MS * 2 ** Math.min(Math.max(failures, 0), 10), LONGEST_PAUSE_MS);

export const startDeliveries = (options: DeliveriesOptions): Deliveries => {
  const { log, queues, transport, group, concurrency, clock, logger } = options;
  /** How often this process has posted the messages that are still pending. */
  const posted = new Map<string, number>();
  let underWay = 0;
  let stopping = false;
  let idle: (() => void) | undefined;

  const deliver = async (consumed: Consumed, message: SdkMessageQueued["data"]): Promise<void> => {
    const { event, redeliveries } = consumed;
    const { messageId } = message;
    const wait = message.deliverAt - clock();
    if (wait > 0) return consumed.nack("retry", "not due yet", wait);
    const queue = queues.get(event.stream);
    if (redeliveries > 0 && !(await queue.current()).pending.has(messageId)) return consumed.ack();
    const before = posted.get(messageId) ?? earlier(redeliveries, message);
    const { headers = {} } = message;
    const result = await transport.deliver({ ...message, headers, attempt: before + 1 });
    if (result._tag === "Handled") {
      await queue.propose(decideDone(messageId, clock()));
      posted.delete(messageId);
      return consumed.ack();
    }
    if (result._tag === "Unreached") {
      posted.set(messageId, before);
      if (!stopping) logger.warn("A message did not reach the application", { messageId, ...result });
      return consumed.nack("retry", result.reason, UNREACHED_PAUSE_MS);
    }
    posted.set(messageId, before + 1);
    if (result._tag === "Again") return consumed.nack("retry", "asked for again", result.afterMs);
    logger.warn("A message failed in the application", { messageId, attempt: before + 1, ...result });
    consumed.nack("retry", result.reason, pauseMs(before));
  };

  const handle = (consumed: Consumed): Observable<unknown> =>
    defer(() => {
      underWay += 1;
      const decoded = decodeSdkQueueEvent(consumed.event);
      if (isLeft(decoded) || decoded.right.type !== "SdkMessageQueued") {
        const reason = isLeft(decoded) ? decoded.left.message : "not a message";
        logger.error("A message cannot be read and is set aside", { stream: consumed.event.stream, reason });
        consumed.nack("park", reason);
        return of(undefined);
      }
      return from(deliver(consumed, decoded.right.data));
    }).pipe(
      catchError((error: unknown) => {
        logger.error("A message could not be dealt with", {
          stream: consumed.event.stream,
          error: messageOf(error),
        });
        consumed.nack("retry", messageOf(error), FIRST_PAUSE_MS);
        return of(undefined);
      }),
      mergeMap(() => {
        underWay -= 1;
        if (underWay === 0) idle?.();
        return of(undefined);
      }),
    );

  const subscription: Subscription = log
    .consume(group, {
      filter: { streamPrefix: SDK_QUEUE_PREFIX, types: ["SdkMessageQueued"] },
      maxInFlight: concurrency,
    })
    .pipe(
      retry({
        delay: (error: unknown, failures) => {
          logger.error("The queue broke off", { group, error: messageOf(error) });
          return timer(pauseMs(failures - 1));
        },
        resetOnSuccess: true,
      }),
      mergeMap((consumed) => (stopping ? of(undefined) : handle(consumed))),
    )
    .subscribe();

  return {
    async stop(graceMs) {
      stopping = true;
      const drained = new Promise<void>((resolve) => {
        idle = resolve;
        if (underWay === 0) resolve();
      });
      await within(graceMs, drained);
      subscription.unsubscribe();
    },
  };
};

/** Attempts that others made, or this process before it died. The hand-outs of a delayed message begin with one that waits. */
const earlier = (redeliveries: number, { at, deliverAt }: SdkMessageQueued["data"]): number =>
  Math.max(0, deliverAt > at ? redeliveries - 1 : redeliveries);

const within = async (ms: number, done: Promise<void>): Promise<void> => {
  let timeout: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timeout = setTimeout(resolve, ms);
  });
  await Promise.race([done, late]);
  clearTimeout(timeout);
};
