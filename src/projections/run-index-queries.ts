/**
 * Finding runs in the run index: list, get, count, problems.
 *
 * Not here: waits (run-index-waits), catching up.
 *
 * Invariants:
 * - Q1 Order is newest first: `createdAt` descending, then the run id descending, in its stored (stream name) form; or the reverse of it.
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
import { KINDS, type ListedStatus, type RunKind, STATUSES } from "./run-state.ts";

/** A run, a thread, or a run of the Workflow SDK, as the index knows it. Instants in epoch milliseconds; optional fields are absent where there is nothing. */
export interface RunSummary {
  readonly runId: string;
  readonly kind: RunKind;
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
  /** One kind, or any of several; an empty list matches nothing. */
  readonly kind?: RunKind | readonly RunKind[];
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
  /** Default `"newest"` first. */
  readonly order?: "newest" | "oldest";
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
  "run, kind, (SELECT name FROM workflows WHERE id = runs.workflow) AS name, status, created_at, ended_at, key, tenant, code_version, revision, position, problem";
type Order = "newest" | "oldest";

const lane = (index: string, prefix: string): Readonly<Record<Order, string>> => {
  const select = `SELECT id, created_at, run FROM runs INDEXED BY ${index} WHERE ${prefix}`;
  return {
    newest: `${select} AND (created_at, run) < (?, ?) AND created_at >= ? ORDER BY created_at DESC, run DESC LIMIT ?`,
    oldest: `${select} AND (created_at, run) >= (?, ?) AND created_at < ? ORDER BY created_at, run LIMIT ?`,
  };
};

export const runQueries = (database: DatabaseSync): RunQueries => {
  const prepared = (index: string, prefix: string) => {
    const { newest, oldest } = lane(index, prefix);
    return { newest: database.prepare(newest), oldest: database.prepare(oldest) };
  };
  const ofStatus = prepared("runs_status", "kind = ? AND status = ?");
  const ofWorkflow = prepared("runs_workflow", "workflow = ? AND status = ?");
  const ofKey = prepared("runs_key", "key = ? AND workflow = ? AND status = ?");
  const one = database.prepare(`SELECT ${COLUMNS} FROM runs WHERE run = ?`);
  const byId = database.prepare(`SELECT ${COLUMNS} FROM runs WHERE id = ?`);
  const workflow = database.prepare("SELECT id, kind FROM workflows WHERE name = ?");
  const workflows = database.prepare("SELECT id, kind FROM workflows");
  const counted = database.prepare("SELECT workflow, status, n FROM counts");
  const unreadable = database.prepare(
    "SELECT run, problem FROM runs INDEXED BY runs_problem WHERE problem IS NOT NULL ORDER BY run LIMIT ?",
  );

  const numbersOf = ({ workflow: name, kind }: RunFilter): number[] => {
    const kinds = numbersIn(KINDS, kind);
    return (name === undefined ? workflows.all() : workflow.all(storedText(name)))
      .filter((row) => kinds.includes(Number(row.kind)))
      .map((row) => Number(row.id));
  };

  const list = (query: ListQuery): RunPage => {
    const limit = pageSize(query.limit);
    const order = query.order ?? "newest";
    const range: SQLInputValue[] = [...rangeOf(query, order), limit + 1];
    const rows: Row[] = [];
    for (const status of numbersIn(STATUSES, query.status)) {
      if (query.key === undefined && query.workflow === undefined)
        for (const kind of numbersIn(KINDS, query.kind))
          rows.push(...ofStatus[order].all(kind, status, ...range));
      else
        for (const id of numbersOf(query))
          if (query.key === undefined) rows.push(...ofWorkflow[order].all(id, status, ...range));
          else rows.push(...ofKey[order].all(storedText(query.key), id, status, ...range));
    }
    rows.sort(order === "newest" ? newestFirst : (a, b) => newestFirst(b, a));
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
      const all = filter.workflow === undefined && filter.kind === undefined;
      const ids = all ? undefined : numbersOf(filter);
      const statuses = numbersIn(STATUSES, filter.status);
      let total = 0;
      for (const row of counted.all())
        if ((ids?.includes(Number(row.workflow)) ?? true) && statuses.includes(Number(row.status)))
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

/** The numbers under which what is wanted is stored; all of them where nothing is said. */
const numbersIn = <T extends string>(all: readonly T[], wanted: T | readonly T[] | undefined): number[] => {
  const numbers = all.map((_, number) => number);
  if (wanted === undefined) return numbers;
  const chosen = typeof wanted === "string" ? [wanted] : wanted;
  return numbers.filter((number) => chosen.includes(all[number] as T));
};

const rangeOf = (query: ListQuery, order: Order): readonly SQLInputValue[] =>
  order === "newest"
    ? [...upperEnd(query), query.createdAfter ?? Number.NEGATIVE_INFINITY]
    : [...lowerEnd(query), query.createdBefore ?? Number.POSITIVE_INFINITY];

/** Everything before this place is listed: the end of the page before, or of the time asked for. No run id sorts before `""`. */
const upperEnd = (query: ListQuery): Place => {
  const before: Place = [query.createdBefore ?? Number.POSITIVE_INFINITY, ""];
  if (query.cursor === undefined) return before;
  const after = placeOfCursor(query.cursor);
  return before[0] <= after[0] ? before : after;
};

/** Everything from this place on is listed: the time asked for, or what comes right behind the page before. */
const lowerEnd = (query: ListQuery): Place => {
  const from: Place = [query.createdAfter ?? Number.NEGATIVE_INFINITY, ""];
  if (query.cursor === undefined) return from;
  const [createdAt, run] = placeOfCursor(query.cursor);
  // Stored text has no blank in it, so that this sorts behind the run and before every other.
  return from[0] > createdAt ? from : [createdAt, `${run} `];
};

const placeOf = (row: Row): Place => [Number(row.created_at), String(row.run)];

const newestFirst = (a: Row, b: Row): number => {
  const [createdA, runA] = placeOf(a);
  const [createdB, runB] = placeOf(b);
  return createdB - createdA || (runA < runB ? 1 : runA > runB ? -1 : 0);
};

/** The cursor of a page that ends with this run. */
export const cursorAfter = ({ createdAt, runId }: Pick<RunSummary, "createdAt" | "runId">): string =>
  cursorOf([createdAt, storedText(runId)]);

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
  kind: KINDS[Number(row.kind)] as RunKind,
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
