/** `runstream history`: every event of a run. */
import type { Command } from "commander";
import { type GlobalOptions, wholeNumber } from "../command-options.ts";
import { eventJson } from "../event-json.ts";
import { eventText } from "../event-text.ts";
import { resolveRun, withLog } from "../store-file.ts";
import { out, print, printJson } from "../terminal.ts";

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
With --json every event is one line: {"runId","revision","position","id","recordedAt","type","data"}. Payloads are the plain JSON
that is stored; what JSON cannot say about them (a Date, a Map, …) stands beside them in "types".

Examples:
  $ runstream history 1a2b3c
  $ runstream history 1a2b3c --json | jq 'select(.type == "StepSettled") | .data.output'`;

const history = async (typed: string, { db, json, from, to }: HistoryOptions): Promise<void> => {
  const { readHistory } = await import("../../projections/history.ts");
  await withLog(db, async (log) => {
    const runId = await resolveRun(log, typed);
    for await (const entry of readHistory(log, runId, { from, ...(to !== undefined && { upTo: to }) })) {
      if (json) await printJson(eventJson(runId, entry));
      else {
        const at = new Date(entry.recordedAt).toISOString().replace("T", " ").slice(0, 23);
        await print(`${out.dim(`${String(entry.revision).padStart(5)}  ${at}`)}  ${eventText(entry, out)}`);
      }
    }
  });
};
