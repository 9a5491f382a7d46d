/** Logs that write or read wrongly: broken promises P1 to P3, and events that are not what was given. */
import { left, right } from "fp-ts/lib/Either.js";
import type { EventData, EventFilter, EventLog, RecordedEvent } from "../../src/events/event-log.ts";
import type { JsonObject } from "../../src/events/json.ts";

/** What is wrong, the names of the cases that must notice it, and the methods that are wrong. */
export type Defect = readonly [name: string, noticedBy: RegExp, change: (log: EventLog) => Partial<EventLog>];

export const gather = async (events: AsyncIterable<RecordedEvent>): Promise<RecordedEvent[]> => {
  const gathered: RecordedEvent[] = [];
  for await (const one of events) gathered.push(one);
  return gathered;
};

const withoutPrototypeKeys = (json: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(json).filter(([key]) => key !== "__proto__"));

const caseless = (filter: EventFilter | undefined): ((event: RecordedEvent) => boolean) => {
  const prefix = filter?.streamPrefix?.toLowerCase() ?? "";
  return ({ stream, type }) =>
    stream.toLowerCase().startsWith(prefix) && (filter?.types?.includes(type) ?? true);
};

export const WRITING_DEFECTS: readonly Defect[] = [
  [
    "accepts any revision as the expected one",
    /^P2 a revision already passed/,
    (log) => ({
      append: (stream, expected, events) => log.append(stream, expected === "none" ? "none" : "any", events),
    }),
  ],
  [
    "takes `none` for `any`",
    /^P2 `none` of a stream of one/,
    (log) => ({
      append: (stream, expected, events) =>
        log.append(stream, expected === "none" ? "any" : expected, events),
    }),
  ],
  [
    "takes −1 for `none`",
    /^P2 revision −1/,
    (log) => ({
      append: (stream, expected, events) => log.append(stream, expected === -1 ? "none" : expected, events),
    }),
  ],
  [
    "answers a conflict without the stream's state",
    /^P2 the revision after the last/,
    (log) => ({
      append: (stream, expected, events) => async () => {
        const answer = await log.append(stream, expected, events)();
        if (answer._tag === "Right" || answer.left._tag !== "WrongExpectedRevision") return answer;
        return left({ ...answer.left, actual: "none" });
      },
    }),
  ],
  [
    "does not look at the expectation of an empty append",
    /^P2 a revision far ahead/,
    (log) => ({
      append: (stream, expected, events) =>
        log.append(stream, events.length === 0 ? "any" : expected, events),
    }),
  ],
  [
    "splits an append",
    /^P1 the events of an append stand next to each other/,
    (log) => ({
      append: (stream, expected, events) => async () => {
        let answer = await log.append(stream, expected, events.slice(0, 1))();
        for (const one of events.slice(1)) {
          if (answer._tag === "Right") answer = await log.append(stream, "any", [one])();
        }
        return answer;
      },
    }),
  ],
  [
    "checks the expectation, looks away, and then writes",
    /^P2 of many appends with one expectation/,
    (log) => ({
      append: (stream, expected, events) => async () => {
        const check = await log.append(stream, expected, [])();
        return check._tag === "Left" ? check : await log.append(stream, "any", events)();
      },
    }),
  ],
  [
    "writes as soon as it is asked for the task",
    /^P1 nothing is written until the task is run/,
    (log) => ({
      append: (stream, expected, events) => {
        const written = log.append(stream, expected, events)();
        return () => written;
      },
    }),
  ],
  [
    "gives events ids of its own",
    /^P2 `any` writes to a stream/,
    (log) => ({
      append: (stream, expected, events) =>
        log.append(
          stream,
          expected,
          events.map((one): EventData => ({ ...one, id: crypto.randomUUID() })),
        ),
    }),
  ],
  [
    "copies an event only after its caller has gone on",
    /^what the appender does to its objects afterwards/,
    (log) => ({
      append: (stream, expected, events) => async () => {
        await undefined;
        return log.append(stream, expected, events)();
      },
    }),
  ],
  [
    "loses a key `__proto__`",
    /^a key `__proto__`/,
    (log) => ({
      append: (stream, expected, events) =>
        log.append(
          stream,
          expected,
          events.map((one) => ({ ...one, data: withoutPrototypeKeys(one.data) })),
        ),
    }),
  ],
  [
    "cuts NUL out of text",
    /^data and metadata come back as they were given: NUL/,
    (log) => ({
      append: (stream, expected, events) =>
        log.append(
          stream,
          expected,
          events.map((one) => ({
            ...one,
            data: JSON.parse(JSON.stringify(one.data).replaceAll("\\u0000", "")),
          })),
        ),
    }),
  ],
  [
    "folds the case of stream names",
    /^stream names made of any run id/,
    (log) => ({ append: (stream, expected, events) => log.append(stream.toLowerCase(), expected, events) }),
  ],
  [
    "answers an append's state before that append",
    /^P1 an append answers the position/,
    (log) => ({
      append: (stream, expected, events) => async () => {
        const answer = await log.append(stream, expected, events)();
        const first = await gather(log.readAll({ max: 1 }));
        return answer._tag === "Left"
          ? answer
          : right({ ...answer.right, position: first[0]?.position ?? answer.right.position });
      },
    }),
  ],
  [
    "reads a stream out of order",
    /^P1 read answers the whole stream/,
    (log) => ({
      read: async function* (stream, options) {
        const events = await gather(log.read(stream, options));
        yield* events.toSorted((a, b) => (a.revision % 2) - (b.revision % 2));
      },
    }),
  ],
  [
    "begins a read behind `from`",
    /^P1 read begins at `from`/,
    (log) => ({
      read: (stream, options = {}) =>
        log.read(stream, options.from === undefined ? options : { ...options, from: options.from + 1 }),
    }),
  ],
  [
    "hands out events that are not copies",
    /^what a reader does to an event/,
    (log) => {
      const handedOut = new Map<string, RecordedEvent>();
      return {
        read: async function* (stream, options) {
          for await (const one of log.read(stream, options)) {
            const kept = handedOut.get(one.position) ?? structuredClone(one);
            handedOut.set(one.position, kept);
            yield kept;
          }
        },
      };
    },
  ],
  [
    "answers the event at `after` again",
    /^P3 resuming after any position/,
    (log) => ({
      readAll: async function* (options = {}) {
        if (options.after !== undefined) {
          const all = await gather(log.readAll());
          yield* all.filter(({ position }) => position === options.after);
        }
        yield* log.readAll(options);
      },
    }),
  ],
  [
    "sorts the whole log by stream",
    /^P3 what was acknowledged first stands first/,
    (log) => ({
      readAll: async function* (options) {
        const all = await gather(log.readAll(options));
        yield* all.toSorted((a, b) => a.stream.localeCompare(b.stream));
      },
    }),
  ],
  [
    "ignores the types a reader asks for",
    /^P3 readAll answers what passes the filter and nothing else: a type/,
    (log) => ({
      readAll: ({ filter, ...options } = {}) =>
        log.readAll(
          filter?.streamPrefix === undefined
            ? options
            : { ...options, filter: { streamPrefix: filter.streamPrefix } },
        ),
    }),
  ],
  [
    "finds prefixes regardless of case",
    /^P3 readAll answers what passes the filter and nothing else: a prefix/,
    (log) => ({
      readAll: async function* ({ filter, max = Number.POSITIVE_INFINITY, ...options } = {}) {
        const passing = (await gather(log.readAll(options))).filter(caseless(filter));
        yield* passing.slice(0, max);
      },
    }),
  ],
  [
    "counts what it skips towards `max`",
    /^P3 paging with `max`/,
    (log) => ({
      readAll: async function* ({ filter, ...options } = {}) {
        yield* (await gather(log.readAll(options))).filter(
          ({ stream, type }) =>
            stream.startsWith(filter?.streamPrefix ?? "") && (filter?.types?.includes(type) ?? true),
        );
      },
    }),
  ],
];
