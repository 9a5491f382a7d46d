/** `runstream resume`: answers a thread's question and carries the thread on in this process. */
import type { Command } from "commander";
import type { PendingInterrupt } from "../../threads/graph-types.ts";
import {
  type Carry,
  type CarryOptions,
  carryThread,
  continueHint,
  type RecordedThread,
} from "../carried-thread.ts";
import type { SetExit } from "../command-options.ts";
import { jsonArgument } from "../json-argument.ts";
import { harmless } from "../terminal.ts";
import { CliError, usageError } from "../usage-error.ts";

interface ResumeOptions extends CarryOptions {
  readonly answer: string;
  readonly question?: string;
}

export const registerResume = (program: Command, setExit: SetExit): void => {
  program
    .command("resume")
    .summary("answer a thread's question and carry it on here")
    .description(
      "Answers a question that a thread waits for, and runs the thread on in this process until it is over or asks again. Steps " +
        "that are recorded do not run again. Every event is shown as it happens, on standard error; the output is printed on " +
        "standard output. The workflow is the one of the module that has the thread's name.",
    )
    .usage("[options] <thread> --answer <json> --module <file>")
    .argument("<thread>", "the thread's id, or the beginning of it")
    .requiredOption("-a, --answer <json>", "any JSON; @file reads a file, @- standard input")
    .requiredOption("-m, --module <file>", ".ts or .js file that exports the thread's workflow")
    .option("-q, --question <id>", "which question is answered; not needed where there is only one")
    .option("-w, --workflow <export>", "the export that carries it on, where names have changed")
    .addHelpText("after", EXAMPLES)
    .action(async (thread: string, _options, command: Command) => {
      setExit(await resume(thread, command.optsWithGlobals<ResumeOptions>()));
    });
};

const EXAMPLES = `
Exit codes: 0 completed, 1 failed, or the thread waits for no answer, 2 wrong
usage, 4 it asks again, 130 interrupted by Ctrl-C and 143 by SIGTERM. A thread
that was interrupted, has failed or was left running goes on with "continue".

Examples:
  $ runstream state order-7
  $ runstream resume order-7 --answer true --module refunds.ts`;

const resume = async (typed: string, options: ResumeOptions): Promise<number> => {
  const answer = jsonArgument("--answer", options.answer);
  const begin = (thread: RecordedThread): Carry => {
    const { id } = questionOf(thread, options);
    return (workflow, signal) => workflow.resumeInterrupts(thread.threadId, { [id]: answer }, { signal });
  };
  return carryThread(typed, options, begin, "Interrupted, and the answer is recorded.");
};

const questionOf = (
  { threadId, checkpoint }: RecordedThread,
  { question: asked, module, store }: ResumeOptions,
): PendingInterrupt => {
  const questions = checkpoint?.status === "awaiting_input" ? checkpoint.interrupts : [];
  const [first] = questions;
  if (first === undefined) {
    const status = checkpoint?.status ?? "not recorded";
    const over = status === "completed" || checkpoint === undefined;
    const remedy = over ? "" : ` It goes on with ${continueHint(threadId, module, store)}`;
    throw new CliError(
      `Thread ${harmless(threadId)} is not awaiting input: it is ${status}. Nothing was recorded.${remedy}`,
    );
  }
  const listed = questions.map(({ id, reason }) => `  ${harmless(id)}: ${harmless(reason)}`).join("\n");
  if (asked === undefined) {
    if (questions.length === 1) return first;
    throw usageError(
      `Thread ${harmless(threadId)} asks several questions; say which one by --question:\n${listed}`,
    );
  }
  const found = questions.find(({ id }) => id === asked);
  if (found !== undefined) return found;
  throw usageError(`Thread ${harmless(threadId)} does not ask ${JSON.stringify(asked)}. It asks:\n${listed}`);
};
