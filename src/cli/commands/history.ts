/** `runstream history`: every event of a run. */
import type { Command } from "commander";
import type { EventLog } from "../../events/event-log.ts";
import { runStream } from "../../events/stream-names.ts";
import { cutsPayload } from "../../projections/event-line.ts";
import { type GlobalOptions, wholeNumber } from "../command-options.ts";
import { eventJson } from "../event-json.ts";
import { eventText } from "../event-text.ts";
import { resolveRun, withLog } from "../store.ts";
import { err, out, print, printJson, tell } from "../terminal.ts";
import { usageError } from "../usage-error.ts";

interface HistoryOptions extends GlobalOptions {
  readonly from: number;
  readonly to?: number;
}

export const registerHistory = (program: Command): void => {
  program
    .command("history")
    .summary("every event of a run")
    .description(
      "Prints every event of a run, in order: its revision, when it was recorded, and what happened.",
    )
    .argument("<run>", "the run's id, or the beginning of it")
    .option("--from <revision>", "begin with this revision", wholeNumber(0), 0)
    .option("--to <revision>", "end with this revision", wholeNumber(0))
    .addHelpText("after", EXAMPLES)
    .action(async (run: string, _options, command: Command) => {
      await history(run, command.optsWithGlobals<HistoryOptions>());
    });
};

const EXAMPLES = `
Long values are cut at …; --json gives all. With it every event is one line:
  {"runId","revision","position","id","recordedAt","type","data"}
Payloads are the plain JSON that is stored; what JSON cannot say about them (a
Date, a Map, …) stands beside them in "types". A payload that is sealed and
cannot be opened is null, and "sealed" says why: "erased" or "locked".

Examples:
  $ runstream history 1a2b3c
  $ runstream history 1a2b3c --json | jq 'select(.type == "StepSettled").data'`;

const history = async (typed: string, options: HistoryOptions): Promise<void> => {
  const { json, from, to } = options;
  const { readHistory } = await import("../../projections/history.ts");
  await withLog(options, async (log) => {
    const runId = await resolveRun(log, typed);
    await checkRange(log, runId, from, to);
    let cut = false;
    for await (const entry of readHistory(log, runId, { from, ...(to !== undefined && { upTo: to }) })) {
      if (json) await printJson(eventJson(runId, entry));
      else {
        cut ||= cutsPayload(entry);
        const at = new Date(entry.recordedAt).toISOString().replace("T", " ").slice(0, 23);
        await print(`${out.dim(`${String(entry.revision).padStart(5)}  ${at}`)}  ${eventText(entry, out)}`);
      }
    }
    if (cut) tell(err.dim("Long values are cut at …; --json gives all of them."));
  });
};

/** Nothing to print is said, and what there is. */
const checkRange = async (log: EventLog, runId: string, from: number, to = from): Promise<void> => {
  for await (const { revision } of log.read(runStream(runId), { direction: "backwards", max: 1 })) {
    const there = `Run ${runId} has the revisions 0 to ${revision}.`;
    if (from > revision) throw usageError(`There is no revision ${from} to begin with. ${there}`);
    if (from > to) throw usageError(`Nothing lies between --from ${from} and --to ${to}. ${there}`);
  }
};
