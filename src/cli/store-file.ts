/**
 * The store file that a command works on, and runs by the ids that people type. Commands that read open no more than they need; none of
 * them makes a store where there is none.
 */
import { existsSync } from "node:fs";
import { isThreadEvent } from "../events/catalogue.ts";
import type { EventLog } from "../events/event-log.ts";
import { runIdOf, runStream } from "../events/stream-names.ts";
import type { GlobalOptions } from "./command-options.ts";
import { withKeys } from "./keys-module.ts";
import { CliError } from "./usage-error.ts";

/** Throws where there is no store at `db`. */
export const existingStore = (db: string): string => {
  if (existsSync(db)) return db;
  throw new CliError(
    `There is no store at ${db}. Name one with --db or RUNSTREAM_DB; "runstream run" and "runstream start" make it.`,
  );
};

export const indexFile = (db: string): string => `${db}-index`;

/** Opens the log at `db`, whose payloads are opened with `keys`, for `work`, and closes it afterwards. */
export const withLog = async <T>(
  { db, keys }: Pick<GlobalOptions, "db" | "keys">,
  work: (log: EventLog) => Promise<T>,
): Promise<T> => {
  const path = existingStore(db);
  const { openSqliteLog } = await import("../store-sqlite/index.ts");
  const log = openSqliteLog(path);
  try {
    return await work(await withKeys(log, keys));
  } finally {
    await log.close();
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
    `There is no run ${JSON.stringify(typed)} in this store. "runstream ls" lists the runs; --db names another store.`,
  );
};

/** Whether the stream of this id is a thread's. */
export const isThread = async (log: EventLog, runId: string): Promise<boolean> => {
  for await (const event of log.read(runStream(runId), { max: 1 })) return isThreadEvent(event);
  return false;
};

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
