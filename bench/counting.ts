/**
 * Counts what a run costs the store: appends, by a wrapper around the log, and fsyncs, by the transactions that SQLite commits while
 * `synchronous` is FULL. Counting has a pass of its own: nothing here runs while something is timed.
 */
import { DatabaseSync, StatementSync } from "node:sqlite";
import { type EventLog, openRunstream, type Runstream, type RunstreamOptions } from "../src/index.ts";
import type { Bench, StoreKind } from "./bench.ts";
import type { Load } from "./load.ts";
import { openStore } from "./stores.ts";

export type AppendedEvents = Parameters<EventLog["append"]>[2];

export interface CountedLog {
  readonly log: EventLog;
  /** Every append so far, in order: the stream and what was written to it. */
  readonly appends: readonly { readonly stream: string; readonly events: AppendedEvents }[];
}

export const countedLog = (inner: EventLog): CountedLog => {
  const appends: { stream: string; events: AppendedEvents }[] = [];
  const log: EventLog = {
    append(stream, expected, events) {
      const write = inner.append(stream, expected, events);
      return async () => {
        const answer = await write();
        if (answer._tag === "Right") appends.push({ stream, events });
        return answer;
      };
    },
    read: (stream, options) => inner.read(stream, options),
    readAll: (options) => inner.readAll(options),
    subscribe: (options) => inner.subscribe(options),
    consume: (group, options) => inner.consume(group, options),
    head: () => inner.head(),
    close: () => inner.close(),
  };
  return { log, appends };
};

export interface FsyncCounter {
  /** Transactions committed with an fsync so far, over the files opened since the counter was made. */
  readonly fsyncs: number;
  stop(): void;
}

/** Counts for the files that are opened from now on, until it is stopped. */
export const countFsyncs = (): FsyncCounter => {
  const { run } = StatementSync.prototype;
  const { exec, prepare } = DatabaseSync.prototype;
  const owners = new WeakMap<StatementSync, DatabaseSync>();
  const full = new WeakMap<DatabaseSync, boolean>();
  let fsyncs = 0;
  DatabaseSync.prototype.exec = function noted(this: DatabaseSync, sql: string) {
    const setting = /synchronous = (\w+)/.exec(sql)?.[1];
    if (setting !== undefined) full.set(this, setting === "FULL");
    return Reflect.apply(exec, this, [sql]);
  };
  DatabaseSync.prototype.prepare = function noted(this: DatabaseSync, ...args: Parameters<typeof prepare>) {
    const statement: StatementSync = Reflect.apply(prepare, this, args);
    owners.set(statement, this);
    return statement;
  };
  StatementSync.prototype.run = function counted(this: StatementSync, ...values: unknown[]) {
    const owner = this.sourceSQL === "COMMIT" ? owners.get(this) : undefined;
    if (owner !== undefined && full.get(owner) === true) fsyncs += 1;
    return Reflect.apply(run, this, values);
  } as typeof run;
  return {
    get fsyncs() {
      return fsyncs;
    },
    stop() {
      Object.assign(DatabaseSync.prototype, { exec, prepare });
      Object.assign(StatementSync.prototype, { run });
    },
  };
};

/** What one run costs the store: `load` is run on a fresh store whose appends and fsyncs are counted. */
export const costPerRun = async (
  bench: Bench,
  kind: StoreKind,
  options: Omit<RunstreamOptions, "store" | "index">,
  load: (runstream: Runstream) => Promise<Load>,
): Promise<{ readonly appendsPerRun: number; readonly fsyncsPerRun: number }> => {
  const counter = countFsyncs();
  try {
    const store = await openStore(bench, kind, "counted");
    const counted = countedLog(store.log);
    const runstream = openRunstream({ ...options, ...store.options, store: counted.log });
    runstream.work();
    await runstream.log.head();
    const before = counter.fsyncs;
    const runs = (await load(runstream)).tookMs.length;
    const fsyncs = counter.fsyncs - before;
    await runstream.stop();
    await store.discard();
    return { appendsPerRun: counted.appends.length / runs, fsyncsPerRun: fsyncs / runs };
  } finally {
    counter.stop();
  }
};
