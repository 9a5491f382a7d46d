/** `runstream doctor`: is the store healthy? */
import { existsSync } from "node:fs";
import type { Command } from "commander";
import type { EventLog } from "../../events/event-log.ts";
import { sealedIn } from "../../events/sealed-facts.ts";
import { StoreError } from "../../events/store-error.ts";
import type { RunIndex } from "../../projections/run-index.ts";
import type { UnreadableRun } from "../../projections/run-index-queries.ts";
import { RUNNABLE } from "../../projections/run-state.ts";
import { isServerAddress } from "../../store-eventstore/address.ts";
import type { EventStoreGroupHealth } from "../../store-eventstore/index.ts";
import type { SqliteLogHealth } from "../../store-sqlite/index.ts";
import type { GlobalOptions, SetExit } from "../command-options.ts";
import { ERASED } from "../sealed-words.ts";
import { existingStore, indexFile, shownStore, withLog } from "../store.ts";
import { harmless, out, print, printJson } from "../terminal.ts";
import { EXIT } from "../usage-error.ts";

export const registerDoctor = (program: Command, setExit: SetExit): void => {
  program
    .command("doctor")
    .summary("is the store healthy?")
    .description(
      "Examines the store: that the file is whole, that every run can be read by this version, how far the run index and the " +
        "workers lag behind, and whether deliveries were set aside. Exit code 1 where something needs attention. It reads the " +
        "whole file: expect a second per million events. With --keys it also looks for runs that cannot go on because their key is " +
        "gone, or is another one. Of a server it examines what it holds of runs, by their index, and the groups of workers.",
    )
    .addHelpText("after", EXAMPLES)
    .action(async (_options, command: Command) => {
      setExit(await doctor(command.optsWithGlobals<GlobalOptions>()));
    });
};

const EXAMPLES = `
Examples:
  $ runstream doctor --store /var/lib/orders.db
  $ runstream doctor --json | jq .attention`;

/** So many unreadable runs are named. */
const NAMED_RUNS = 20;

interface IndexHealth {
  readonly exists: boolean;
  /** Whether it had seen everything when it was opened. */
  readonly caughtUp: boolean;
  readonly unreadableRuns: readonly UnreadableRun[];
  /** Runs that are not over and whose payloads do not open; looked for only with `--keys`. */
  readonly blockedRuns: readonly UnreadableRun[];
}

const doctor = async (options: GlobalOptions): Promise<number> => {
  const onServer = isServerAddress(options.store);
  const log = onServer ? undefined : await examineFile(options.store);
  const index = log === undefined || log.healthy ? await examineIndex(options) : undefined;
  const groups = onServer ? await examineGroups(options.store) : (log?.groups ?? []);
  const attention = [
    ...(log?.problems ?? []),
    ...(index?.unreadableRuns ?? []).map(({ runId, reason }) => `Run ${runId} cannot be read: ${reason}`),
    ...(index?.blockedRuns ?? []).map(({ runId, reason }) => `Run ${runId} cannot go on: ${reason}`),
    ...groups
      .filter(({ parked }) => parked > 0)
      .map(({ name, parked }) => `${parked} deliveries of group ${name} were set aside`),
  ];
  const healthy = attention.length === 0;
  const store = shownStore(options.store);
  await (options.json
    ? printJson({ store, healthy, attention, log, index, ...(onServer && { groups }) })
    : print(asText(store, attention, { log, index, groups })));
  return healthy ? EXIT.ok : EXIT.failed;
};

const examineFile = async (store: string): Promise<SqliteLogHealth> => {
  const { checkSqliteLog } = await import("../../store-sqlite/index.ts");
  return checkSqliteLog(existingStore(store));
};

const examineGroups = async (store: string): Promise<readonly EventStoreGroupHealth[]> => {
  const { eventStoreGroups } = await import("../../store-eventstore/index.ts");
  return eventStoreGroups(store);
};

