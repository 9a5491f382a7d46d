/** Logs that deliver or close wrongly: broken promises P5 to P7. */
import { Observable } from "rxjs";
import { type Consumed, comparePositions, type EventLog } from "../../src/events/event-log.ts";
import { type Defect, gather } from "./event-log-writing-defects.ts";

/** The deliveries of `source`, changed or (`undefined`) left out; what the change puts into `held` is acked at the end. */
const mapConsumed = (
  source: Observable<Consumed>,
  change: (item: Consumed, held: Set<Consumed>) => Consumed | undefined,
): Observable<Consumed> =>
  new Observable((subscriber) => {
    const held = new Set<Consumed>();
    const inner = source.subscribe({
      next: (item) => {
        const changed = change(item, held);
        if (changed !== undefined) subscriber.next(changed);
      },
      error: (error) => subscriber.error(error),
      complete: () => subscriber.complete(),
    });
    return () => {
      for (const item of held) item.ack();
      inner.unsubscribe();
    };
  });

/** A subscription that reads first and listens afterwards (`gap`), or listens first and reads then (`overlap`). */
const seamed = (
  log: EventLog,
  { after, filter }: Parameters<EventLog["subscribe"]>[0],
  how: "gap" | "overlap",
): ReturnType<EventLog["subscribe"]> => {
  if (after === "end") return log.subscribe({ after, ...(filter === undefined ? {} : { filter }) });
  return new Observable((subscriber) => {
    const goLive = () =>
      subscriber.add(
        log
          .subscribe({ after: "end", ...(filter === undefined ? {} : { filter }) })
          .subscribe((item) => "_tag" in item || subscriber.next(item)),
      );
    const catchUp = async () => {
      if (how === "overlap") goLive();
      const events = await gather(
        log.readAll({ ...(after === "start" ? {} : { after }), ...(filter === undefined ? {} : { filter }) }),
      );
      for (const one of events) subscriber.next(one);
      subscriber.next({ _tag: "CaughtUp", position: events.at(-1)?.position });
      for (let turns = 0; turns < 20; turns++) await undefined;
      if (how === "gap") goLive();
    };
    catchUp();
  });
};

