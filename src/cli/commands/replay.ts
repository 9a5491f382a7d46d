/** `runstream replay`: a run as it was after one of its events. */
import type { Command } from "commander";
import { type GlobalOptions, wholeNumber } from "../command-options.ts";
import { stateJson, stateText } from "../state-text.ts";
import { isThread, resolveRun, withLog } from "../store.ts";
import { out, print, printJson, tell } from "../terminal.ts";
import { checkpointJson, checkpointText } from "../thread-text.ts";

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

const replay = async (typed: string, options: ReplayOptions): Promise<void> => {
  const { json, at } = options;
  const { stateAt, threadStateAt } = await import("../../projections/history.ts");
  await withLog(options, async (log) => {
    const runId = await resolveRun(log, typed);
    if (await isThread(log, runId)) {
      const thread = await threadStateAt(log, runId, at);
      if (thread === undefined) return;
      const { presentPlace } = await import("../../projections/thread-state.ts");
      const place = presentPlace(thread);
      if (json) return printJson({ runId, revision: thread.revision, ...checkpointJson(runId, place) });
      if (thread.revision < at) tell(noSuchRevision(at, thread.revision));
      return print(checkpointText(runId, place, `at revision ${thread.revision}`));
    }
    const state = await stateAt(log, runId, at);
    if (state === undefined) return;
    if (json) return printJson(stateJson(runId, state));
    if (state.revision < at) tell(noSuchRevision(at, state.revision));
    await print(stateText(runId, state));
  });
};

const noSuchRevision = (at: number, last: number): string =>
  out.dim(`The run has no revision ${at} yet; this is its last one, ${last}.`);
