/**
 * Writes a batch of events into the run index's tables: reads the rows the batch touches, folds in memory, writes each row once.
 *
 * Not here: transactions and the checkpoint (run-index-catch-up), what an event means (run-index-fold).
 *
 * Invariants:
 * - W1 One statement per touched row and batch, however many of a run's events the batch holds.
 * - W2 `ready` = the run is owed a delivery now: it goes on, and neither a wait nor a hook holds it. `next_wake` = its earliest
 *   outstanding deadline, moot ones included; null for a run that has none, is over, or cannot be read.
 * - W3 `counts` is the number of rows per workflow and status.
 */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { HistoryEvent } from "../events/catalogue.ts";
import type { Position, RecordedEvent } from "../events/event-log.ts";
import { RUN_PREFIX } from "../events/stream-names.ts";
import { foldIntoIndex, keepsNoWaits, newRunChange, type RunChange } from "./run-index-fold.ts";
import { givenText, storedText } from "./run-index-schema.ts";
import { sdkWriter } from "./run-index-sdk.ts";
import { KINDS, STATUSES } from "./run-state.ts";

/** The order is the storage format: a kind is stored as its place here, as a status is in {@link STATUSES}. */
export const WAIT_KINDS = ["sleep", "hookTimeout"] as const;

export type DecodeForIndex = (event: RecordedEvent) => HistoryEvent | { readonly unreadable: string };

export interface IndexWriter {
  /** Folds the events, which are in log order, into the tables. To be called inside a transaction. */
  write(events: readonly RecordedEvent[]): void;
  /** Forgets what the index holds of a run and folds all its events anew. To be called inside a transaction. */
  refold(runId: string, events: readonly RecordedEvent[]): void;
}

interface Touched {
  readonly run: string;
  readonly change: RunChange;
  /** Workflow and status under which the row counts so far, and its end as stored; absent for a new one. */
  readonly counted:
    | { readonly workflow: number; readonly status: number; readonly endedAt: number | undefined }
    | undefined;
  /** The number that a row which is made anew had before. */
  readonly formerId?: number;
}

export const indexWriter = (database: DatabaseSync, decode: DecodeForIndex): IndexWriter => {
  const sql = statements(database);

  const load = (run: string, first: RecordedEvent): Touched => {
    const row = sql.load.get(run);
    if (row === undefined) return { run, change: newRunChange(first), counted: undefined };
    const endedAt = row.ended_at === null ? undefined : Number(row.ended_at);
    const counted = { workflow: Number(row.workflow), status: Number(row.status), endedAt };
    const change: RunChange = {
      ...newRunChange(first),
      id: Number(row.id),
      kind: KINDS[Number(row.kind)] ?? "run",
      workflow: givenText(String(row.name)),
      status: STATUSES[counted.status] ?? "pending",
      createdAt: Number(row.created_at),
      endedAt,
      key: optional(row.key),
      tenant: optional(row.tenant),
      codeVersion: optional(row.code_version),
      revision: Number(row.revision),
      position: String(row.position) as Position,
      problem: row.problem === null ? undefined : JSON.parse(String(row.problem)),
    };
    return { run, change, counted };
  };

  const save = ({ run, change, counted, formerId }: Touched, workflows: Map<string, number>): void => {
    const workflow = counted?.workflow ?? workflowNumber(sql, workflows, change);
    const status = STATUSES.indexOf(change.status);
    const { revision, position } = change;
    const problem = change.problem === undefined ? null : JSON.stringify(change.problem);
    if (change.id === undefined || counted === undefined) {
      const [nextWake, ready] = outlookOfNew(change);
      const { lastInsertRowid } = sql.insert.run(
        ...[formerId ?? null, run, KINDS.indexOf(change.kind), workflow, status],
        ...[change.createdAt, change.endedAt ?? null],
        ...[text(change.key), text(change.tenant), text(change.codeVersion)],
        ...[revision, position, problem, nextWake, ready],
      );
      writeWaits(sql, Number(lastInsertRowid), change);
      sql.count.run(workflow, status, 1);
      return;
    }
    if (change.kind === "run") saveWaits(sql, change.id, change);
    const [nextWake, ready] = keepsNoWaits(change) ? NOTHING_AHEAD : outlook(sql, change.id);
    if (counted.status === status && counted.endedAt === change.endedAt)
      sql.update.run(revision, position, problem, nextWake, ready, change.id);
    else {
      sql.updateStatus.run(
        status,
        change.endedAt ?? null,
        revision,
        position,
        problem,
        nextWake,
        ready,
        change.id,
      );
      sql.count.run(workflow, counted.status, -1);
      sql.count.run(workflow, status, 1);
    }
  };

  const fold = (events: readonly RecordedEvent[], touched: Map<string, Touched>): void => {
    for (const event of events) {
      if (!event.stream.startsWith(RUN_PREFIX)) continue;
      const run = event.stream.slice(RUN_PREFIX.length);
      let one = touched.get(run);
      if (one === undefined) {
        one = load(run, event);
        touched.set(run, one);
      }
      if (event.revision > one.change.revision) foldIntoIndex(one.change, event, decode(event));
    }
    const workflows = new Map<string, number>();
    for (const one of touched.values()) save(one, workflows);
  };

  const sdk = sdkWriter(database);
  const write = (events: readonly RecordedEvent[]): void => {
    fold(events, new Map());
    sdk.write(events);
  };

  const refold = (runId: string, events: readonly RecordedEvent[]): void => {
    const run = storedText(runId);
    const row = sql.load.get(run);
    const first = events[0];
    if (row === undefined || first === undefined) return;
    const id = Number(row.id);
    sql.clearWaits.run(id);
    sql.clearHooks.run(id);
    sql.count.run(Number(row.workflow), Number(row.status), -1);
    sql.remove.run(id);
    fold(events, new Map([[run, { run, change: newRunChange(first), counted: undefined, formerId: id }]]));
  };

  return { write, refold };
};

