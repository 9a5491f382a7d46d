/** `runstream cancel`: ends a run. */
import type { Command } from "commander";
import type { Runstream } from "../../embedded/runstream.ts";
import type { ListedStatus } from "../../projections/run-state.ts";
import type { GlobalOptions } from "../command-options.ts";
import { cancelSdkRun } from "../sdk-run.ts";
import { isSdkRun, resolveRun, withRunstream } from "../store.ts";
import { printJson, tell } from "../terminal.ts";
import { CliError } from "../usage-error.ts";

interface CancelOptions extends GlobalOptions {
  readonly reason?: string;
}

export const registerCancel = (program: Command): void => {
  program
    .command("cancel")
    .summary("end a run")
    .description(
      "Ends a run for good. A step that is under way in another process may still end, but its result is not recorded. Exit code 1 " +
        "where the run was over already. A run of the Workflow SDK is ended as its own cancelRun does.",
    )
    .argument("<run>", "the run's id, or the beginning of it")
    .option("-r, --reason <text>", "why; it is recorded")
    .addHelpText("after", EXAMPLES)
    .action(async (run: string, _options, command: Command) => {
      await cancel(run, command.optsWithGlobals<CancelOptions>());
    });
};

const EXAMPLES = `
Examples:
  $ runstream cancel 1a2b3c --reason 'ordered twice'`;

const cancel = async (typed: string, options: CancelOptions): Promise<void> => {
  const { json, reason } = options;
  await withRunstream(options, async (runstream) => {
    const runId = await resolveRun(runstream.log, typed);
    const { cancelled, status } = (await isSdkRun(runstream.log, runId))
      ? await cancelSdkRun(runstream.log, runId, reason)
      : await cancelRun(runstream, runId, reason);
    if (json) await printJson({ runId, cancelled, status });
    if (!cancelled) throw new CliError(`Run ${runId} is over already: it is ${status}. Nothing was changed.`);
    if (!json) tell(`Cancelled: run ${runId}.`);
  });
};

const cancelRun = async (
  runstream: Runstream,
  runId: string,
  reason: string | undefined,
): Promise<{ readonly cancelled: boolean; readonly status: ListedStatus | undefined }> => {
  const cancelled = await runstream.cancel(runId, reason === undefined ? {} : { reason });
  return { cancelled, status: cancelled ? "cancelled" : (await runstream.get(runId))?.status };
};
