/**
 * The store that a command works on, a file or a server, and runs by the ids that people type. Commands that read open no more than they
 * need; none of them makes a file where there is none.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Runstream, RunstreamOptions } from "../embedded/runstream.ts";
import { isSdkEvent, isThreadEvent } from "../events/catalogue.ts";
import type { EventLog, RecordedEvent } from "../events/event-log.ts";
import { runIdOf, runStream } from "../events/stream-names.ts";
import { isServerAddress } from "../store-eventstore/address.ts";
import type { StoreOptions } from "./command-options.ts";
import { payloadsFrom, withKeys } from "./keys-module.ts";
import { CliError } from "./usage-error.ts";

/** The store, for people to read: a connection string without its password. */
export const shownStore = (store: string): string =>
  isServerAddress(store) ? store.replace(/(:\/\/[^:@/?]*):[^@/?]*@/, "$1:…@") : store;

/** Throws where `store` is a file that is not there. */
export const existingStore = (store: string): string => {
  if (isServerAddress(store) || existsSync(store)) return store;
  throw new CliError(
    `There is no store at ${store}. Name one with --store or RUNSTREAM_STORE; "runstream run" and "runstream start" make it.`,
  );
};

/** Where the run index is kept: where it was asked for, beside a file, and for a server in the user's cache folder. */
export const indexFile = ({ store, index }: StoreOptions): string => {
  if (index !== undefined) return index;
  return isServerAddress(store) ? cachedIndex(store) : `${store}-index`;
};

/** One for each server and login, whichever way the rest of the connection string goes. */
const cachedIndex = (store: string): string => {
  const server = store.replace(/\?.*$/, "").replace(/:\/\/([^:@/]*):[^@/]*@/, "://$1@");
  const mark = createHash("sha256").update(server).digest("hex").slice(0, 12);
  const name = server.replace(/^.*?:\/\//, "").replace(/[^\w.-]+/g, "_");
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "runstream", `${name}-${mark}-index`);
};

/** {@link indexFile}, in a folder that is there. */
export const readyIndexFile = (options: StoreOptions): string => {
  const path = indexFile(options);
  if (!isServerAddress(options.store) || existsSync(path)) return path;
  try {
    mkdirSync(dirname(path), { recursive: true });
    return path;
  } catch (cause) {
    throw new CliError(
      `The run index cannot be kept at ${path}: ${(cause as Error).message}. Name another place with --index or RUNSTREAM_INDEX.`,
    );
  }
};

/** Opens the log of a server, or of a file, which is made where there is none. */
const openLog = async (store: string): Promise<EventLog> => {
  if (isServerAddress(store)) {
    const { openEventStoreLog } = await import("../store-eventstore/index.ts");
    return openEventStoreLog(store);
  }
  const { openSqliteLog } = await import("../store-sqlite/index.ts");
  return openSqliteLog(store);
};

/** Opens the log of a store that is there, whose payloads are opened with `keys`, for `work`, and closes it afterwards. */
export const withLog = async <T>(
  { store, keys }: StoreOptions,
  work: (log: EventLog) => Promise<T>,
): Promise<T> => {
  const log = await openLog(existingStore(store));
  try {
    return await work(await withKeys(log, keys));
  } finally {
    await log.close();
  }
};

export interface OpenedRunstream {
  readonly runstream: Runstream;
  /** Stops it, and closes its log. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Opens Runstream on the store, with its keys. A file is made where there is none. */
export const openRunstreamOn = async (
  options: StoreOptions,
  more: Omit<RunstreamOptions, "store" | "index" | "payloads"> = {},
): Promise<OpenedRunstream> => {
  const { openRunstream } = await import("../embedded/runstream.ts");
  const payloads = await payloadsFrom(options.keys);
  const log = await openLog(options.store);
  try {
    const runstream = openRunstream({ ...more, ...payloads, store: log, index: readyIndexFile(options) });
    return {
      runstream,
      async close(stop) {
        try {
          await runstream.stop(stop);
        } finally {
          await log.close();
        }
      },
    };
  } catch (error) {
    await log.close();
    throw error;
  }
};

/** As {@link openRunstreamOn}, on a store that is there, for `work`. */
export const withRunstream = async <T>(
  options: StoreOptions,
  work: (runstream: Runstream) => Promise<T>,
): Promise<T> => {
  existingStore(options.store);
  const { runstream, close } = await openRunstreamOn(options);
  try {
    return await work(runstream);
  } finally {
    await close();
  }
};

const GENERATED = "wrun_";
/** So many candidates of an ambiguous id are named. */
const NAMED = 10;

/** The run that `typed` stands for: its id, or the beginning of one id, with or without `wrun_`. Throws where it is none or several. */
export const resolveRun = async (log: EventLog, typed: string): Promise<string> => {
  if (typed !== "") {
    for await (const _ of log.read(runStream(typed), { max: 1 })) return typed;
    for (const prefix of [typed, GENERATED + typed]) {
      const candidates = await runsBeginningWith(log, prefix);
      if (candidates.length === 1) return candidates[0]!;
      if (candidates.length > 1) throw ambiguous(typed, candidates);
    }
  }
  throw new CliError(
    `There is no run ${JSON.stringify(typed)} in this store. "runstream ls" lists the runs; --store names another store.`,
  );
};

const beginsWith =
  (isOfKind: (first: RecordedEvent) => boolean) =>
  async (log: EventLog, runId: string): Promise<boolean> => {
    for await (const first of log.read(runStream(runId), { max: 1 })) return isOfKind(first);
    return false;
  };

/** Whether the stream of this id is a thread's. */
export const isThread = beginsWith(isThreadEvent);

/** Whether the stream of this id is that of a run of the Workflow SDK. */
export const isSdkRun = beginsWith(isSdkEvent);

/** As {@link resolveRun}, for what has to be a thread. */
export const resolveThread = async (log: EventLog, typed: string): Promise<string> => {
  const threadId = await resolveRun(log, typed);
  if (await isThread(log, threadId)) return threadId;
  throw new CliError(
    `${JSON.stringify(threadId)} is a run and no thread: "runstream replay" shows its states, and "runstream signal" answers what it waits for.`,
  );
};

const runsBeginningWith = async (log: EventLog, prefix: string): Promise<string[]> => {
  const found = new Set<string>();
  const filter = { streamPrefix: runStream(prefix), types: FIRST_EVENTS };
  for await (const { stream } of log.readAll({ filter })) {
    found.add(runIdOf(stream) ?? stream);
    if (found.size > NAMED) break;
  }
  return [...found];
};

/** What the stream of a run, or of a thread, may begin with. A thread may begin anew. */
const FIRST_EVENTS = ["RunCreated", "ThreadStarted", "ThreadCheckpointPut", "SdkRunCreated"];

const ambiguous = (typed: string, candidates: readonly string[]): CliError => {
  const named = candidates.slice(0, NAMED).map((id) => `  ${id}`);
  if (candidates.length > NAMED) named.push("  …");
  return new CliError(
    `Several runs begin with ${JSON.stringify(typed)}; type more of the id:\n${named.join("\n")}`,
  );
};
