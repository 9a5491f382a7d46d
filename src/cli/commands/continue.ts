/** `runstream continue`: carries a thread on that stopped without being over, in this process. */
import type { Command } from "commander";
import { formatInstant } from "../../projections/event-line.ts";
import { type Carry, type CarryOptions, carryThread, type RecordedThread } from "../carried-thread.ts";
import { commandHint } from "../command-hint.ts";
import type { SetExit } from "../command-options.ts";
import { harmless, tell } from "../terminal.ts";
import { CliError } from "../usage-error.ts";

export const registerContinue = (program: Command, setExit: SetExit): void => {
  program
    .command("continue")
    .summary("carry a thread on here that stopped before its end")
    .description(
      "Runs a thread on in this process, from its latest checkpoint until it is over or asks: one that was interrupted or drained, " +
        "that failed, or whose process died. Steps that are recorded do not run again; one that was under way does. Every event is " +
        "shown as it happens, on standard error; the output is printed on standard output. The workflow is the one of the module " +
        "that has the thread's name.",
    )
    .usage("[options] <thread> --module <file>")
    .argument("<thread>", "the thread's id, or the beginning of it")
    .requiredOption("-m, --module <file>", ".ts or .js file that exports the thread's workflow")
    .option("-w, --workflow <export>", "the export that carries it on, where names have changed")
    .addHelpText("after", EXAMPLES)
    .action(async (thread: string, _options, command: Command) => {
      setExit(await carryOn(thread, command.optsWithGlobals<CarryOptions>()));
    });
};

const EXAMPLES = `
Nothing says of a thread that is recorded as running whether its process lives.
If one does, whoever of the two records something first keeps the thread, and
the other one stops; a step's body may have run in both.

Exit codes: 0 completed, 1 failed, or it cannot be continued, 2 wrong usage,
4 it asks, 130 interrupted by Ctrl-C and 143 by SIGTERM.

Examples:
  $ runstream ls --status interrupted
  $ runstream continue order-7 --module refunds.ts`;

const carryOn = (typed: string, options: CarryOptions): Promise<number> => {
  const begin = (thread: RecordedThread): Carry => {
    refuseWhatStands(thread, options);
    return (workflow, signal) => {
      warnOfTheLiving(thread);
      return workflow.continue(thread.threadId, { signal });
    };
  };
  return carryThread(typed, options, begin, "Interrupted, which is recorded.");
};

/** Throws where the thread is over, or waits for an answer. */
const refuseWhatStands = ({ threadId, checkpoint }: RecordedThread, { store }: CarryOptions): void => {
  const thread = `Thread ${harmless(threadId)}`;
  if (checkpoint?.status === "completed")
    throw new CliError(`${thread} is completed, and there is nothing to continue. Nothing was recorded.`);
  if (checkpoint?.status !== "awaiting_input") return;
  const listed = checkpoint.interrupts.map(({ id, reason }) => `  ${harmless(id)}: ${harmless(reason)}`);
  throw new CliError(
    `${thread} waits for an answer, which ${commandHint(["resume", threadId], store)} gives it. Nothing was recorded. It asks:\n${listed.join("\n")}`,
  );
};

const warnOfTheLiving = ({ threadId, checkpoint }: RecordedThread): void => {
  if (checkpoint?.status !== "running") return;
  tell(
    `Thread ${harmless(threadId)} was running when something was recorded last, at ${formatInstant(Date.parse(checkpoint.createdAt))}. If its process lives, whoever records first keeps it.`,
  );
};
