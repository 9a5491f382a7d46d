/**
 * Finding runs in the run index: list, get, count, problems.
 *
 * Not here: waits (run-index-waits), catching up.
 *
 * Invariants:
 * - Q1 Order is newest first: `createdAt` descending, then the run id descending, in its stored (stream name) form.
 * - Q2 Every listing is a merge of *lanes*. A lane is an index with an equality prefix, read in order from the cursor, at most one
 *   page of it: what a page costs depends on the page's size, never on how many runs there are. All lanes are read in one snapshot,
 *   or a run that another process moves on meanwhile could be met in two of them, or in none.
 * - Q3 A cursor names the last row of a page, not a count: runs that are added meanwhile neither repeat nor hide others.
 */
import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { Position } from "../events/event-log.ts";
import { InvalidCursorError } from "./invalid-cursor-error.ts";
import type { RunLatency } from "./latency.ts";
import { givenText, inSnapshot, storedText } from "./run-index-schema.ts";
import { type ListedStatus, STATUSES } from "./run-state.ts";

/** A run or a thread as the index knows it. Instants in epoch milliseconds; optional fields are absent where there is nothing. */
export interface RunSummary {
  readonly runId: string;
  /** `""` where the run's first event could not be read. */
  readonly workflow: string;
  readonly status: ListedStatus;
  readonly createdAt: number;
  readonly endedAt?: number;
  readonly key?: string;
  readonly tenant?: string;
  readonly codeVersion?: string;
  /** Of the last event that the index took notice of: not of the run's last event. */
  readonly revision: number;
  readonly position: Position;
  /** Present where it was asked for, of a run that is over. */
  readonly latency?: RunLatency;
  /** Why the run cannot be read by this version: such a run is owed nothing and its waits are not listed. */
  readonly problem?: string;
}

export interface RunFilter {
  readonly workflow?: string;
  /** One status, or any of several; an empty list matches nothing. */
  readonly status?: ListedStatus | readonly ListedStatus[];
}

export interface ListQuery extends RunFilter {
  /** The caller's own key of the run. */
  readonly key?: string;
  /** Created at this instant or later. */
  readonly createdAfter?: number;
  /** Created before this instant. */
  readonly createdBefore?: number;
  /** Page size: default 20, floored, and held between 1 and 1,000. */
  readonly limit?: number;
  /** What the page before answered. */
  readonly cursor?: string;
  /**
   * Say of each run that is over how long its first step and those after it were in coming. The index reads the events of a run for that
   * when it is asked about it first, and keeps what it found. Default `false`.
   */
  readonly latency?: boolean;
}

export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Where the next page begins; absent when this one was the last. */
  readonly cursor?: string;
}

/** A run that this version cannot read, and why. */
export interface UnreadableRun {
  readonly runId: string;
  readonly reason: string;
}

export interface RunQueries {
  list(query: ListQuery): RunPage;
  get(runId: string): RunSummary | undefined;
  count(filter: RunFilter): number;
  problems(limit: number): UnreadableRun[];
}

type Place = readonly [createdAt: number, run: string];
type Row = Readonly<Record<string, unknown>>;

const COLUMNS =
  "run, (SELECT name FROM workflows WHERE id = runs.workflow) AS name, status, created_at, ended_at, key, tenant, code_version, revision, position, problem";
const lane = (index: string, prefix: string): string =>
  `SELECT id, created_at, run FROM runs INDEXED BY ${index} WHERE ${prefix} AND (created_at, run) < (?, ?) AND created_at >= ? ORDER BY created_at DESC, run DESC LIMIT ?`;