export const DELIVERY_DEFECTS: readonly Defect[] = [
  [
    "loses what is written between catching up and going live",
    /^P5 nothing is lost and nothing comes twice at the seam/,
    (log) => ({ subscribe: (options) => seamed(log, options, "gap") }),
  ],
  [
    "delivers twice what is written while it catches up",
    /^P5 nothing is lost and nothing comes twice at the seam/,
    (log) => ({ subscribe: (options) => seamed(log, options, "overlap") }),
  ],
  [
    "never says that it has caught up",
    /^P5 from the end a subscription/,
    (log) => ({
      subscribe: (options) =>
        new Observable((subscriber) =>
          log.subscribe(options).subscribe((item) => "_tag" in item || subscriber.next(item)),
        ),
    }),
  ],
  [
    "says that it has caught up before it has",
    /^P5 from the start a subscription/,
    (log) => ({
      subscribe: (options) =>
        new Observable((subscriber) => {
          subscriber.next({ _tag: "CaughtUp", position: undefined });
          return log.subscribe(options).subscribe((item) => "_tag" in item || subscriber.next(item));
        }),
    }),
  ],
  [
    "ignores a subscription's filter",
    /^P5 a subscription delivers what passes its filter/,
    (log) => ({ subscribe: ({ after }) => log.subscribe({ after }) }),
  ],
  [
    "delivers an event to two consumers",
    /^P6 each event goes to exactly one/,
    (log) => {
      let members = 0;
      return { consume: (group, options) => log.consume(`${group}-${members++}`, options) };
    },
  ],
  [
    "gives the events of one stream to whoever is next",
    /^P6 (each event goes to exactly one|a stream stays)/,
    (log) => {
      const members = new Map<string, Set<(item: Consumed) => void>>();
      return {
        consume: (group, options) =>
          new Observable((subscriber) => {
            const others = members.get(group) ?? new Set();
            members.set(group, others);
            const own = (item: Consumed) => subscriber.next(item);
            others.add(own);
            return log.consume(group, options).subscribe((item) => {
              const [next = own] = others;
              others.delete(next);
              others.add(next);
              next(item);
            });
          }),
      };
    },
  ],
  [
    "forgets what a leaving consumer had not acked",
    /^P6 what a leaving consumer had not acked/,
    (log) => ({
      consume: (group, options) =>
        mapConsumed(log.consume(group, options), (item, held) => {
          held.add(item);
          return item;
        }),
    }),
  ],
  [
    "does not count redeliveries",
    /^P6 what a leaving consumer had not acked/,
    (log) => ({
      consume: (group, options) =>
        mapConsumed(log.consume(group, options), (item) => ({ ...item, redeliveries: 0 })),
    }),
  ],
  [
    "takes an ack back when the consumer leaves",
    /^P6 an ack is final/,
    (log) => ({
      consume: (group, options) =>
        mapConsumed(log.consume(group, { ...options, maxInFlight: Number.POSITIVE_INFINITY }), (item) => ({
          ...item,
          ack: () => {},
        })),
    }),
  ],
  [
    "lets an answer count that comes after its consumer has left",
    /^P6 an answer that comes after its consumer has left/,
    (log) => {
      const done = new Set<string>();
      return {
        consume: (group, options) =>
          mapConsumed(log.consume(group, options), (item) => {
            const ack = () => {
              done.add(item.event.id);
              item.ack();
            };
            if (!done.has(item.event.id)) return { ...item, ack };
            item.ack();
            return undefined;
          }),
      };
    },
  ],
  [
    "gives a consumer more than it may hold",
    /^P6 a consumer never holds more/,
    (log) => ({ consume: (group, options = {}) => log.consume(group, { ...options, maxInFlight: 100 }) }),
  ],
  [
    "begins a group at the end of the log",
    /^P6 a group begins at the beginning/,
    (log) => ({
      consume: (group, options) =>
        new Observable((subscriber) => {
          const joined = log.head();
          return log.consume(group, options).subscribe(async (item) => {
            const head = await joined;
            if (head !== undefined && comparePositions(item.event.position, head) <= 0) item.ack();
            else subscriber.next(item);
          });
        }),
    }),
  ],
  [
    "ignores a group's filter",
    /^P6 a group delivers what passes its filter/,
    (log) => ({ consume: (group, { filter: _, ...options } = {}) => log.consume(group, options) }),
  ],
  [
    "retries at once what asked for a delay",
    /^P6 `retry` with a delay/,
    (log) => ({
      consume: (group, options) =>
        mapConsumed(log.consume(group, options), (item) => ({
          ...item,
          nack: (action, reason) => item.nack(action, reason),
        })),
    }),
  ],
  [
    "takes `retry` for done",
    /^P6 `retry` hands the event out again/,
    (log) => ({
      consume: (group, options) =>
        mapConsumed(log.consume(group, options), (item) => ({ ...item, nack: item.ack })),
    }),
  ],
  [
    "hands a parked event out again",
    /^P6 `park` sets an event aside/,
    (log) => ({
      consume: (group, options) =>
        mapConsumed(log.consume(group, options), (item) => ({
          ...item,
          nack: (action, reason, delayMs) =>
            item.redeliveries > 3
              ? item.ack()
              : item.nack(action === "park" ? "retry" : action, reason, delayMs),
        })),
    }),
  ],
  [
    "shares one place between all groups",
    /^P6 two groups are independent/,
    (log) => ({ consume: (_, options) => log.consume("the-only-group", options) }),
  ],
  [
    "answers the head of a moment ago",
    /^P3 `head` is the position/,
    (log) => {
      let last: Awaited<ReturnType<EventLog["head"]>>;
      return {
        head: async () => {
          const answer = last;
          last = await log.head();
          return answer;
        },
      };
    },
  ],
  [
    "throws instead of answering",
    /^P7 a refused append is a value/,
    (log) => ({
      append: (stream, expected, events) => async () => {
        const answer = await log.append(stream, expected, events)();
        if (answer._tag === "Left") throw new Error(answer.left._tag);
        return answer;
      },
    }),
  ],
  [
    "goes on after it is closed",
    /^P7 (an append to a closed log|subscriptions and consumers complete)/,
    () => ({ close: async () => {} }),
  ],
  [
    "fails with an error of its own after it is closed",
    /^P7 head of a closed log/,
    (log) => ({
      head: () =>
        log.head().catch(() => {
          throw new TypeError("the file is not open");
        }),
    }),
  ],
];
