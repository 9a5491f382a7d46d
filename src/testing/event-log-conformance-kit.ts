/**
 * What the cases of the EventLog conformance suite are written with: a scope of their own in a log that may hold other data,
 * and waiting that is woken by what arrives, never by a clock. The deadline is there to fail a case, not to pace it.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Observable } from "rxjs";
import type {
  AppendError,
  Appended,
  Consumed,
  ConsumeOptions,
  EventData,
  EventLog,
  ExpectedRevision,
  Position,
  RecordedEvent,
  SubscribeOptions,
} from "../events/event-log.ts";
import { comparePositions } from "../events/event-log.ts";
import type { JsonObject } from "../events/json.ts";

/** One case's own corner of the log. */
export interface Scope {
  readonly log: EventLog;
  /** Every stream of the case starts with this and no stream of any other does. */
  readonly prefix: string;
  stream(label: string): string;
  group(label?: string): string;
  /** Appends and insists on success. */
  put(stream: string, expected: ExpectedRevision, events: readonly EventData[]): Promise<Appended>;
  /** Appends and insists on a refusal, which it answers. */
  refused(stream: string, expected: ExpectedRevision, events: readonly EventData[]): Promise<AppendError>;
  /** Subscribes and notes what comes; ended with the case. */
  subscribe(options: SubscribeOptions, seen?: (item: Item) => void): Watch<Item>;
  /** Joins a group with the case's own streams as its filter, and notes what comes; ended with the case. */
  consume(group: string, options?: ConsumeOptions, seen?: (item: Consumed) => void): Watch<Consumed>;
  /** Closes the log and opens the same data anew; ends the case as not applicable where the log cannot. */
  reopened(): Promise<Scope>;
  /** Waits until so many events have come to the consumers taken together. */
  total(consumers: readonly Watch<Consumed>[], count: number): Promise<void>;
  /** Waits for what must come, or fails saying what did not. */
  within<T>(promise: Promise<T>, what: string): Promise<T>;
}

export type Item = Parameters<NonNullable<Parameters<ReturnType<EventLog["subscribe"]>["forEach"]>[0]>>[0];

/** Registers a case: its name is the promise it keeps. */
export type Test = (name: string, body: (scope: Scope) => Promise<void>) => void;

/** What came out of an observable so far. */
export interface Watch<T> {
  readonly items: readonly T[];
  readonly ended: boolean;
  readonly error: unknown;
  /** Called whenever something has come, and at the end. */
  readonly listeners: Set<() => void>;
  /** Waits until `enough` holds of what came. */
  until(what: string, enough: (items: readonly T[]) => boolean): Promise<void>;
  /** Waits for completion or failure. */
  end(): Promise<void>;
  stop(): void;
}

/** Thrown by a case that the log under test plainly cannot be asked, with the reason. */
export class NotApplicable extends Error {}

export interface ScopeParts {
  readonly log: EventLog;
  readonly prefix: string;
  readonly deadlineMs: number;
  readonly reopen: (() => Promise<EventLog>) | undefined;
  /** What must be done when the case is over. */
  readonly afterwards: (() => unknown)[];
}

export const createScope = (parts: ScopeParts): Scope => {
  const { log, prefix, deadlineMs, afterwards } = parts;
  const within = <T>(promise: Promise<T>, what: string) => withDeadline(promise, () => what, deadlineMs);
  const watched = <T>(source: Observable<T>, seen?: (item: T) => void): Watch<T> => {
    const watch = createWatch(source, deadlineMs, seen);
    afterwards.push(watch.stop);
    return watch;
  };
  const append = (stream: string, expected: ExpectedRevision, events: readonly EventData[]) =>
    within(log.append(stream, expected, events)(), `an answer to an append to ${stream}`);
  return {
    log,
    prefix,
    stream: (label) => prefix + label,
    group: (label = "group") => prefix + label,
    put: async (stream, expected, events) => {
      const answer = await append(stream, expected, events);
      if (answer._tag === "Right") return answer.right;
      return assert.fail(`an append to ${stream} (expected: ${expected}) was refused: ${answer.left._tag}`);
    },
    refused: async (stream, expected, events) => {
      const answer = await append(stream, expected, events);
      if (answer._tag === "Left") return answer.left;
      return assert.fail(`an append to ${stream} (expected: ${expected}) should have been refused`);
    },
    subscribe: (options, seen) => watched<Item>(log.subscribe(options), seen),
    consume: (group, options = {}, seen) =>
      watched(log.consume(group, { filter: { streamPrefix: prefix }, ...options }), seen),
    total: (consumers, count) => {
      const came = () => consumers.reduce((sum, { items }) => sum + items.length, 0);
      const what = () => `${count} events at ${consumers.length} consumers; came: ${came()}`;
      return arrival(consumers, what, () => came() >= count, deadlineMs);
    },
    reopened: async () => {
      if (parts.reopen === undefined) throw new NotApplicable("this log has nothing to reopen");
      await within(log.close(), "close before reopening");
      const second = await within(parts.reopen(), "the log to be reopened");
      afterwards.push(() => second.close());
      return createScope({ ...parts, log: second });
    },
    within,
  };
};

