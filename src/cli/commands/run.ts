/** `runstream run`: starts a run and drives it in this process, showing every event as it happens. */
import type { Command } from "commander";
import { formatDuration } from "../../projections/event-line.ts";
import type { HistoryEntry } from "../../projections/history.ts";
import { reportOf } from "../../projections/run-report.ts";
import type { Timeline } from "../../projections/timeline.ts";
import { commandHint } from "../command-hint.ts";
import { type SetExit, type StartedRunOptions, startedRun } from "../command-options.ts";
import { eventJson } from "../event-json.ts";
import { eventText } from "../event-text.ts";
import { jsonObjectArgument } from "../json-argument.ts";
import { chooseWorkflow, loadWorkflows } from "../module-workflows.ts";
import { openRunstreamOn } from "../store.ts";
import { err, print, printJson, tell } from "../terminal.ts";
import { EXIT } from "../usage-error.ts";
import { waitText } from "../wait-text.ts";

interface RunOptions extends StartedRunOptions {
  readonly detachWhenParked?: true;
}

export const registerRun = (program: Command, setExit: SetExit): void => {
  startedRun(program.command("run"))
    .summary("start a run and drive it here until it is over")
    .description(
      "Starts a run and drives it in this process until it is over. Every event is shown as it happens, on standard " +
        "error; the run's output is printed on standard output. The store is made if there is none.\n\n" +
        "While it drives its run this process is a worker like any other: it takes its share of the store's runs.",
    )
    .option("--detach-when-parked", "leave the run to a worker as soon as it only waits (exit code 4)")
    .addHelpText("after", EXAMPLES)
    .action(async (module: string, workflow: string | undefined, _options, command: Command) => {
      setExit(await run(module, workflow, command.optsWithGlobals<RunOptions>()));
    });
};

const EXAMPLES = `
Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 cancelled, 4 parked, 130
interrupted by Ctrl-C and 143 by SIGTERM (the run goes on when a worker runs).

Examples:
  $ runstream run greet.ts --input '{"name":"Ada"}'
  $ runstream run orders.ts fulfil --input @order.json --key order/17
  $ runstream run greet.ts --json | jq .type`;

const run = async (module: string, named: string | undefined, options: RunOptions): Promise<number> => {
  const input = jsonObjectArgument("--input", options.input);
  const workflows = await loadWorkflows(module);
  const workflow = chooseWorkflow(workflows, named, module);
  const [{ newRunId }, { followRun }, { listenForInterrupts }] = await Promise.all([
    import("../../engine/workflow-engine.ts"),
    import("../followed-run.ts"),
    import("../interrupts.ts"),
  ]);

  const runId = options.id ?? newRunId();
  const ofThisRun = (message: string, fields?: Record<string, unknown>): void => {
    if (fields?.runId === runId)
      tell(err.yellow(`${message}: ${String(fields.error ?? fields.reason ?? "")}`));
  };
  const quietly = (): void => {};
  const logger = { debug: quietly, info: quietly, warn: ofThisRun, error: ofThisRun };
  const { runstream, close } = await openRunstreamOn(options, { workflows, logger });
  const interrupts = listenForInterrupts();
  const followed = followRun(runstream.log, runId, show(runId, options));
  try {
    await followed.ready;
    runstream.work();
    const { key, tenant } = options;
    await runstream.start(workflow, input, {
      runId,
      ...(key !== undefined && { key }),
      ...(tenant !== undefined && { tenant }),
    });
    if (!options.json && !options.detachWhenParked)
      followed.parked.then(() =>
        tell(err.dim(`${" ".repeat(11)}${waitingHint(runId, followed.timeline, options.store)}`)),
      );
    const ended = await Promise.race([
      followed.over.then(() => "over" as const),
      interrupts.first,
      ...(options.detachWhenParked ? [followed.parked.then(() => "parked" as const)] : []),
    ]);
    const goesOn = `It goes on when a worker runs: ${err.cyan(commandHint(["worker", module], options.store))}`;
    if (ended === "parked") {
      const { waitingFor } = reportOf(followed.timeline);
      if (options.json) await printJson({ runId, workflow, status: "running", waitingFor });
      tell(
        `Run ${runId} is parked: it waits for ${waitingFor.map((wait) => waitText(wait)).join(", and for ")}.\n${goesOn}`,
      );
      return EXIT.parked;
    }
    if (ended !== "over") {
      tell(`\nInterrupted. Run ${runId} is recorded and not over. ${goesOn}`);
      return ended;
    }
    return followed.timeline.status === "completed"
      ? EXIT.ok
      : followed.timeline.status === "failed"
        ? EXIT.failed
        : EXIT.cancelled;
  } finally {
    followed.stop();
    await close({ graceMs: STOP_GRACE_MS });
    interrupts.release();
  }
};

/** Said once, when the run has begun to wait. */
const waitingHint = (runId: string, timeline: Timeline, store: string): string => {
  const [first] = reportOf(timeline).waitingFor;
  return first?.kind === "hook"
    ? `… it waits; answer it with: ${commandHint(["signal", first.token], store)}`
    : `… it sleeps; cut that short with: ${commandHint(["wake", runId], store)}`;
};

/** Somebody pressed Ctrl-C: a step that takes longer is begun again by a worker. */
const STOP_GRACE_MS = 1_000;

/** Events as lines of a terminal, with the time since the run was created; or as JSON. The output is data in both. */
const show = (runId: string, { json }: RunOptions): ((entry: HistoryEntry) => void) => {
  let createdAt: number | undefined;
  return (entry) => {
    createdAt ??= entry.recordedAt;
    if (json) {
      printJson(eventJson(runId, entry));
      return;
    }
    const since = formatDuration(Math.max(0, entry.recordedAt - createdAt));
    const note = entry.revision === 0 ? ` (${runId})` : "";
    tell(`${err.dim(since.padStart(9))}  ${eventText(entry, err)}${err.dim(note)}`);
    if (entry.event.type === "RunCompleted" && entry.event.data.output !== undefined)
      print(JSON.stringify(entry.event.data.output.json, undefined, 2));
  };
};
