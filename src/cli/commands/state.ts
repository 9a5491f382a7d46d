/** `runstream state`: a checkpoint of a thread. */
import type { Command } from "commander";
import { type GlobalOptions, wholeNumber } from "../command-options.ts";
import { resolveThread, withLog } from "../store.ts";
import { print, printJson } from "../terminal.ts";
import { checkpointJson, checkpointText } from "../thread-text.ts";
import { usageError } from "../usage-error.ts";

interface StateOptions extends GlobalOptions {
  readonly step?: number;
}

export const registerState = (program: Command): void => {
  program
    .command("state")
    .summary("a checkpoint of a thread")
    .description(
      "Shows a thread's latest checkpoint, or one of the earlier ones: its status, what its steps returned, which questions " +
        "wait for an answer, and which were answered. It folds the thread's events up to there, and runs nothing.",
    )
    .argument("<thread>", "the thread's id, or the beginning of it")
    .option("--step <n>", "the checkpoint's number, from 1; the latest by default", wholeNumber(0))
    .addHelpText("after", EXAMPLES)
    .action(async (thread: string, _options, command: Command) => {
      await state(thread, command.optsWithGlobals<StateOptions>());
    });
};

const EXAMPLES = `
With --json the checkpoint is printed as the library's state() has it; values
are the plain JSON that is stored.

Examples:
  $ runstream state order-7
  $ runstream state order-7 --step 2 --json | jq .state.steps`;

const state = async (typed: string, options: StateOptions): Promise<void> => {
  const { json, step } = options;
  const { threadStateAt } = await import("../../projections/history.ts");
  const { checkpointAt, emptyThread } = await import("../../projections/thread-state.ts");
  await withLog(options, async (log) => {
    const threadId = await resolveThread(log, typed);
    const folded = (await threadStateAt(log, threadId)) ?? emptyThread();
    const place = checkpointAt(folded, step);
    if (place === undefined) throw noSuchCheckpoint(threadId, step, folded.checkpoints);
    if (json) return printJson(checkpointJson(threadId, place));
    await print(checkpointText(threadId, place, `at checkpoint ${place.step}`));
  });
};

const noSuchCheckpoint = (
  threadId: string,
  step: number | undefined,
  checkpoints: readonly { readonly step: number }[],
): Error => {
  const first = checkpoints[0]?.step;
  const there =
    first === undefined
      ? "It has none yet."
      : `It has the checkpoints ${first} to ${checkpoints.at(-1)?.step}.`;
  return usageError(`Thread ${threadId} has no checkpoint ${step ?? ""}. ${there}`);
};