const createWatch = <T>(source: Observable<T>, deadlineMs: number, seen?: (item: T) => void): Watch<T> => {
  const items: T[] = [];
  const listeners = new Set<() => void>();
  const state = { ended: false, error: undefined as unknown };
  const notify = () => {
    for (const listener of listeners) listener();
  };
  const end = (error?: unknown) => {
    state.ended = true;
    state.error = error;
    notify();
  };
  const subscription = source.subscribe({
    next: (item) => {
      items.push(item);
      notify();
      seen?.(item);
    },
    error: end,
    complete: () => end(),
  });
  const watch: Watch<T> = {
    items,
    listeners,
    get ended() {
      return state.ended;
    },
    get error() {
      return state.error;
    },
    until: (what, enough) =>
      arrival(
        [watch],
        () => `${what}; came: ${items.length}`,
        () => enough(items),
        deadlineMs,
      ),
    end: () =>
      arrival(
        [watch],
        () => "its end",
        () => state.ended,
        deadlineMs,
      ),
    stop: () => subscription.unsubscribe(),
  };
  return watch;
};

/** Waits until `enough` holds, looking whenever one of `watches` has got something. */
const arrival = async (
  watches: readonly Pick<Watch<unknown>, "ended" | "error" | "listeners">[],
  what: () => string,
  enough: () => boolean,
  deadlineMs: number,
): Promise<void> => {
  let check = () => {};
  const arrived = new Promise<void>((resolve, reject) => {
    check = () => {
      const ended = watches.find((watch) => watch.ended);
      if (enough()) resolve();
      else if (ended !== undefined) reject(new Error(`ended before ${what()}`, { cause: ended.error }));
    };
  });
  for (const { listeners } of watches) listeners.add(check);
  try {
    check();
    await withDeadline(arrived, what, deadlineMs);
  } finally {
    for (const { listeners } of watches) listeners.delete(check);
  }
};

const withDeadline = async <T>(promise: Promise<T>, what: () => string, deadlineMs: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${deadlineMs} ms in vain for ${what()}`)), deadlineMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
};

/** A new event, with an id of its own. */
export const event = (type = "Noted", data: JsonObject = {}, metadata: JsonObject = {}): EventData => ({
  id: randomUUID(),
  type,
  data,
  metadata,
});

/** `count` new events that say which they are: `{ n: 0 }`, `{ n: 1 }`, … */
export const numbered = (count: number, type = "Noted"): EventData[] =>
  Array.from({ length: count }, (_, n) => event(type, { n }));

export const collect = async (source: AsyncIterable<RecordedEvent>): Promise<RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for await (const item of source) events.push(item);
  return events;
};

/** What the log holds of this case after `position`, read without a filter. */
export const ours = async (scope: Scope, after: Position | undefined): Promise<RecordedEvent[]> =>
  (await collect(scope.log.readAll(after === undefined ? {} : { after }))).filter(belongsTo(scope));

export const belongsTo = (scope: Scope) => (item: { readonly stream: string }) =>
  item.stream.startsWith(scope.prefix);

/** The events of a subscription, without its `CaughtUp`. */
export const eventsOf = (items: readonly Item[]): RecordedEvent[] => items.filter(isEvent);

export const isEvent = (item: Item): item is RecordedEvent => !("_tag" in item);

export const ids = (events: readonly { readonly id: string }[]): string[] => events.map(({ id }) => id);

export const consumedIds = (items: readonly Consumed[]): string[] => items.map((item) => item.event.id);

export const revisions = (events: readonly RecordedEvent[]): number[] =>
  events.map(({ revision }) => revision);

/** 0, 1, … count − 1. */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

export const assertAscending = (events: readonly RecordedEvent[]): void => {
  for (let n = 1; n < events.length; n++) {
    const [before, after] = [events[n - 1]!, events[n]!];
    assert.ok(
      comparePositions(before.position, after.position) < 0,
      `position ${after.position} does not come after ${before.position}`,
    );
  }
};
