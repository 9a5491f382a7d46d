/** `runstream show`: what a run was given, did and returned, what it is waiting for, and which of its bodies ran more than once. */
import type { Command } from "commander";
import type { Payload } from "../../events/payload.ts";
import { sealedIn } from "../../events/sealed-facts.ts";
import { formatDuration, formatInstant, waitName } from "../../projections/event-line.ts";
import type { RunLatency } from "../../projections/latency.ts";
import type { RunReport } from "../../projections/run-report.ts";
import type { Timeline, TimelineRow } from "../../projections/timeline.ts";
import { commandHint } from "../command-hint.ts";
import type { GlobalOptions } from "../command-options.ts";
import { payloadLines } from "../payload-text.ts";
import { ERASED } from "../sealed-words.ts";
import { resolveRun, withLog } from "../store.ts";
import { type Cell, harmless, out, print, printJson, statusText, table } from "../terminal.ts";
import { waitText } from "../wait-text.ts";

export const registerShow = (program: Command): void => {
  program
    .command("show")
    .summary("what a run did, returned, and is waiting for")
    .description(
      "Shows what a run was given and what it returned, what it did, what it is waiting for and until when, how long " +
        "it took to its first step and from a step to the next, and which step bodies were begun more than once (because a worker died in them).",
    )
    .argument("<run>", "the run's id, or the beginning of it")
    .addHelpText("after", EXAMPLES)
    .action(async (run: string, _options, command: Command) => {
      await show(run, command.optsWithGlobals<GlobalOptions>());
    });
};

const EXAMPLES = `
With --json one object is printed: the report, the input, the output or error as
a whole, and a row for each step, sleep and hook. Instants are epoch
milliseconds.

Examples:
  $ runstream show wrun_1a2b3c
  $ runstream show 1a2b --json | jq .waitingFor`;

/** More rows than that are cut from the middle: history has them all. */
const MOST_ROWS = 60;

interface Shown {
  readonly runId: string;
  readonly store: string;
  readonly created: { readonly input?: Payload; readonly key?: string } | undefined;
  /** Absent where the run has not completed. */
  readonly completed: { readonly output?: Payload } | undefined;
  readonly report: RunReport;
  readonly latency: RunLatency;
  readonly timeline: Timeline;
  /** The run is not over, and the key of its payloads is gone. */
  readonly erased: boolean;
}

const show = async (typed: string, options: GlobalOptions): Promise<void> => {
  const { json } = options;
  const { timelineBuilder } = await import("../../projections/timeline.ts");
  const { reportOf } = await import("../../projections/run-report.ts");
  const { readHistory } = await import("../../projections/history.ts");
  const { latencyFold } = await import("../../projections/latency.ts");
  const { timeline, add } = timelineBuilder();
  const latencies = latencyFold();
  let created: Shown["created"];
  let completed: Shown["completed"];
  let erased = false;
  const runId = await withLog(options, async (log) => {
    const id = await resolveRun(log, typed);
    for await (const entry of readHistory(log, id)) {
      const { event } = entry;
      if (event.type === "RunCreated") created ??= event.data;
      if (event.type === "ThreadStarted") created = event.data;
      if (event.type === "ThreadStarted" || event.type === "ThreadContinued") completed = undefined;
      add(entry);
      latencies.add(entry);
      erased ||= sealedIn(event) === "erased";
      if (event.type === "RunCompleted" && timeline.status === "completed") completed ??= event.data;
      if (event.type === "ThreadCompleted") completed = event.data;
    }
    return id;
  });
  const report = reportOf(timeline);
  const shown: Shown = {
    runId,
    store: options.store,
    created,
    completed,
    report,
    latency: latencies.latency(),
    timeline,
    erased: erased && report.endedAt === undefined,
  };
  return json ? printJson(asJson(shown)) : print(asText(shown));
};

