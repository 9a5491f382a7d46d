/**
 * Subscriptions: catch up from the file, then go on with what this process commits (handed over as it is) and what others commit
 * (read from the file when a poll notices them).
 *
 * - F1 A subscription has looked at everything up to its `lookedTo`, and at nothing behind it; whatever reaches it begins there.
 *   Where a commit of this process does not follow on it, the events in between are read from the file first.
 */
import { Observable, type Subscriber } from "rxjs";
import {
  type CaughtUp,
  type EventFilter,
  passes,
  type RecordedEvent,
  type SubscribeOptions,
} from "../events/event-log.ts";
import type { Reader } from "./reader.ts";
import { placeOf, positionOf } from "./rows.ts";
import { nextTurn } from "./turns.ts";
import type { Transaction } from "./writer.ts";

interface Subscription {
  readonly subscriber: Subscriber<RecordedEvent | CaughtUp>;
  readonly filter: EventFilter | undefined;
  lookedTo: number;
  /** Is a read from the file due in the coming turn? It begins at `lookedTo` as that is then. */
  reading: boolean;
  saidCaughtUp: boolean;
}

export class LiveFeed {
  readonly #reader: Reader;
  readonly #changed: () => void;
  readonly #subscriptions = new Set<Subscription>();
  #closed = false;

  /** `changed` is told when somebody begins or ceases to listen. */
  constructor(reader: Reader, changed: () => void) {
    this.#reader = reader;
    this.#changed = changed;
  }

  get listening(): boolean {
    return this.#subscriptions.size > 0;
  }

  subscribe(options: SubscribeOptions): Observable<RecordedEvent | CaughtUp> {
    return new Observable((subscriber) => {
      if (this.#closed) return subscriber.complete();
      let lookedTo: number;
      try {
        lookedTo =
          options.after === "start"
            ? 0
            : options.after === "end"
              ? this.#reader.head()
              : placeOf(options.after);
      } catch (cause) {
        return subscriber.error(cause);
      }
      const subscription = {
        subscriber,
        filter: options.filter,
        lookedTo,
        reading: false,
        saidCaughtUp: false,
      };
      this.#subscriptions.add(subscription);
      this.#changed();
      this.#catchUp(subscription);
      return () => {
        this.#subscriptions.delete(subscription);
        this.#changed();
      };
    });
  }

  /** This process committed. */
  committed({ before, written }: Transaction): void {
    if (written.length === 0) return;
    for (const subscription of [...this.#subscriptions]) {
      if (subscription.lookedTo !== before || !subscription.saidCaughtUp) {
        if (!subscription.reading) this.#catchUp(subscription);
        continue;
      }
      subscription.lookedTo = before + written.length;
      for (const event of written) {
        if (subscription.subscriber.closed) break;
        if (passes(subscription.filter, event.stream, event.event.type))
          subscription.subscriber.next(event.recorded);
      }
    }
  }

  /** Another connection committed, or may have. */
  lookAgain(): void {
    for (const subscription of this.#subscriptions) if (!subscription.reading) this.#catchUp(subscription);
  }

  close(): void {
    this.#closed = true;
    for (const { subscriber } of [...this.#subscriptions]) subscriber.complete();
  }

  #catchUp(subscription: Subscription): void {
    subscription.reading = true;
    nextTurn(() => this.#readOn(subscription));
  }

  #readOn(subscription: Subscription): void {
    const { subscriber, filter } = subscription;
    if (subscriber.closed) return;
    try {
      const page = this.#reader.page(subscription.lookedTo, filter);
      for (const event of page.events) {
        if (subscriber.closed) return;
        subscription.lookedTo = placeOf(event.position);
        subscriber.next(event);
      }
      subscription.lookedTo = page.lookedTo;
      if (!page.atEnd) return this.#catchUp(subscription);
    } catch (cause) {
      return subscriber.error(cause);
    }
    subscription.reading = false;
    if (subscription.saidCaughtUp || subscriber.closed) return;
    subscription.saidCaughtUp = true;
    const { lookedTo } = subscription;
    subscriber.next({ _tag: "CaughtUp", position: lookedTo === 0 ? undefined : positionOf(lookedTo) });
  }
}
