/**
 * What the run index knows of runs of the Workflow SDK besides their rows: the hooks that can be answered, and the runs that wait for a
 * message which nobody has sent.
 *
 * Not here: the rows (run-index-sdk-fold), and anything a decision is taken on: who asks looks at the run's stream.
 *
 * Invariants:
 * - M1 A run that goes on has a row in `sdk_messages` from its creation, or its first message, on. It is owed one when it was created
 *   before any was queued, or received something since the last one was.
 * - M2 A hook is kept from its creation until it is disposed or its run is over. Hooks are in the order of the events that made them, whose
 *   ids grow with time.
 * - M3 What is read again changes nothing: an event at or before the last one of its batch is left out, and one that an earlier step
 *   wrote never comes here (C1 of run-index-catch-up).
 */
import type { DatabaseSync } from "node:sqlite";
import { comparePositions, type Position, type RecordedEvent } from "../events/event-log.ts";
import { RUN_PREFIX, SDK_QUEUE_PREFIX } from "../events/stream-names.ts";
import { givenText, inSnapshot, storedText } from "./run-index-schema.ts";
import { isTerminal, KINDS, STATUSES } from "./run-state.ts";

/** A hook of a run of the Workflow SDK. `place` is where it stands in the order of all hooks. */
export interface SdkHook {
  readonly runId: string;
  readonly hookId: string;
  readonly place: string;
}

export interface SdkHookQuery {
  /** Page size, a whole number of 1 or more. */
  readonly limit: number;
  readonly order: "newest" | "oldest";
  /** The place of the last hook of the page before. */
  readonly after?: string;
}

/** A run that waits for a message which was never sent, and that can be read. */
export interface SdkOwedRun {
  readonly runId: string;
  readonly workflow: string;
}

export interface SdkQueries {
  hooks(query: SdkHookQuery): readonly SdkHook[];
  hook(hookId: string): SdkHook | undefined;
  owed(): readonly SdkOwedRun[];
}

export const sdkQueries = (database: DatabaseSync): SdkQueries => {
  const page = (comparison: "<" | ">", order: "ASC" | "DESC") =>
    database.prepare(
      `SELECT opened, run, hook FROM sdk_hooks WHERE opened ${comparison} ? ORDER BY opened ${order} LIMIT ?`,
    );
  const [newest, oldest] = [page("<", "DESC"), page(">", "ASC")];
  const byId = database.prepare(
    "SELECT opened, run, hook FROM sdk_hooks WHERE hook = ? ORDER BY run LIMIT 1",
  );
  const owed = database.prepare(
    `SELECT runs.run AS run, workflows.name AS name FROM sdk_messages INDEXED BY sdk_messages_owed
     CROSS JOIN runs ON runs.run = sdk_messages.run JOIN workflows ON workflows.id = runs.workflow
     WHERE owed = 1 AND problem IS NULL ORDER BY runs.run`,
  );
  return {
    hooks: ({ limit, order, after }) =>
      order === "newest"
        ? newest.all(after === undefined ? AFTER_ALL : storedText(after), limit).map(hookOf)
        : oldest.all(after === undefined ? "" : storedText(after), limit).map(hookOf),
    hook: (hookId) => {
      const row = byId.get(storedText(hookId));
      return row === undefined ? undefined : hookOf(row);
    },
    owed: () =>
      inSnapshot(database, () => owed.all()).map(({ run, name }) => ({
        runId: givenText(String(run)),
        workflow: givenText(String(name)),
      })),
  };
};

/** Stored text is printable ASCII, so that nothing sorts behind this. */
const AFTER_ALL = "\x7f";

const hookOf = ({ opened, run, hook }: Readonly<Record<string, unknown>>): SdkHook => ({
  runId: givenText(String(run)),
  hookId: givenText(String(hook)),
  place: givenText(String(opened)),
});

export interface SdkWriter {
  /** Writes what a batch in log order says, after its runs have been saved. To be called inside a transaction. */
  write(events: readonly RecordedEvent[]): void;
}

export const sdkWriter = (database: DatabaseSync): SdkWriter => {
  const sql = statements(database);

  /** By run: is it owed a message? */
  const save = (owed: ReadonlyMap<string, boolean>): void => {
    for (const [run, due] of owed) {
      const status = STATUSES[Number(sql.status.get(run, SDK_KIND)?.status)];
      if (status === undefined || !isTerminal(status)) {
        sql.putMessages.run(run, due ? 1 : 0);
        continue;
      }
      sql.endMessages.run(run);
      sql.endHooks.run(run);
    }
  };

  return {
    write: (events) => {
      const owed = new Map<string, boolean>();
      let seen: Position | undefined;
      for (const event of events) {
        const run = sdkRunIn(event);
        if (run === undefined || (seen !== undefined && comparePositions(event.position, seen) <= 0))
          continue;
        seen = event.position;
        const before = owed.get(run) ?? owedSoFar(sql.owed.get(run)?.owed);
        owed.set(run, owedAfter(event.type, before));
        noteHook(sql, run, event);
      }
      save(owed);
    },
  };
};

type Statements = ReturnType<typeof statements>;

const statements = (database: DatabaseSync) => ({
  status: database.prepare("SELECT status FROM runs WHERE run = ? AND kind = ?"),
  owed: database.prepare("SELECT owed FROM sdk_messages WHERE run = ?"),
  putMessages: database.prepare(
    "INSERT INTO sdk_messages (run, owed) VALUES (?, ?) ON CONFLICT DO UPDATE SET owed = excluded.owed",
  ),
  endMessages: database.prepare("DELETE FROM sdk_messages WHERE run = ?"),
  putHook: database.prepare(
    "INSERT INTO sdk_hooks (opened, run, hook) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  ),
  endHook: database.prepare("DELETE FROM sdk_hooks WHERE hook = ? AND run = ?"),
  endHooks: database.prepare("DELETE FROM sdk_hooks WHERE run = ?"),
});

const SDK_KIND = KINDS.indexOf("sdk");

/** The run that an event of the Workflow SDK is about, as the index stores it. */
const sdkRunIn = ({ stream, type }: RecordedEvent): string | undefined => {
  if (!type.startsWith("Sdk")) return undefined;
  const prefix = type === "SdkMessageQueued" ? SDK_QUEUE_PREFIX : RUN_PREFIX;
  return stream.startsWith(prefix) ? stream.slice(prefix.length) : undefined;
};

const owedSoFar = (stored: unknown): boolean | undefined => (stored === undefined ? undefined : stored === 1);

const owedAfter = (type: string, before: boolean | undefined): boolean => {
  if (type === "SdkMessageQueued") return false;
  if (type === "SdkHookReceived") return true;
  return before ?? true;
};

/** Of a hook that is gone before its run is, nothing is left; what its run's end leaves is removed with the run. */
const noteHook = (sql: Statements, run: string, { type, data }: RecordedEvent): void => {
  const { correlationId, eventId } = data;
  if (typeof correlationId !== "string" || typeof eventId !== "string") return;
  if (type === "SdkHookCreated") sql.putHook.run(storedText(eventId), run, storedText(correlationId));
  if (type === "SdkHookDisposed") sql.endHook.run(storedText(correlationId), run);
};
