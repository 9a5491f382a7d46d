/**
 * The places where the tests of threads keep their checkpoints, one for each kind of checkpointer. `worker()` answers what a worker of
 * its own would open: another object over the same threads wherever the kind has one.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { left } from "fp-ts/lib/Either.js";
import { afterEach, beforeEach, describe } from "vitest";
import type { EventLog } from "../../src/events/event-log.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { type GraphCheckpointer, logCheckpointer, memoryCheckpointer } from "../../src/threads/index.ts";
import { jsonCheckpointer } from "./json-checkpointer.ts";
import { listed } from "./reading.ts";

/** Stands between a worker and the store: each read and each write of that worker goes through it. What `write` throws, the store refuses. */
export interface Passage {
  readonly read: <T>(work: () => Promise<T>) => Promise<T>;
  readonly write: <T>(work: () => Promise<T>) => Promise<T>;
}

export interface ThreadStore {
  /** What the next worker opens. */
  worker(passage?: Passage): GraphCheckpointer;
  close(): Promise<void>;
}

/** A store whose threads are streams of a log: `log()` answers what the next worker opens. */
export interface LoggedStore extends ThreadStore {
  log(): EventLog;
}

const oneObject = (checkpointer: GraphCheckpointer): ThreadStore => ({
  worker: (passage) =>
    passage === undefined
      ? checkpointer
      : {
          put: (checkpoint) => passage.write(async () => checkpointer.put(checkpoint)),
          get: (threadId, step) => passage.read(async () => checkpointer.get(threadId, step)),
          history: (threadId, limit) => passage.read(async () => checkpointer.history(threadId, limit)),
        },
  close: async () => {},
});

const throughPassage = (log: EventLog, passage: Passage | undefined): EventLog => {
  if (passage === undefined) return log;
  return {
    append: (stream, expected, events) => async () => {
      try {
        return await passage.write(log.append(stream, expected, events));
      } catch (cause) {
        return left({ _tag: "Unavailable", reason: String(cause), cause });
      }
    },
    async *read(stream, options) {
      yield* await passage.read(() => listed(log.read(stream, options)));
    },
    readAll: (options) => log.readAll(options),
    subscribe: (options) => log.subscribe(options),
    consume: (group, options) => log.consume(group, options),
    head: () => log.head(),
    close: () => log.close(),
  };
};

export const memoryLogStore = (): LoggedStore => {
  const log = createMemoryLog();
  return {
    log: () => log,
    worker: (passage) => logCheckpointer(throughPassage(log, passage)),
    close: () => log.close(),
  };
};

const CONNECTIONS = 2;

/** A real file, opened twice, as two processes would: each worker stands on the other one of the two than the worker before it. */
export const sqliteLogStore = (): LoggedStore => {
  const folder = mkdtempSync(join(tmpdir(), "runstream-threads-"));
  const opened: EventLog[] = [];
  let next = 0;
  const log = (): EventLog => {
    const turn = next++ % CONNECTIONS;
    opened[turn] ??= openSqliteLog(join(folder, "threads.db"));
    return opened[turn];
  };
  return {
    log,
    worker: (passage) => logCheckpointer(throughPassage(log(), passage)),
    async close() {
      for (const one of opened.splice(0)) await one.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

export type NamedStores<Store extends ThreadStore> = readonly (readonly [string, () => Store])[];

export const LOGGED_STORES: NamedStores<LoggedStore> = [
  ["a log in memory", memoryLogStore],
  ["a log in SQLite", sqliteLogStore],
];

export const STORES: NamedStores<ThreadStore> = [
  ["memory", () => oneObject(memoryCheckpointer())],
  ["JSON", () => oneObject(jsonCheckpointer())],
  ...LOGGED_STORES,
];

/** Registers `tests` once for each of `stores`. The store that the tests are given is another one for each test. */
export const onEach = <Store extends ThreadStore>(
  stores: NamedStores<Store>,
  title: string,
  tests: (store: () => Store) => void,
): void => {
  describe.each(stores)(`${title}, kept in %s`, (_, open) => {
    let store: Store;
    beforeEach(() => {
      store = open();
    });
    afterEach(() => store.close());
    tests(() => store);
  });
};