const asJson = (shown: Shown): Record<string, unknown> => {
  const { runId, created, completed, report, latency, timeline, erased } = shown;
  const payloads = { input: created?.input, output: completed?.output };
  const types = Object.entries(payloads).filter(([, payload]) => payload?.types !== undefined);
  const sealed = Object.entries(payloads).filter(([, payload]) => payload?.sealed !== undefined);
  return {
    runId,
    key: created?.key,
    revision: timeline.revision,
    ...report,
    ...(erased && { blocked: "erased" }),
    ...(latency.stepToStep !== undefined && { stepToStep: latency.stepToStep }),
    input: payloads.input?.json,
    output: payloads.output?.json,
    ...(report.status === "failed" && { error: { message: report.reason } }),
    ...(types.length > 0 && { types: Object.fromEntries(types.map(([name, it]) => [name, it?.types])) }),
    ...(sealed.length > 0 && { sealed: Object.fromEntries(sealed.map(([name, it]) => [name, it?.sealed])) }),
    rows: timeline.rows,
  };
};

const asText = (shown: Shown): string => {
  const { runId, created, completed, report, latency, timeline } = shown;
  const { steps, waitingFor, begunAgain } = report;
  const facts: [string, string][] = [
    ["workflow", harmless(report.workflow)],
    [
      "status",
      statusText(report.status) + (report.reason === undefined ? "" : `: ${harmless(report.reason)}`),
    ],
  ];
  if (created?.key !== undefined) facts.push(["key", harmless(created.key)]);
  facts.push(["input", payloadFact(created?.input)]);
  if (completed !== undefined) facts.push(["output", payloadFact(completed.output)]);
  if (report.createdAt !== undefined) facts.push(["created", formatInstant(report.createdAt)]);
  if (report.endedAt !== undefined)
    facts.push(["over", `${formatInstant(report.endedAt)}, after ${formatDuration(report.durationMs ?? 0)}`]);
  if (report.timeToFirstStepMs !== undefined)
    facts.push(["first step", `${formatDuration(report.timeToFirstStepMs)} after its creation`]);
  if (latency.stepToStep !== undefined) {
    const { count, medianMs, maxMs } = latency.stepToStep;
    const longest = count === 1 ? "" : ` (median of ${count}; the longest ${formatDuration(maxMs)})`;
    facts.push(["next steps", `${formatDuration(medianMs)} after the step before${longest}`]);
  }
  const retries = report.retries > 0 ? `, ${report.retries} retries` : "";
  facts.push([
    "steps",
    `${steps.ok} succeeded, ${steps.failed} failed, ${steps.running} under way${retries}`,
  ]);

  const parts = [
    `${out.bold(harmless(runId))}\n${facts.map(([name, text]) => `  ${out.dim(name.padEnd(10))}  ${text}`).join("\n")}`,
  ];
  if (shown.erased) parts.push(`Cannot go on: ${ERASED}`);
  if (waitingFor.length > 0)
    parts.push(`Waiting for\n${waitingFor.map((wait) => `  ${waitText(wait)}`).join("\n")}`);
  else if (report.endedAt === undefined && steps.running === 0 && !shown.erased)
    parts.push(
      report.thread
        ? 'Waiting for nothing: "runstream continue" carries it on, unless some process does.'
        : "Waiting for nothing: it goes on when a worker runs.",
    );
  if (begunAgain.length > 0)
    parts.push(
      `Begun more than once\n${begunAgain.map(({ key: step, begun }) => `  ${harmless(step)}, ${begun} times`).join("\n")}`,
    );
  if (timeline.rows.length > 0) parts.push(`What it did\n${rowTable(shown)}`);
  return parts.join("\n\n");
};

/** As the value of a fact: its further lines stand below the first. */
const payloadFact = (payload: Payload | undefined): string =>
  payloadLines(payload).join(`\n${" ".repeat(14)}`);

const rowTable = ({ runId, store, report, timeline: { rows } }: Shown): string => {
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

interface Cells {
  readonly at?: number;
  readonly what: string;
  readonly took?: number;
  readonly state: Cell;
}

const cellsOf = (row: TimelineRow, { createdAt = 0, endedAt }: RunReport): Cells => {
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
      const again = row.begun > 1 ? `, begun ${row.begun} times${when}` : "";
      const why = row.error === undefined ? "" : `: ${harmless(row.error)}`;
      return {
        ...(at !== undefined && { at }),
        what: `step ${row.key}`,
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
