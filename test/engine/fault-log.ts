/** A memory log that counts what is appended and fails as it is told. */
import { left } from "fp-ts/lib/Either.js";
import type { AppendError, EventData, EventLog, ExpectedRevision } from "../../src/events/event-log.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";

export interface Append {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly types: readonly string[];
}

/** What becomes of an append: refused with an error; written or lost without an answer; or held up until `after` settles. */
export type Fault =
  | { readonly refuse: AppendError }
  | { readonly unknown: "written" | "lost" }
  | { readonly before: () => Promise<unknown> | unknown }
  | undefined;

export interface FaultLog extends EventLog {
  /** Every append that was asked for, in order. */
  readonly appends: Append[];
  reads: number;
  /** Decides about the next appends. */
  fault: (append: Append, events: readonly EventData[]) => Fault;
}

export const UNAVAILABLE: AppendError = { _tag: "Unavailable", reason: "the disk is away" };

export const createFaultLog = (inner: EventLog = createMemoryLog()): FaultLog => {
  const log: FaultLog = {
    ...inner,
    appends: [],
    reads: 0,
    fault: () => undefined,
    read: (stream, options) => {
      log.reads += 1;
      return inner.read(stream, options);
    },
    append: (stream, expected, events) => async () => {
      const append = { stream, expected, types: events.map(({ type }) => type) };
      log.appends.push(append);
      const fault = log.fault(append, events);
      if (fault === undefined) return inner.append(stream, expected, events)();
      if ("refuse" in fault) return left(fault.refuse);
      if ("before" in fault) {
        await fault.before();
        return inner.append(stream, expected, events)();
      }
      if (fault.unknown === "written") await inner.append(stream, expected, events)();
      return left({ _tag: "UnknownOutcome", reason: "the connection was lost" });
    },
  };
  return log;
};

/** The fault for the first append that holds an event of `type`, and none for the others. */
export const once = (type: string, fault: Fault): FaultLog["fault"] => {
  let used = false;
  return ({ types }) => {
    if (used || !types.includes(type)) return undefined;
    used = true;
    return fault;
  };
};
