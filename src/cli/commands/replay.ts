/** `runstream replay`: a run as it was after one of its events. */
import type { Command } from "commander";
import { type GlobalOptions, wholeNumber } from "../command-options.ts";
import { stateJson, stateText } from "../state-text.ts";
import { resolveRun, withLog } from "../store-file.ts";
import { out, print, printJson, tell } from "../terminal.ts";

interface ReplayOptions extends GlobalOptions {
  readonly at: number;
}

export const registerReplay = (program: Command): void => {
  program
    .command("replay")
    .summary("a run as it was at a revision")
    .description(
      "Shows a run as it was right after the event at a revision: its status, what had settled, what was under way and what it " +
        "waited for. It folds the events up to there, and runs nothing.",
    )
    .usage("[options] <run> --at <revision>")
    .argument("<run>", "the run's id, or the beginning of it")
    .requiredOption("--at <revision>", "the revision, from 0; history prints them", wholeNumber(0))
    .addHelpText("after", EXAMPLES)
    .action(async (run: string, _options, command: Command) => {
      await replay(run, command.optsWithGlobals<ReplayOptions>());
    });
};

const EXAMPLES = `
Examples:
  $ runstream replay 1a2b3c --at 7
  $ runstream replay 1a2b3c --at 7 --json | jq .steps`;

const replay = async (typed: string, { db, json, at }: ReplayOptions): Promise<void> => {
  const { stateAt } = await import("../../projections/history.ts");
  await withLog(db, async (log) => {
    const runId = await resolveRun(log, typed);
    const state = await stateAt(log, runId, at);
    if (state === undefined) return;
    if (json) return printJson(stateJson(runId, state));
    if (state.revision < at)
      tell(out.dim(`The run has no revision ${at} yet; this is its last one, ${state.revision}.`));
    await print(stateText(runId, state));
  });
};
