/** What the tests of the EventStoreDB log share: nodes and logs that are closed after each test, events, and waiting. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { EventStoreDBClient } from "@eventstore/db-client";
import { afterEach, vi } from "vitest";
import type {
  AppendError,
  Appended,
  Consumed,
  ConsumeOptions,
  EventData,
  EventLog,
  ExpectedRevision,
  RecordedEvent,
  SubscribeOptions,
} from "../../src/events/event-log.ts";
import type { JsonObject } from "../../src/events/json.ts";
import { type EventStoreLogOptions, openEventStoreLog } from "../../src/store-eventstore/index.ts";
import { type NodeOptions, type StandInNode, startNode } from "../esdb-node/node.ts";

// Deadlines are there to fail a test, not to pace it: a busy machine takes its time.
vi.setConfig({ testTimeout: 60_000 });

export const event = (type = "Noted", data: JsonObject = {}): EventData => ({
  id: randomUUID(),
  type,
  data,
  metadata: {},
});

export const numbered = (count: number): EventData[] =>
  Array.from({ length: count }, (_, n) => event("Noted", { n }));

export const ids = (events: readonly { readonly id: string }[]): string[] => events.map(({ id }) => id);

export const testScene = () => {
  const undo: (() => unknown)[] = [];
  const children: ChildProcess[] = [];
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill("SIGKILL");
    for (const one of undo.splice(0).reverse()) await one();
  });
  const open = async (server: string, options?: EventStoreLogOptions): Promise<EventLog> => {
    const log = await openEventStoreLog(server, options);
    undo.push(() => log.close());
    return log;
  };
  return {
    open,
    node: async (options?: NodeOptions): Promise<StandInNode> => {
      const node = await startNode(options);
      undo.push(() => node.stop());
      return node;
    },
    /** The official client, as somebody else would use it. */
    raw: (server: string): EventStoreDBClient => {
      const client = EventStoreDBClient.connectionString(server);
      undo.push(() => client.dispose());
      return client;
    },
    subscribe: (log: EventLog, options: SubscribeOptions) => {
      const items: (RecordedEvent | "CaughtUp")[] = [];
      const watch = { items, error: undefined as unknown, stop: () => {} };
      const subscription = log.subscribe(options).subscribe({
        next: (item) => items.push("_tag" in item ? "CaughtUp" : item),
        error: (error) => {
          watch.error = error;
        },
      });
      watch.stop = () => subscription.unsubscribe();
      undo.push(watch.stop);
      return watch;
    },
    consume: (
      log: EventLog,
      group: string,
      options?: ConsumeOptions,
      seen: (item: Consumed) => void = () => {},
    ) => {
      const items: Consumed[] = [];
      const watch = { items, error: undefined as unknown, stop: () => {} };
      const subscription = log.consume(group, options).subscribe({
        next: (item) => {
          items.push(item);
          seen(item);
        },
        error: (error) => {
          watch.error = error;
        },
      });
      watch.stop = () => subscription.unsubscribe();
      undo.push(watch.stop);
      return watch;
    },
    /** Runs `script` (beside this file) in a process of its own; `lines` are what it says. */
    start: (script: string, args: readonly string[]) => {
      const child = spawn(process.execPath, ["--no-warnings", join(import.meta.dirname, script), ...args], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      children.push(child);
      const gone = once(child, "exit");
      return { child, gone, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
    },
  };
};

export const put = async (
  log: EventLog,
  stream: string,
  expected: ExpectedRevision,
  ...events: EventData[]
): Promise<Appended | AppendError> => {
  const answer = await log.append(stream, expected, events)();
  return answer._tag === "Right" ? answer.right : answer.left;
};

export const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

/** Resolves once `holds` answers true; looks again in every turn of the event loop. */
export const until = async (what: string, holds: () => boolean, deadlineMs = 40_000): Promise<void> => {
  const end = performance.now() + deadlineMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`still waiting for ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
};
