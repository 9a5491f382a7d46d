/** `runstream show`: what a run was given, did and returned, what it is waiting for, and which of its bodies ran more than once. */
import type { Command } from "commander";
import type { Payload } from "../../events/payload.ts";
import { sealedIn } from "../../events/sealed-facts.ts";
import { formatDuration, formatInstant } from "../../projections/event-line.ts";
import type { RunLatency } from "../../projections/latency.ts";
import type { RunReport } from "../../projections/run-report.ts";
import type { RunKind } from "../../projections/run-state.ts";
import type { Timeline } from "../../projections/timeline.ts";
import type { GlobalOptions } from "../command-options.ts";
import { payloadLines } from "../payload-text.ts";
import { rowTable } from "../row-table.ts";
import { sdkPayload, sdkPayloadLines } from "../sdk-payload.ts";
import { ERASED } from "../sealed-words.ts";
import { resolveRun, withLog } from "../store.ts";
import { harmless, out, print, printJson, statusText } from "../terminal.ts";
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

interface Shown {
  readonly runId: string;
  readonly store: string;
  readonly created: { readonly input?: Payload | undefined; readonly key?: string } | undefined;
  /** Absent where the run has not completed. */
  readonly completed: { readonly output?: Payload | undefined } | undefined;
  /** What a run of the Workflow SDK failed with, as it wrote it. */
  readonly error: Payload | undefined;
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
  let error: Shown["error"];
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
      if (event.type === "SdkRunCreated") created ??= { input: sdkPayload(event, "input") };
      if (event.type === "SdkRunCompleted" && timeline.status === "completed")
        completed ??= { output: sdkPayload(event, "output") };
      if (event.type === "SdkRunFailed" && timeline.status === "failed") error ??= sdkPayload(event, "error");
    }
    return id;
  });
  const report = reportOf(timeline);
  const shown: Shown = {
    runId,
    store: options.store,
    created,
    completed,
    error,
    report,
    latency: latencies.latency(),
    timeline,
    erased: erased && report.endedAt === undefined,
  };
  return json ? printJson(asJson(shown)) : print(asText(shown));
};

const kindOf = ({ thread, sdk }: RunReport): RunKind => {
  if (thread) return "thread";
  return sdk ? "sdk" : "run";
};

const asJson = (shown: Shown): Record<string, unknown> => {
  const { runId, created, completed, error, report, latency, timeline, erased } = shown;
  const payloads = { input: created?.input, output: completed?.output };
  const types = Object.entries(payloads).filter(([, payload]) => payload?.types !== undefined);
  const sealed = Object.entries(payloads).filter(([, payload]) => payload?.sealed !== undefined);
  return {
    runId,
    kind: kindOf(report),
    key: created?.key,
    revision: timeline.revision,
    ...report,
    ...(erased && { blocked: "erased" }),
    ...(latency.stepToStep !== undefined && { stepToStep: latency.stepToStep }),
    input: payloads.input?.json,
    output: payloads.output?.json,
    ...(report.status === "failed" && { error: report.sdk ? error?.json : { message: report.reason } }),
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
  const fact = report.sdk ? sdkPayloadFact : payloadFact;
  if (report.sdk) facts.push(["kind", "run of the Workflow SDK"]);
  facts.push(["input", fact(created?.input)]);
  if (completed !== undefined) facts.push(["output", fact(completed.output)]);
  if (shown.error !== undefined) facts.push(["error", fact(shown.error)]);
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
    parts.push(`Waiting for nothing: ${GOES_ON[kindOf(report)]}`);
  if (begunAgain.length > 0)
    parts.push(
      `Begun more than once\n${begunAgain.map(({ key: step, begun }) => `  ${harmless(step)}, ${begun} times`).join("\n")}`,
    );
  if (timeline.rows.length > 0)
    parts.push(`What it did\n${rowTable(shown.runId, shown.store, report, timeline)}`);
  return parts.join("\n\n");
};

const GOES_ON: Readonly<Record<RunKind, string>> = {
  run: "it goes on when a worker runs.",
  thread: '"runstream continue" carries it on, unless some process does.',
  sdk: "it goes on when its application runs.",
};

/** As the value of a fact: its further lines stand below the first. */
const payloadFact = (payload: Payload | undefined): string =>
  payloadLines(payload).join(`\n${" ".repeat(14)}`);

const sdkPayloadFact = (payload: Payload | undefined): string =>
  sdkPayloadLines(payload).join(`\n${" ".repeat(14)}`);
