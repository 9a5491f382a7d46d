/** `runstream show`: what a run did, what it is waiting for, and which of its bodies ran more than once. */
import type { Command } from "commander";
import { formatDuration, formatInstant } from "../../projections/event-line.ts";
import type { RunReport } from "../../projections/run-report.ts";
import type { TimelineRow } from "../../projections/timeline.ts";
import type { GlobalOptions } from "../command-options.ts";
import { resolveRun, withLog } from "../store-file.ts";
import { type Cell, harmless, out, print, printJson, statusText, table } from "../terminal.ts";
import { waitText } from "../wait-text.ts";

export const registerShow = (program: Command): void => {
  program
    .command("show")
    .summary("what a run did and what it is waiting for")
    .description(
      "Shows what a run did, what it is waiting for and until when, how long it took to its first step, and which step bodies\n" +
        "were begun more than once (because a worker died in them).",
    )
    .argument("<run>", "the run's id, or the beginning of it")
    .addHelpText("after", EXAMPLES)
    .action(async (run: string, _options, command: Command) => {
      await show(run, command.optsWithGlobals<GlobalOptions>());
    });
};

const EXAMPLES = `
With --json one object is printed: the report, and a row for each step, sleep and hook. Instants are epoch milliseconds.

Examples:
  $ runstream show wrun_1a2b3c
  $ runstream show 1a2b --json | jq .waitingFor`;

/** More rows than that are cut from the middle: history has them all. */
const MOST_ROWS = 60;

const show = async (typed: string, { db, json }: GlobalOptions): Promise<void> => {
  const { timelineBuilder } = await import("../../projections/timeline.ts");
  const { reportOf } = await import("../../projections/run-report.ts");
  const { readHistory } = await import("../../projections/history.ts");
  const { timeline, add } = timelineBuilder();
  const { runId, key } = await withLog(db, async (log) => {
    const id = await resolveRun(log, typed);
    let ownKey: string | undefined;
    for await (const entry of readHistory(log, id)) {
      if (entry.event.type === "RunCreated") ownKey ??= entry.event.data.key;
      add(entry);
    }
    return { runId: id, key: ownKey };
  });
  const report = reportOf(timeline);
  if (json) {
    const { rows, revision } = timeline;
    return printJson({ runId, ...(key !== undefined && { key }), revision, ...report, rows });
  }
  await print(asText(runId, key, report, timeline.rows));
};

const asText = (
  runId: string,
  key: string | undefined,
  report: RunReport,
  rows: readonly TimelineRow[],
): string => {
  const { steps, waitingFor, begunAgain } = report;
  const facts: [string, string][] = [
    ["workflow", harmless(report.workflow)],
    [
      "status",
      statusText(report.status) + (report.reason === undefined ? "" : `: ${harmless(report.reason)}`),
    ],
  ];
  if (key !== undefined) facts.push(["key", harmless(key)]);
  if (report.createdAt !== undefined) facts.push(["created", formatInstant(report.createdAt)]);
  if (report.endedAt !== undefined)
    facts.push(["over", `${formatInstant(report.endedAt)}, after ${formatDuration(report.durationMs ?? 0)}`]);
  if (report.timeToFirstStepMs !== undefined)
    facts.push(["first step", `${formatDuration(report.timeToFirstStepMs)} after its creation`]);
  const retries = report.retries > 0 ? `, ${report.retries} retries` : "";
  facts.push([
    "steps",
    `${steps.ok} succeeded, ${steps.failed} failed, ${steps.running} under way${retries}`,
  ]);

  const parts = [
    `${out.bold(harmless(runId))}\n${facts.map(([name, text]) => `  ${out.dim(name.padEnd(10))}  ${text}`).join("\n")}`,
  ];
  if (waitingFor.length > 0)
    parts.push(`Waiting for\n${waitingFor.map((wait) => `  ${waitText(wait)}`).join("\n")}`);
  else if (report.endedAt === undefined && steps.running === 0)
    parts.push("Waiting for nothing: it goes on when a worker runs.");
  if (begunAgain.length > 0)
    parts.push(
      `Begun more than once\n${begunAgain.map(({ key: step, begun }) => `  ${harmless(step)}, ${begun} times`).join("\n")}`,
    );
  if (rows.length > 0) parts.push(`What it did\n${rowTable(rows, report.createdAt ?? 0)}`);
  return parts.join("\n\n");
};

const rowTable = (rows: readonly TimelineRow[], createdAt: number): string => {
  const half = MOST_ROWS / 2;
  const cut = rows.length - MOST_ROWS;
  const shown = cut > 0 ? [...rows.slice(0, half), ...rows.slice(-half)] : rows;
  const lines = shown.map((row): (string | Cell)[] => {
    const { at, what, took, state } = cellsOf(row);
    const since = at === undefined ? "" : formatDuration(Math.max(0, at - createdAt));
    return [`  ${since}`, harmless(what), took === undefined ? "" : formatDuration(took), state];
  });
  if (cut > 0) lines.splice(half, 0, ["  …", `${cut} more: see runstream history`, "", ""]);
  return table([["  AFTER", "WHAT", "TOOK", "RESULT"], ...lines]);
};

const cellsOf = (row: TimelineRow): { at?: number; what: string; took?: number; state: Cell } => {
  switch (row.kind) {
    case "step": {
      const at = row.startedAt ?? row.claims[0]?.at;
      const color = row.status === "ok" ? out.green : row.status === "failed" ? out.red : out.cyan;
      const again = row.begun > 1 ? `, begun ${row.begun} times` : "";
      const why = row.error === undefined ? "" : `: ${harmless(row.error)}`;
      return {
        ...(at !== undefined && { at }),
        what: `step ${row.key}`,
        ...(row.durationMs !== undefined && { took: row.durationMs }),
        state: { text: `${row.status}${again}${why}`, color },
      };
    }
    case "sleep":
      return {
        at: row.scheduledAt,
        what: `sleep ${row.key}`,
        ...(row.endedAt !== undefined && { took: row.endedAt - row.scheduledAt }),
        state: { text: row.status, color: out.blue },
      };
    case "hook":
      return {
        at: row.openedAt,
        what: `wait for ${row.token}`,
        ...(row.waitedMs !== undefined && { took: row.waitedMs }),
        state: { text: row.status, color: out.magenta },
      };
    case "now":
    case "random":
    case "uuid":
      return { at: row.at, what: `read ${row.key}`, state: { text: "recorded", color: out.dim } };
    default:
      return row satisfies never;
  }
};
