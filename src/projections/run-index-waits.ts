/**
 * What runs are waiting for, from the run index: what is due, what is owed a delivery, what one run waits on.
 *
 * Not here: making a due deadline a fact (the engine's timers do), finding runs (run-index-queries).
 *
 * Invariants:
 * - D1 `due` and `nextDeadline` are about waits that somebody waits for: the deadline of a hook that was answered is none.
 * - D2 `owed` follows the contract of `JournalStore.resumableRuns`: the earliest outstanding deadline of a run that goes on, of any
 *   kind, passed or not; a run held only by an open hook is left out; any other is owed a delivery now.
 */
import type { DatabaseSync } from "node:sqlite";
import { deadlineKey } from "./hook-keys.ts";
import { givenText, inSnapshot, storedText } from "./run-index-schema.ts";
import { WAIT_KINDS } from "./run-index-writer.ts";

/** An open wait with its deadline in epoch milliseconds. */
export interface DueWait {
  readonly runId: string;
  readonly key: string;
  readonly kind: "sleep" | "hookTimeout";
  readonly wakeAt: number;
}

export interface DueQuery {
  /** Deadlines at this instant or before, in epoch milliseconds. */
  readonly until: number;
  /** Page size: default 20, floored, and held between 1 and 1,000. */
  readonly limit?: number;
  /** The last wait of the page before. */
  readonly after?: Pick<DueWait, "runId" | "key" | "wakeAt">;
}

/** A run that is owed a delivery: at `wakeAt` (epoch milliseconds), or now where that is absent or past. */
export interface OwedRun {
  readonly runId: string;
  readonly wakeAt?: number;
}

/** Something a run waits for. */
export type OpenWait =
  | { readonly kind: "sleep"; readonly key: string; readonly wakeAt: number; readonly correlationId?: string }
  /** A hook; `wakeAt` is when its window closes, absent where it stays open for good. */
  | {
      readonly kind: "hook";
      readonly key: string;
      readonly token: string;
      readonly openedAt: number;
      readonly wakeAt?: number;
    };

export interface WaitQueries {
  due(query: DueQuery, limit: number): DueWait[];
  nextDeadline(): number | undefined;
  owed(limit: number, now: number): OwedRun[];
  waits(runId: string): OpenWait[];
}

export const waitQueries = (database: DatabaseSync): WaitQueries => {
  const due = database.prepare(
    `SELECT runs.run AS run, waits.key AS key, waits.kind AS kind, wake_at FROM waits INDEXED BY waits_due CROSS JOIN runs ON runs.id = waits.run
     WHERE moot = 0 AND (wake_at, waits.run, waits.key) > (?, ?, ?) AND wake_at <= ? ORDER BY wake_at, waits.run, waits.key LIMIT ?`,
  );
  const soonest = database.prepare(
    "SELECT wake_at FROM waits INDEXED BY waits_due WHERE moot = 0 ORDER BY wake_at LIMIT 1",
  );
  const idOf = database.prepare("SELECT id FROM runs WHERE run = ?");
  const overdue = database.prepare(
    "SELECT run, next_wake FROM runs INDEXED BY runs_wake WHERE next_wake < ? ORDER BY next_wake, run LIMIT ?",
  );
  const atOnce = database.prepare(
    "SELECT run, NULL AS next_wake FROM runs INDEXED BY runs_ready WHERE ready = 1 ORDER BY run LIMIT ?",
  );
  const dueNow = database.prepare(
    "SELECT run, next_wake FROM runs INDEXED BY runs_wake WHERE next_wake = ? ORDER BY run LIMIT ?",
  );
  const later = database.prepare(
    "SELECT run, next_wake FROM runs INDEXED BY runs_wake WHERE next_wake > ? ORDER BY next_wake, run LIMIT ?",
  );
  const sleepsOf = database.prepare(
    "SELECT key, kind, wake_at, correlation FROM waits WHERE run = ? AND moot = 0 ORDER BY wake_at, key",
  );
  const hooksOf = database.prepare(
    "SELECT key, token, opened_at FROM hooks WHERE run = ? ORDER BY opened_at, key",
  );

  const queries: WaitQueries = {
    due: ({ until, after }, limit) => {
      const from =
        after === undefined
          ? [Number.NEGATIVE_INFINITY, 0, ""]
          : [after.wakeAt, Number(idOf.get(storedText(after.runId))?.id ?? 0), storedText(after.key)];
      return due.all(...from, until, limit).map((row) => ({
        runId: givenText(String(row.run)),
        key: givenText(String(row.key)),
        kind: WAIT_KINDS[Number(row.kind)] as DueWait["kind"],
        wakeAt: Number(row.wake_at),
      }));
    },

    nextDeadline: () => {
      const at = soonest.get()?.wake_at;
      return typeof at === "number" && Number.isFinite(at) ? at : undefined;
    },

    owed: (limit, now) => {
      const found: Record<string, unknown>[] = overdue.all(now, limit);
      if (found.length < limit) {
        // Owed now, with or without a deadline of this very instant: one group, in which the id decides.
        const group = [...atOnce.all(limit - found.length), ...dueNow.all(now, limit - found.length)];
        group.sort((a, b) => (String(a.run) < String(b.run) ? -1 : 1));
        found.push(...group.slice(0, limit - found.length));
      }
      if (found.length < limit) found.push(...later.all(now, limit - found.length));
      return found.map((row) => ({
        runId: givenText(String(row.run)),
        ...(row.next_wake === null ? {} : { wakeAt: Number(row.next_wake) }),
      }));
    },

    waits: (runId) => {
      const id = idOf.get(storedText(runId))?.id;
      if (id === undefined) return [];
      const deadlines = new Map<string, number>();
      const open: OpenWait[] = [];
      const hooks = hooksOf.all(id);
      const ofHooks = new Set(hooks.map((row) => deadlineKey(givenText(String(row.key)))));
      for (const row of sleepsOf.all(id)) {
        const key = givenText(String(row.key));
        const wakeAt = Number(row.wake_at);
        if (ofHooks.has(key)) deadlines.set(key, wakeAt);
        else
          open.push({
            kind: "sleep",
            key,
            wakeAt,
            ...(row.correlation === null ? {} : { correlationId: givenText(String(row.correlation)) }),
          });
      }
      for (const row of hooks) {
        const key = givenText(String(row.key));
        const wakeAt = deadlines.get(deadlineKey(key));
        open.push({
          kind: "hook",
          key,
          token: givenText(String(row.token)),
          openedAt: Number(row.opened_at),
          ...(wakeAt === undefined ? {} : { wakeAt }),
        });
      }
      return open;
    },
  };
  // One state of the index for each answer: most are put together from several statements.
  return {
    due: (query, limit) => inSnapshot(database, () => queries.due(query, limit)),
    nextDeadline: queries.nextDeadline,
    owed: (limit, now) => inSnapshot(database, () => queries.owed(limit, now)),
    waits: (runId) => inSnapshot(database, () => queries.waits(runId)),
  };
};
