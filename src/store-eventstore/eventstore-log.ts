/**
 * The EventLog on EventStoreDB: puts appends, reads, subscriptions and consumer groups together over one connection. It decides
 * nothing itself.
 *
 * Closing answers what is under way before the connection goes: appends are waited for, subscriptions complete, consumers hand back
 * what they hold.
 */
import { left } from "fp-ts/lib/Either.js";
import type { TaskEither } from "fp-ts/lib/TaskEither.js";
import { Observable } from "rxjs";
import type {
  AppendError,
  Appended,
  CaughtUp,
  Consumed,
  ConsumeOptions,
  EventData,
  EventFilter,
  EventLog,
  ExpectedRevision,
  Position,
  ReadAllOptions,
  ReadOptions,
  RecordedEvent,
  SubscribeOptions,
} from "../events/event-log.ts";
import { type AppendConnection, openAppendConnection } from "./append-connection.ts";
import { Appender } from "./appender.ts";
import { CatchUp } from "./catch-up.ts";
import { closedError, closedTrouble, unusable } from "./client-errors.ts";
import { type Connection, openConnection, within } from "./connection.ts";
import { Group } from "./group.ts";
import type { AppendMode, EventStoreLogOptions } from "./options.ts";
import { Reader } from "./reader.ts";
import { outgoing } from "./records.ts";
import type { Server } from "./settings.ts";

const ABOVE_0 = ["deadlineMs", "heartbeatMs"] as const;
const NOT_BELOW_0 = ["retryForMs", "reconnectForMs", "prefetch"] as const;
/** A timer takes no more than 2^31-1 ms, and counts to 1 when it is given more. Deadlines are lengthened by a second here and there. */
const LONGEST_MS = 2 ** 31 - 10_000;

export class EventStoreLog implements EventLog {
  readonly #server: string;
  readonly #connection: Connection;
  readonly #appendConnection: AppendConnection;
  readonly #reader: Reader;
  readonly #appender: Appender;
  readonly #settings: Required<EventStoreLogOptions>;
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #subscriptions = new Set<CatchUp>();
  readonly #groups = new Map<string, Group>();
  #closing: Promise<void> | undefined;

  constructor(server: Server, options: EventStoreLogOptions) {
    const settings = {
      deadlineMs: 10_000,
      retryForMs: 10_000,
      reconnectForMs: 60_000,
      heartbeatMs: 15_000,
      prefetch: 512,
      appends: "plain" as AppendMode,
      ...options,
    };
    for (const name of ABOVE_0)
      if (!(settings[name] > 0))
        throw unusable(server.name, `the option ${name} must be above 0, and is ${settings[name]}`);
    for (const name of NOT_BELOW_0)
      if (!(settings[name] >= 0))
        throw unusable(server.name, `the option ${name} must be 0 or more, and is ${settings[name]}`);
    if (settings.appends !== "plain" && settings.appends !== "batch")
      throw unusable(
        server.name,
        `the option appends must be "plain" or "batch", and is ${settings.appends}`,
      );
    for (const name of ABOVE_0) settings[name] = Math.min(settings[name], LONGEST_MS);
    this.#settings = settings;
    this.#server = server.name;
    this.#connection = openConnection(server.makeClient(), "plain");
    this.#appendConnection = openAppendConnection(this.#connection, settings.appends, server.makeClient);
    this.#reader = new Reader(this.#connection, server.name, settings.deadlineMs);
    this.#appender = new Appender(this.#appendConnection, this.#reader, server.name, settings);
  }

  append(
    stream: string,
    expected: ExpectedRevision,
    events: readonly EventData[],
  ): TaskEither<AppendError, Appended> {
    return async () => {
      if (this.#closing !== undefined) return left(closedTrouble(this.#server));
      const answer = this.#appender.append(stream, expected, outgoing(events));
      this.#underWay.add(answer);
      try {
        return await answer;
      } finally {
        this.#underWay.delete(answer);
      }
    };
  }

  read(stream: string, options?: ReadOptions): AsyncIterable<RecordedEvent> {
    return { [Symbol.asyncIterator]: () => this.#reader.read(stream, options) };
  }

  readAll(options?: ReadAllOptions): AsyncIterable<RecordedEvent> {
    return { [Symbol.asyncIterator]: () => this.#reader.readAll(options) };
  }

  head(): Promise<Position | undefined> {
    return this.#reader.head();
  }

  subscribe(options: SubscribeOptions): Observable<RecordedEvent | CaughtUp> {
    return new Observable((subscriber) => {
      if (this.#closing !== undefined) return subscriber.error(closedError(this.#server));
      const parts = {
        ...this.#settings,
        connection: this.#connection,
        reader: this.#reader,
        server: this.#server,
      };
      const subscription = new CatchUp(parts, options, subscriber);
      this.#subscriptions.add(subscription);
      return () => {
        this.#subscriptions.delete(subscription);
        subscription.stop();
      };
    });
  }

  consume(group: string, options: ConsumeOptions = {}): Observable<Consumed> {
    return new Observable((subscriber) => {
      if (this.#closing !== undefined) return subscriber.error(closedError(this.#server));
      return this.#group(group, options.filter).join(subscriber, options);
    });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #group(name: string, filter: EventFilter | undefined): Group {
    const key = JSON.stringify([name, filter?.streamPrefix ?? null, filter?.types ?? null]);
    const parts = { ...this.#settings, connection: this.#connection, server: this.#server };
    const group = this.#groups.get(key) ?? new Group(parts, name, filter);
    this.#groups.set(key, group);
    return group;
  }

  async #close(): Promise<void> {
    for (const subscription of [...this.#subscriptions]) subscription.complete();
    await Promise.all([...this.#groups.values()].map((group) => group.close()));
    this.#appender.close();
    // None takes longer than its deadline, now that none is tried again.
    await within(Promise.all(this.#underWay), this.#settings.deadlineMs, "the appends under way").catch(
      () => {},
    );
    this.#reader.close();
    await this.#appendConnection.close();
    await this.#connection.close();
  }
}
