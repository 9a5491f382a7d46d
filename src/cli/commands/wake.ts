/** `runstream wake`: cuts waits short. */
import type { Command } from "commander";
import { commandHint } from "../command-hint.ts";
import { collect, type GlobalOptions } from "../command-options.ts";
import { ofTheSdk } from "../sdk-run.ts";
import { isSdkRun, resolveRun, withRunstream } from "../store.ts";
import { printJson, tell } from "../terminal.ts";
import { CliError } from "../usage-error.ts";

interface WakeOptions extends GlobalOptions {
  readonly id?: readonly string[];
}

export const registerWake = (program: Command): void => {
  program
    .command("wake")
    .summary("cut a run's sleeps short")
    .description(
      "Cuts waits of a run short: every sleep, or the waits that declared one of the given correlation ids. Exit code 1 where " +
        "nothing was waiting.",
    )
    .argument("<run>", "the run's id, or the beginning of it")
    .option("--id <correlation-id>", "only waits with this correlation id; may be repeated", collect)
    .addHelpText("after", EXAMPLES)
    .action(async (run: string, _options, command: Command) => {
      await wake(run, command.optsWithGlobals<WakeOptions>());
    });
};

const EXAMPLES = `
Examples:
  $ runstream wake 1a2b3c
  $ runstream wake 1a2b3c --id reminder --id follow-up`;

const wake = async (typed: string, options: WakeOptions): Promise<void> => {
  const { json, id } = options;
  await withRunstream(options, async (runstream) => {
    const runId = await resolveRun(runstream.log, typed);
    if (await isSdkRun(runstream.log, runId))
      throw new CliError(
        `${ofTheSdk(runId)}: its sleeps are cut short in the application. Nothing was recorded.`,
      );
    const woken = await runstream.wakeUp(runId, id === undefined ? {} : { correlationIds: id });
    if (json) await printJson({ runId, woken });
    if (woken === 0) {
      const which = id === undefined ? "no sleep to cut short" : `no wait with the id ${id.join(" or ")}`;
      throw new CliError(
        `Run ${runId} has ${which}. "${commandHint(["show", runId], options.store)}" says what it waits for.`,
      );
    }
    if (!json) tell(`Woken: ${woken} ${woken === 1 ? "wait" : "waits"} of run ${runId}.`);
  });
};
