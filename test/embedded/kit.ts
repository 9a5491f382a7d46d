/** What the tests of the embedded engine share: stores to run on, Runstreams that are stopped after each test, logs that misbehave. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Observable, type Subscriber } from "rxjs";
import { afterAll, afterEach } from "vitest";
import { openRunstream, type Runstream, type RunstreamOptions } from "../../src/embedded/runstream.ts";
import type { Logger } from "../../src/engine/logger.ts";
import type { Consumed, EventLog } from "../../src/events/event-log.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import type { LogLine } from "../engine/scene.ts";

export { until } from "./until.ts";

export type StoreName = "memory" | "sqlite";
export const STORES: readonly StoreName[] = ["memory", "sqlite"];

export const embedded = () => {
  const folder = mkdtempSync(join(tmpdir(), "runstream-embedded-"));
  const opened: Runstream[] = [];
  const logs: EventLog[] = [];
  let files = 0;
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((runstream) => runstream.stop({ graceMs: 0 })));
    await Promise.all(logs.splice(0).map((log) => log.close()));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const path = (): string => {
    files += 1;
    return join(folder, `store-${files}.db`);
  };
  return {
    folder,
    path,
    /** A log that outlives the Runstreams on it. Two logs of one file are two as two processes have them. */
    log: (store: StoreName, file: string = path()): EventLog => {
      const log = store === "memory" ? createMemoryLog() : openSqliteLog(file);
      logs.push(log);
      return log;
    },
    open: (options: RunstreamOptions): Runstream => {
      const runstream = openRunstream(options);
      opened.push(runstream);
      return runstream;
    },
  };
};

export const recorder = (): Logger & { readonly lines: LogLine[]; said(text: string): LogLine[] } => {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine["level"]) =>
    (message: string, fields: Record<string, unknown> = {}): void => {
      lines.push({ level, message, fields });
    };
  return {
    lines,
    said: (text) => lines.filter(({ message }) => message.includes(text)),
    ...{ debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
  };
};

/** `log` whose group subscriptions can be broken from outside. */
export const breakable = (log: EventLog): EventLog & { breakOff(error: Error): void; opened: number } => {
  const subscribers = new Set<Subscriber<Consumed>>();
  const self = {
    ...delegate(log),
    opened: 0,
    consume: (...args: Parameters<EventLog["consume"]>) =>
      new Observable<Consumed>((subscriber) => {
        self.opened += 1;
        subscribers.add(subscriber);
        const subscription = log.consume(...args).subscribe(subscriber);
        return () => {
          subscribers.delete(subscriber);
          subscription.unsubscribe();
        };
      }),
    breakOff(error: Error) {
      for (const subscriber of [...subscribers]) subscriber.error(error);
    },
  };
  return self;
};

/** The log's methods as own properties, so that a test may replace some. */
export const delegate = (log: EventLog): EventLog => ({
  append: (...args) => log.append(...args),
  read: (...args) => log.read(...args),
  readAll: (...args) => log.readAll(...args),
  subscribe: (...args) => log.subscribe(...args),
  consume: (...args) => log.consume(...args),
  head: () => log.head(),
  close: () => log.close(),
});

export const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};