type Statements = ReturnType<typeof statements>;

const statements = (database: DatabaseSync) => ({
  load: database.prepare(
    "SELECT runs.*, workflows.name FROM runs JOIN workflows ON workflows.id = runs.workflow WHERE run = ?",
  ),
  insert: database.prepare(
    "INSERT INTO runs (id, run, kind, workflow, status, created_at, ended_at, key, tenant, code_version, revision, position, problem, next_wake, ready) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
  ),
  update: database.prepare(
    "UPDATE runs SET revision = ?, position = ?, problem = ?, next_wake = ?, ready = ? WHERE id = ?",
  ),
  updateStatus: database.prepare(
    "UPDATE runs SET status = ?, ended_at = ?, revision = ?, position = ?, problem = ?, next_wake = ?, ready = ? WHERE id = ?",
  ),
  remove: database.prepare("DELETE FROM runs WHERE id = ?"),
  count: database.prepare(
    "INSERT INTO counts (workflow, status, n) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
  ),
  findWorkflow: database.prepare("SELECT id FROM workflows WHERE name = ? AND kind = ?"),
  addWorkflow: database.prepare("INSERT INTO workflows (name, kind) VALUES (?, ?)"),
  putWait: database.prepare(
    "INSERT INTO waits (run, key, kind, wake_at, correlation, moot) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
  ),
  endWait: database.prepare("DELETE FROM waits WHERE run = ? AND key = ?"),
  mootWait: database.prepare("UPDATE waits SET moot = 1 WHERE run = ? AND key = ?"),
  clearWaits: database.prepare("DELETE FROM waits WHERE run = ?"),
  putHook: database.prepare(
    "INSERT INTO hooks (run, key, token, opened_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  ),
  endHook: database.prepare("DELETE FROM hooks WHERE run = ? AND key = ?"),
  clearHooks: database.prepare("DELETE FROM hooks WHERE run = ?"),
  nextWake: database.prepare("SELECT min(wake_at) AS at FROM waits WHERE run = ?"),
  anyHook: database.prepare("SELECT 1 FROM hooks WHERE run = ? LIMIT 1"),
});

const NOTHING_AHEAD: readonly [number | null, 0 | 1] = [null, 0];

const outlook = (sql: Statements, id: number): readonly [number | null, 0 | 1] => {
  const at = sql.nextWake.get(id)?.at;
  if (typeof at === "number") return [at, 0];
  return [null, sql.anyHook.get(id) === undefined ? 1 : 0];
};

const outlookOfNew = (change: RunChange): readonly [number | null, 0 | 1] => {
  if (keepsNoWaits(change)) return NOTHING_AHEAD;
  let nextWake: number | null = null;
  for (const wait of change.waits.values())
    if (wait !== undefined && (nextWake === null || wait.wakeAt < nextWake)) nextWake = wait.wakeAt;
  if (nextWake !== null) return [nextWake, 0];
  for (const hook of change.hooks.values()) if (hook !== undefined) return NOTHING_AHEAD;
  return [null, 1];
};

const saveWaits = (sql: Statements, id: number, change: RunChange): void => {
  if (keepsNoWaits(change)) {
    sql.clearWaits.run(id);
    sql.clearHooks.run(id);
    return;
  }
  endWaits(sql, id, change);
  writeWaits(sql, id, change);
};

const endWaits = (sql: Statements, id: number, change: RunChange): void => {
  for (const key of change.mooted) sql.mootWait.run(id, storedText(key));
  for (const [key, wait] of change.waits) if (wait === undefined) sql.endWait.run(id, storedText(key));
  for (const [key, hook] of change.hooks) if (hook === undefined) sql.endHook.run(id, storedText(key));
};

const writeWaits = (sql: Statements, id: number, change: RunChange): void => {
  for (const [key, wait] of change.waits)
    if (wait !== undefined)
      sql.putWait.run(
        id,
        storedText(key),
        WAIT_KINDS.indexOf(wait.kind),
        wait.wakeAt,
        text(wait.correlationId),
        wait.moot ? 1 : 0,
      );
  for (const [key, hook] of change.hooks)
    if (hook !== undefined) sql.putHook.run(id, storedText(key), storedText(hook.token), hook.openedAt);
};

const workflowNumber = (
  sql: Statements,
  known: Map<string, number>,
  { kind, workflow }: RunChange,
): number => {
  const name = `${kind} ${workflow}`;
  const cached = known.get(name);
  if (cached !== undefined) return cached;
  const stored = [storedText(workflow), KINDS.indexOf(kind)] as const;
  const found = sql.findWorkflow.get(...stored)?.id ?? sql.addWorkflow.run(...stored).lastInsertRowid;
  known.set(name, Number(found));
  return Number(found);
};

const text = (value: string | undefined): SQLInputValue => (value === undefined ? null : storedText(value));
const optional = (value: unknown): string | undefined =>
  typeof value === "string" ? givenText(value) : undefined;
