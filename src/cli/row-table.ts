/** What a run did, as a table for people: a row for each step, sleep, hook, question and recorded read. */
import { formatDuration, waitName } from "../projections/event-line.ts";
import type { RunReport } from "../projections/run-report.ts";
import type { Timeline, TimelineRow } from "../projections/timeline.ts";
import { commandHint } from "./command-hint.ts";
import { type Cell, harmless, out, table } from "./terminal.ts";

/** More rows than that are cut from the middle: history has them all. */
const MOST_ROWS = 60;

/** The rows as a table, of which the middle is cut out where there are many. `store` is where the rest is to be read. */
export const rowTable = (runId: string, store: string, report: RunReport, { rows }: Timeline): string => {
  const createdAt = report.createdAt ?? 0;
  const half = MOST_ROWS / 2;
  const cut = rows.length - MOST_ROWS;
  const shown = cut > 0 ? [...rows.slice(0, half), ...rows.slice(-half)] : rows;
  const lines = shown.map((row): (string | Cell)[] => {
    const { at, what, took, state } = cellsOf(row, report);
    const since = at === undefined ? "" : formatDuration(Math.max(0, at - createdAt));
    return [`  ${since}`, harmless(what), took === undefined ? "" : formatDuration(took), state];
  });
  if (cut > 0)
    lines.splice(half, 0, ["  …", `${cut} more: ${commandHint(["history", runId], store)}`, "", ""]);
  return table([["  AFTER", "WHAT", "TOOK", "RESULT"], ...lines]);
};

/** So much of the end of an SDK step's id tells which of its name it is. */
const SDK_TAIL = 6;

interface Cells {
  readonly at?: number;
  readonly what: string;
  readonly took?: number;
  readonly state: Cell;
}

const cellsOf = (row: TimelineRow, { createdAt = 0, endedAt, sdk }: RunReport): Cells => {
  const unless = (pending: string, status: string): string =>
    status === pending && endedAt !== undefined ? `${status} when the run ended` : status;
  switch (row.kind) {
    case "step": {
      // From the first body on: what a crash cost is part of how long the run took.
      const first = (row.claims.find(({ releasedAt }) => releasedAt === undefined) ?? row.claims[0])?.at;
      const at = first ?? row.startedAt ?? row.finishedAt;
      const color = row.status === "ok" ? out.green : row.status === "failed" ? out.red : out.cyan;
      const last = row.startedAt ?? row.claims.findLast(({ releasedAt }) => releasedAt === undefined)?.at;
      const when =
        last === undefined ? "" : `, the last time after ${formatDuration(Math.max(0, last - createdAt))}`;
      const recovered = row.recovered === undefined ? "" : `, recovered from: ${harmless(row.recovered)}`;
      const begunAgain = row.begun > 1 ? `, begun ${row.begun} times${when}` : "";
      const again = sdk ? `, ${row.begun} ${row.begun === 1 ? "attempt" : "attempts"}` : begunAgain;
      const why = row.error === undefined ? "" : `: ${harmless(row.error)}`;
      return {
        ...(at !== undefined && { at }),
        what: `step ${sdk ? `${row.name} …${row.key.slice(-SDK_TAIL)}` : row.key}`,
        ...(row.durationMs !== undefined && { took: row.durationMs }),
        state: { text: `${unless("running", row.status)}${again}${why}${recovered}`, color },
      };
    }
    case "sleep":
      return {
        at: row.scheduledAt,
        what: `sleep ${waitName(row.key)}`,
        ...(row.endedAt !== undefined && { took: row.endedAt - row.scheduledAt }),
        state: { text: unless("waiting", row.status), color: out.blue },
      };
    case "hook":
      return {
        at: row.openedAt,
        what: `wait for ${row.token}`,
        ...(row.waitedMs !== undefined && { took: row.waitedMs }),
        state: { text: unless("open", row.status), color: out.magenta },
      };
    case "question":
      return {
        at: row.askedAt,
        what: `question ${row.key}: ${row.reason}`,
        ...(row.waitedMs !== undefined && { took: row.waitedMs }),
        state: { text: unless("open", row.status), color: out.magenta },
      };
    case "now":
    case "random":
    case "uuid":
      return { at: row.at, what: `read ${row.key}`, state: { text: "recorded", color: out.dim } };
    default:
      return row satisfies never;
  }
};
