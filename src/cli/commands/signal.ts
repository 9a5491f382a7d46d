/** `runstream signal`: answers a wait. */
import type { Command } from "commander";
import type { GlobalOptions } from "../command-options.ts";
import { jsonArgument } from "../json-argument.ts";
import { ofTheSdk, sdkRunWithToken } from "../sdk-run.ts";
import { withRunstream } from "../store.ts";
import { printJson, tell } from "../terminal.ts";
import { CliError } from "../usage-error.ts";

interface SignalOptions extends GlobalOptions {
  readonly payload: string;
}

export const registerSignal = (program: Command): void => {
  program
    .command("signal")
    .summary("answer what a run waits for")
    .description(
      "Answers the wait on a token with a payload. Accepted means recorded: the run goes on when a worker runs. Exit code 1 where " +
        "nobody waits for the token.",
    )
    .argument("<token>", "what the run gave to ctx.waitFor; show prints it")
    .option("-p, --payload <json>", "any JSON; @file reads a file, @- standard input", "{}")
    .addHelpText("after", EXAMPLES)
    .action(async (token: string, _options, command: Command) => {
      await signal(token, command.optsWithGlobals<SignalOptions>());
    });
};

const EXAMPLES = `
Examples:
  $ runstream signal approval/17
  $ runstream signal approval/17 --payload '{"approved":true}'`;

const signal = async (token: string, options: SignalOptions): Promise<void> => {
  const { json, payload } = options;
  const value = jsonArgument("--payload", payload);
  await withRunstream(options, async (runstream) => {
    const accepted = await runstream.signal(token, value);
    if (json) await printJson({ token, accepted });
    if (!accepted) throw refusal(token, await sdkRunWithToken(runstream.log, token));
    if (!json) tell(`Accepted: ${JSON.stringify(token)} is answered.`);
  });
};

/** `sdkRun`: the run of the Workflow SDK that waits for the token, whose payloads only the SDK can write. */
const refusal = (token: string, sdkRun: string | undefined): CliError =>
  new CliError(
    sdkRun === undefined
      ? `Nobody waits for ${JSON.stringify(token)} (yet, or any more). Nothing was recorded.`
      : `${ofTheSdk(sdkRun)}: answer its hook in the application, with resumeHook(${JSON.stringify(token)}, payload) of "workflow/api". Nothing was recorded.`,
  );
