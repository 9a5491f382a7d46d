/**
 * One worker's connection to the shared log, with everything that a network and a store do to it: requests and replies that take their
 * time, replies that never come, stores that are away, and outcomes that nobody knows.
 */
import { left } from "fp-ts/lib/Either.js";
import type { AppendError, EventData, EventLog, ExpectedRevision } from "../../src/events/event-log.ts";
import { StoreError } from "../../src/events/store-error.ts";
import type { Ledger } from "./ledger.ts";
import type { Random } from "./random.ts";
import type { Owner, Scheduler } from "./scheduler.ts";

export interface LogFaults {
  /** Probability that an append is not answered as it should be. */
  append: number;
  /** Probability that a read fails. */
  read: number;
  /** Probability that a reply takes its time. */
  slow: number;
}

export interface FaultyLogOptions {
  readonly inner: EventLog;
  readonly ledger: Ledger;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly faults: LogFaults;
  readonly owner: Owner;
  /** Requests take no time: the store answers within the turn that asks it, as one in memory does. */
  readonly prompt: boolean;
  readonly trace: (line: string) => void;
  /** The store refused, or did not say. */
  readonly onFault: (stream: string) => void;
  /** A law was broken by what was written. */
  readonly onViolation: (error: unknown) => void;
}

const UNAVAILABLE: AppendError = { _tag: "Unavailable", reason: "the simulated store is away" };
const UNKNOWN: AppendError = { _tag: "UnknownOutcome", reason: "the simulated reply was lost" };

export const createFaultyLog = (options: FaultyLogOptions): EventLog => {
  const { inner, ledger, scheduler, random, faults, owner, prompt, trace, onFault, onViolation } = options;

  const request = async (what: string, orphan?: () => void): Promise<void> => {
    if (!owner.alive || !prompt) await scheduler.wait(what, owner, orphan);
  };

  const write = async (stream: string, expected: ExpectedRevision, events: readonly EventData[]) => {
    const result = await inner.append(stream, expected, events)();
    if (result._tag === "Left") {
      trace(`${owner.name} append to ${stream} at ${expected}: ${result.left._tag}`);
      return result;
    }
    try {
      ledger.written(stream, result.right.revision, events, owner.name);
    } catch (error) {
      onViolation(error);
    }
    return result;
  };

  const late = (stream: string, expected: ExpectedRevision, events: readonly EventData[]): void => {
    void scheduler.wait(`late write to ${stream}`, undefined).then(() => write(stream, expected, events));
  };

  const respond = async <T>(what: string, answer: T): Promise<T> => {
    if (random.chance(faults.slow)) await scheduler.wait(`reply to ${what}`, owner);
    return answer;
  };

  const append: EventLog["append"] = (stream, expected, events) => async () => {
    const what = `append to ${stream} at ${expected}: ${events.map(({ type }) => type).join(" ")}`;
    await request(what, () => late(stream, expected, events));
    if (!random.chance(faults.append)) return respond(what, await write(stream, expected, events));
    onFault(stream);
    const fault = random.pick(["away", "lost before", "lost after", "late"] as const);
    trace(`${owner.name} fault (${fault}) ${what}`);
    if (fault === "away") return respond(what, left(UNAVAILABLE));
    if (fault === "lost after") await write(stream, expected, events);
    if (fault === "late") late(stream, expected, events);
    return respond(what, left(UNKNOWN));
  };

  return {
    ...inner,
    append,
    async *read(stream, readOptions) {
      await request(`read of ${stream}`);
      if (random.chance(faults.read)) {
        onFault(stream);
        trace(`${owner.name} read of ${stream} fails`);
        throw new StoreError("The simulated store is away.", UNAVAILABLE);
      }
      const events = [];
      for await (const event of inner.read(stream, readOptions)) events.push(event);
      yield* await respond(`read of ${stream}`, events);
    },
  };
};
