/**
 * The EventLog in memory: for tests, for trying things out, and as the readable illustration of the port.
 *
 * It is not durable and not shared between processes; everything ends with the process.
 *
 * Invariants:
 * - M1 An append is decided and written within one turn, which is all that P1 and P2 take here.
 * - M2 Subscribers and consumers are called from a turn of their own, never from inside `append`, `subscribe` or `ack`, so they may
 *   call anything, unsubscribe or throw. They have been called by the time an `append` is answered.
 * - M3 No timers, so that fake clocks strand nothing; the one exception is a `nack` that asks for a delay, and it is unref'd.
 * - M4 Events are frozen copies: neither the appender nor a reader can change what the log holds.
 */
import { left, right } from "fp-ts/lib/Either.js";
import { Observable } from "rxjs";
import type { EventData, EventLog, ExpectedRevision, RecordedEvent } from "../events/event-log.ts";
import { passes } from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";
import { createFeed, type Feed, indexAfter, positionAfter } from "./feed.ts";
import { frozenCopy } from "./frozen.ts";
import { createGroup, type Group, type Parked } from "./group.ts";

export interface MemoryLogOptions {
  /** Where `recordedAt` comes from, in epoch milliseconds. Default: `Date.now()`, asked for each append. */
  readonly clock?: () => number;
}

export interface MemoryLog extends EventLog {
  /** The events that consumers of `group` have parked, oldest first, each with the reason given. */
  parked(group: string): readonly Parked[];
}

/** An empty log. A read, a `head` or a subscription after `close` fails with a `StoreError` of `Unavailable`. */
export const createMemoryLog = (options: MemoryLogOptions = {}): MemoryLog => {
  const clock = options.clock ?? (() => Date.now());
  const all: RecordedEvent[] = [];
  const streams = new Map<string, RecordedEvent[]>();
  const feeds = new Set<Feed>();
  const groups = new Map<string, Group>();
  let closing: Promise<void> | undefined;
  let waking = false;

  // By promise and not by timer, `queueMicrotask` or `nextTick`: fake clocks replace all three.
  const wake = (): void => {
    if (waking) return;
    waking = true;
    Promise.resolve().then(() => {
      waking = false;
      for (const feed of feeds) feed.pump();
      for (const group of groups.values()) group.pump();
    });
  };

  const groupOf = (name: string): Group => {
    const group = groups.get(name) ?? createGroup(all, wake);
    groups.set(name, group);
    return group;
  };

  const write = (stream: string, written: RecordedEvent[], events: readonly EventData[]): void => {
    const recordedAt = clock();
    // All are copied before the first is written: data too deep to copy must not leave half an append behind.
    const fresh = events.map(
      ({ id, type, data, metadata }, index): RecordedEvent =>
        Object.freeze({
          id,
          type,
          data: frozenCopy(data),
          metadata: frozenCopy(metadata),
          stream,
          revision: written.length + index,
          position: positionAfter(all.length + index + 1),
          recordedAt,
        }),
    );
    for (const event of fresh) {
      written.push(event);
      all.push(event);
    }
    streams.set(stream, written);
    wake();
  };

  return {
    append: (stream, expected, events) => async () => {
      if (closing !== undefined) return left(CLOSED);
      const written = streams.get(stream) ?? [];
      if (!holds(expected, written.length)) {
        const actual = written.length === 0 ? "none" : written.length - 1;
        return left({ _tag: "WrongExpectedRevision", stream, actual });
      }
      if (events.length > 0) write(stream, written, events);
      const last = written.at(-1);
      return right({ revision: written.length - 1, position: last?.position ?? positionAfter(0) });
    },

    async *read(stream, { direction = "forwards", from, max = Number.POSITIVE_INFINITY } = {}) {
      const forwards = direction === "forwards";
      const last = (streams.get(stream)?.length ?? 0) - 1;
      let revision = forwards ? Math.max(from ?? 0, 0) : Math.min(from ?? last, last);
      for (let wanted = max; wanted > 0; wanted--) {
        if (closing !== undefined) throw closedError();
        const event = streams.get(stream)?.[revision];
        if (event === undefined) return;
        yield event;
        revision += forwards ? 1 : -1;
      }
    },

    async *readAll({ after, filter, max = Number.POSITIVE_INFINITY } = {}) {
      let wanted = max;
      for (let index = indexAfter(after); wanted > 0; index++) {
        if (closing !== undefined) throw closedError();
        const event = all[index];
        if (event === undefined) return;
        if (!passes(filter, event.stream, event.type)) continue;
        yield event;
        wanted--;
      }
    },

    subscribe: ({ after, filter }) =>
      new Observable((subscriber) => {
        if (closing !== undefined) return subscriber.error(closedError());
        const start = after === "start" ? 0 : after === "end" ? all.length : indexAfter(after);
        const feed = createFeed(all, start, filter, subscriber);
        feeds.add(feed);
        wake();
        return () => feeds.delete(feed);
      }),

    consume: (group, consumeOptions = {}) =>
      new Observable((subscriber) => {
        if (closing !== undefined) return subscriber.error(closedError());
        return groupOf(group).join(subscriber, consumeOptions);
      }),

    head: async () => {
      if (closing !== undefined) throw closedError();
      return all.at(-1)?.position;
    },

    close: () => {
      closing ??= (async () => {
        // One turn later: what was appended before reaches the subscribers before they complete.
        await undefined;
        for (const feed of feeds) feed.complete();
        for (const group of groups.values()) group.complete();
      })();
      return closing;
    },

    parked: (group) => groups.get(group)?.parked ?? [],
  };
};

const holds = (expected: ExpectedRevision, length: number): boolean =>
  expected === "any" || (expected === "none" ? length === 0 : length > 0 && expected === length - 1);

const CLOSED = { _tag: "Unavailable", reason: "the memory log is closed" } as const;

const closedError = (): StoreError =>
  new StoreError("The memory log is closed: open a new one, or close it later.", CLOSED);