const examineIndex = (options: GlobalOptions): Promise<IndexHealth> =>
  withLog(options, async (log) => {
    const { openRunIndex } = await import("../../projections/run-index.ts");
    const path = indexFile(options);
    const exists = existsSync(path);
    // Where there is no index file, one in memory shows as well which runs can be read.
    const index = openRunIndex(log, exists ? { path } : {});
    try {
      const { caughtUp } = await index.lag();
      const unreadableRuns = await index.problems(NAMED_RUNS);
      const blockedRuns = options.keys === undefined ? [] : await blockedAmong(log, index);
      return { exists, caughtUp, unreadableRuns, blockedRuns };
    } finally {
      await index.close();
    }
  });

/** At most {@link NAMED_RUNS} of the runs that are not over and whose payloads do not open. */
const blockedAmong = async (log: EventLog, index: RunIndex): Promise<UnreadableRun[]> => {
  const found: UnreadableRun[] = [];
  let cursor: string | undefined;
  do {
    const page = await index.list({
      kind: ["run", "thread"],
      status: RUNNABLE,
      limit: 1_000,
      ...(cursor !== undefined && { cursor }),
    });
    for (const { runId, problem } of page.runs) {
      const reason = problem === undefined ? await blockOf(log, runId) : undefined;
      if (reason !== undefined) found.push({ runId, reason });
      if (found.length === NAMED_RUNS) return found;
    }
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
};

const blockOf = async (log: EventLog, runId: string): Promise<string | undefined> => {
  const { readHistory } = await import("../../projections/history.ts");
  try {
    for await (const { event } of readHistory(log, runId)) if (sealedIn(event) === "erased") return ERASED;
  } catch (error) {
    if (!StoreError.is(error) || error.error._tag !== "Corrupt") throw error;
    return error.message;
  }
  return undefined;
};

interface Examined {
  readonly log: SqliteLogHealth | undefined;
  readonly index: IndexHealth | undefined;
  /** Of a file, with what waits and how far a group lags; a server tells neither. */
  readonly groups: readonly (EventStoreGroupHealth & { readonly waiting?: number; readonly lag?: number })[];
}

const asText = (store: string, attention: readonly string[], { log, index, groups }: Examined): string => {
  const lines = [
    `${out.bold(store)}: ${attention.length === 0 ? out.green("healthy") : out.red("needs attention")}`,
    ...attention.map((text) => `  ${out.red("✗")} ${harmless(text)}`),
  ];
  if (log?.schema === 0) return lines.join("\n");
  if (log !== undefined) {
    const { events, streams, bytes, walBytes, payloads, schema } = log;
    lines.push(
      `  ${count(events)} events in ${count(streams)} streams, schema ${schema}`,
      `  ${count(bytes)} bytes, and ${count(walBytes)} in the write-ahead log`,
      `  ${count(payloads.checked)} payloads parsed${payloads.complete ? "" : " (a sample)"}`,
    );
  }
  if (index !== undefined) lines.push(`  ${indexText(index)}`);
  for (const group of groups) lines.push(`  ${groupText(group)}`);
  return lines.join("\n");
};

const groupText = ({ name, consumers, inHand, waiting, parked, lag }: Examined["groups"][number]): string =>
  [
    `group ${harmless(name)}: ${count(consumers)} workers`,
    `${count(inHand)} deliveries in hand`,
    ...(waiting === undefined ? [] : [`${count(waiting)} waiting`]),
    `${count(parked)} set aside`,
    ...(lag === undefined ? [] : [`${count(lag)} events to look at`]),
  ].join(", ");

const indexText = ({ exists, caughtUp }: IndexHealth): string => {
  if (!exists) return "run index: not made yet; the first listing makes it";
  return caughtUp ? "run index: up to date" : "run index: was behind, and has caught up now";
};

const count = (value: number): string => value.toLocaleString("en-US");
