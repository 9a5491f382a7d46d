/**
 * One catch-up subscription: a cursor that walks over the log, and goes on from where it stopped whenever the log has grown.
 *
 * Catching up and live are one and the same walk, so there is no seam at which an event could be lost or seen twice (P5).
 */
import type { Subscriber } from "rxjs";
import type { CaughtUp, EventFilter, Position, RecordedEvent } from "../events/event-log.ts";
import { passes } from "../events/event-log.ts";

export interface Feed {
  /** Hands on what the log has gained since last time. Never called from within itself. */
  pump(): void;
  complete(): void;
}

/** A feed of the events of `all` from index `start` on. */
export const createFeed = (
  all: readonly RecordedEvent[],
  start: number,
  filter: EventFilter | undefined,
  subscriber: Subscriber<RecordedEvent | CaughtUp>,
): Feed => {
  let next = start;
  let caughtUp = false;
  return {
    pump: () => {
      while (next < all.length && !subscriber.closed) {
        const event = all[next++]!;
        if (passes(filter, event.stream, event.type)) subscriber.next(event);
      }
      if (caughtUp) return;
      caughtUp = true;
      subscriber.next({ _tag: "CaughtUp", position: next === 0 ? undefined : positionAfter(next) });
    },
    complete: () => subscriber.complete(),
  };
};

/** The position of the `count`-th event of the log: how many events there are up to and with it, which needs no looking up. */
export const positionAfter = (count: number): Position => String(count) as Position;

/** The index of the first event strictly after `position`. */
export const indexAfter = (position: Position | undefined): number =>
  position === undefined ? 0 : Number(position);