export const runQueries = (database: DatabaseSync): RunQueries => {
  const ofStatus = database.prepare(lane("runs_status", "status = ?"));
  const ofWorkflow = database.prepare(lane("runs_workflow", "workflow = ? AND status = ?"));
  const ofKey = database.prepare(lane("runs_key", "key = ? AND workflow = ? AND status = ?"));
  const one = database.prepare(`SELECT ${COLUMNS} FROM runs WHERE run = ?`);
  const byId = database.prepare(`SELECT ${COLUMNS} FROM runs WHERE id = ?`);
  const workflow = database.prepare("SELECT id FROM workflows WHERE name = ?");
  const workflows = database.prepare("SELECT id FROM workflows");
  const counted = database.prepare("SELECT workflow, status, n FROM counts");
  const unreadable = database.prepare(
    "SELECT run, problem FROM runs INDEXED BY runs_problem WHERE problem IS NOT NULL ORDER BY run LIMIT ?",
  );

  const numbersOf = (name: string | undefined): number[] =>
    (name === undefined ? workflows.all() : workflow.all(storedText(name))).map((row) => Number(row.id));

  const list = (query: ListQuery): RunPage => {
    const limit = pageSize(query.limit);
    const range: SQLInputValue[] = [
      ...upperEnd(query),
      query.createdAfter ?? Number.NEGATIVE_INFINITY,
      limit + 1,
    ];
    const statuses = query.status === undefined ? ALL_STATUSES : statusNumbers(query.status);
    const rows: Row[] = [];
    for (const status of statuses) {
      if (query.key === undefined && query.workflow === undefined)
        rows.push(...ofStatus.all(status, ...range));
      else
        for (const id of numbersOf(query.workflow))
          if (query.key === undefined) rows.push(...ofWorkflow.all(id, status, ...range));
          else rows.push(...ofKey.all(storedText(query.key), id, status, ...range));
    }
    rows.sort(newestFirst);
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      runs: page.map(({ id }) => summary(byId.get(id as number) as Row)),
      ...(last !== undefined && rows.length > limit ? { cursor: cursorOf(placeOf(last)) } : {}),
    };
  };

  return {
    list: (query) => inSnapshot(database, () => list(query)),
    get: (runId) => {
      const row = one.get(storedText(runId));
      return row === undefined ? undefined : summary(row);
    },
    count: (filter) => {
      const ids = filter.workflow === undefined ? undefined : numbersOf(filter.workflow);
      const statuses = filter.status === undefined ? undefined : statusNumbers(filter.status);
      let total = 0;
      for (const row of counted.all())
        if ((ids?.includes(Number(row.workflow)) ?? true) && (statuses?.includes(Number(row.status)) ?? true))
          total += Number(row.n);
      return total;
    },
    problems: (limit) =>
      unreadable
        .all(limit)
        .map((row) => ({ runId: givenText(String(row.run)), reason: JSON.parse(String(row.problem)) })),
  };
};

/** A page size as asked for: `undefined` and NaN give the default of 20; floored, and held between 1 and 1,000. */
export const pageSize = (limit: number | undefined): number =>
  limit === undefined || Number.isNaN(limit) ? 20 : Math.min(Math.max(Math.floor(limit), 1), 1_000);

const ALL_STATUSES = STATUSES.map((_, number) => number);

const statusNumbers = (status: ListedStatus | readonly ListedStatus[]): number[] => {
  const wanted = typeof status === "string" ? [status] : status;
  return ALL_STATUSES.filter((number) => wanted.includes(STATUSES[number] as ListedStatus));
};

/** Everything before this place is listed: the end of the page before, or of the time asked for. No run id sorts before `""`. */
const upperEnd = (query: ListQuery): Place => {
  const before: Place = [query.createdBefore ?? Number.POSITIVE_INFINITY, ""];
  if (query.cursor === undefined) return before;
  const after = placeOfCursor(query.cursor);
  return before[0] <= after[0] ? before : after;
};

const placeOf = (row: Row): Place => [Number(row.created_at), String(row.run)];

const newestFirst = (a: Row, b: Row): number => {
  const [createdA, runA] = placeOf(a);
  const [createdB, runB] = placeOf(b);
  return createdB - createdA || (runA < runB ? 1 : runA > runB ? -1 : 0);
};

const cursorOf = (place: Place): string => Buffer.from(JSON.stringify(place)).toString("base64url");

const placeOfCursor = (cursor: string): Place => {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (
      Array.isArray(place) &&
      place.length === 2 &&
      typeof place[0] === "number" &&
      typeof place[1] === "string"
    ) {
      const known: Place = [place[0], place[1]];
      if (cursorOf(known) === cursor) return known;
    }
  } catch {
    // Not JSON: no cursor of ours.
  }
  throw new InvalidCursorError(cursor);
};

const summary = (row: Row): RunSummary => ({
  runId: givenText(String(row.run)),
  workflow: givenText(String(row.name)),
  status: STATUSES[Number(row.status)] as ListedStatus,
  createdAt: Number(row.created_at),
  ...(row.ended_at === null ? {} : { endedAt: Number(row.ended_at) }),
  ...(row.key === null ? {} : { key: givenText(String(row.key)) }),
  ...(row.tenant === null ? {} : { tenant: givenText(String(row.tenant)) }),
  ...(row.code_version === null ? {} : { codeVersion: givenText(String(row.code_version)) }),
  revision: Number(row.revision),
  position: String(row.position) as Position,
  ...(row.problem === null ? {} : { problem: JSON.parse(String(row.problem)) as string }),
});
