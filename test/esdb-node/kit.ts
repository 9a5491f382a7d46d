/** What the tests of the stand-in node share: a node and the official client to it, both closed when the test is over. */
import { randomUUID } from "node:crypto";
import {
  EventStoreDBClient,
  type JSONEventType,
  jsonEvent,
  type ReadStreamOptions,
  type ResolvedEvent,
} from "@eventstore/db-client";
import { afterEach, expect, vi } from "vitest";
import { type NodeOptions, type StandInNode, startNode } from "./node.ts";

const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Called when the test is over; the latest first. */
export const later = (close: () => Promise<unknown>): void => void closers.push(close);

export interface Scene {
  readonly node: StandInNode;
  readonly client: EventStoreDBClient;
}

/** The server's own limit for the chunks of a batch is out of the way, so that a slow machine fails no test. */
export const open = async (options: NodeOptions = {}): Promise<Scene> => {
  const node = await startNode({ commitTimeoutMs: 60_000, ...options });
  later(() => node.stop());
  return { node, client: connect(node.connectionString) };
};

export const connect = (connectionString: string): EventStoreDBClient => {
  const client = EventStoreDBClient.connectionString(`${connectionString}&defaultDeadline=60000`);
  later(() => client.dispose());
  return client;
};

/** Credentials of a call make the client use the plain Append; over a connection without TLS they are not sent. */
export const PLAIN = { credentials: { username: "any", password: "any" } } as const;

/** The two ways in which the client appends. */
export const WAYS = [
  ["batch", {}],
  ["plain", PLAIN],
] as const;

export type Happened = JSONEventType<string, { readonly n: number }>;

export const event = (n = 0, id: string = randomUUID(), type = "Happened") =>
  jsonEvent({ id, type, data: { n } });

export const events = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => event(from + index));

/** The error that `doing` ends with; a failed test if it does not. */
export const failureOf = async (doing: Promise<unknown>): Promise<Record<string, unknown>> => {
  try {
    await doing;
  } catch (error) {
    return error as Record<string, unknown>;
  }
  return expect.unreachable("it did not fail");
};

export const gather = async <T>(source: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const one of source) all.push(one);
  return all;
};

/** What is read of a stream, as `revision:n`. */
export const contents = async (
  client: EventStoreDBClient,
  stream: string,
  options: ReadStreamOptions = {},
): Promise<string[]> => {
  const read = await gather(client.readStream<Happened>(stream, options));
  return read.map(({ event: recorded }) => `${recorded!.revision}:${recorded!.data.n}`);
};

/** Until a client has found the node again: the first calls after a restart fail, and each makes it try anew. */
export const reachable = (client: EventStoreDBClient): Promise<unknown> =>
  soon(() => client.getStreamMetadata("any"));

/** Until `check` passes. The test's own time limit is the limit. */
export const soon = <T>(check: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(check, { timeout: 60_000, interval: 20 });

/** Keeps what a subscription says, and waits for it. */
export class Heard<T = unknown> {
  readonly all: T[] = [];
  #waiting: (() => void)[] = [];

  add = (one: T): void => {
    this.all.push(one);
    for (const wake of this.#waiting.splice(0)) wake();
  };

  /** Until `enough` holds of what was heard. The test's own time limit is the limit. */
  async until(enough: (all: readonly T[]) => boolean): Promise<readonly T[]> {
    while (!enough(this.all)) await new Promise<void>((wake) => this.#waiting.push(wake));
    return this.all;
  }

  count(count: number): Promise<readonly T[]> {
    return this.until((all) => all.length >= count);
  }
}

interface Emitter {
  on(event: "data", listener: (resolved: ResolvedEvent) => void): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
  on(event: "end" | "caughtUp" | "confirmation", listener: () => void): unknown;
  unsubscribe(): Promise<void>;
}

/** The frames of a subscription in order: `"confirmation"`, `"caughtUp"`, `stream/revision` for events, `"error type"`, `"end"`. */
export const listen = (subscription: unknown): Heard<string> => {
  const emitter = subscription as Emitter;
  const heard = new Heard<string>();
  emitter.on("error", (error) => heard.add(`error ${(error as unknown as { type?: string }).type}`));
  emitter.on("confirmation", () => heard.add("confirmation"));
  emitter.on("caughtUp", () => heard.add("caughtUp"));
  emitter.on("data", ({ event: recorded, link }) => {
    const one = recorded ?? link!;
    heard.add(`${one.streamId}/${one.revision}`);
  });
  emitter.on("end", () => heard.add("end"));
  later(() => emitter.unsubscribe());
  return heard;
};
