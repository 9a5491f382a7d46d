/** `runstream resume`: answers a thread's question and carries the thread on in this process. */
import type { Command } from "commander";
import type { EventLog } from "../../events/event-log.ts";
import { formatDuration } from "../../projections/event-line.ts";
import type { HistoryEntry } from "../../projections/history.ts";
import type { GraphCheckpoint, PendingInterrupt } from "../../threads/graph-types.ts";
import type { ThreadWorkflow } from "../../threads/rebound-workflow.ts";
import { commandHint } from "../command-hint.ts";
import type { GlobalOptions, SetExit } from "../command-options.ts";
import { eventJson } from "../event-json.ts";
import { eventText } from "../event-text.ts";
import { jsonArgument } from "../json-argument.ts";
import { loadExports } from "../module-workflows.ts";
import { resolveThread, withLog } from "../store.ts";
import { err, harmless, print, printJson, tell } from "../terminal.ts";
import { CliError, EXIT, usageError } from "../usage-error.ts";

interface ResumeOptions extends GlobalOptions {
  readonly answer: string;
  readonly module: string;
  readonly question?: string;
  readonly workflow?: string;
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
that was interrupted or has failed goes on when a program continues it.

Examples:
  $ runstream state order-7
  $ runstream resume order-7 --answer true --module refunds.ts`;

const resume = async (typed: string, options: ResumeOptions): Promise<number> => {
  const { json, module } = options;
  const answer = jsonArgument("--answer", options.answer);
  const [{ logCheckpointer }, { isThreadWorkflow, onCheckpointer }, { listenForInterrupts }] =
    await Promise.all([
      import("../../threads/log/log-checkpointer.ts"),
      import("../../threads/rebound-workflow.ts"),
      import("../interrupts.ts"),
    ]);
  const workflows = await loadExports(module, isThreadWorkflow);
  return withLog(options, async (log) => {
    const threadId = await resolveThread(log, typed);
    const checkpointer = logCheckpointer(log);
    const waiting = await checkpointer.get(threadId);
    const question = questionOf(threadId, waiting, options.question);
    const workflow = onCheckpointer(workflowOf(workflows, waiting, options), checkpointer);

    const show = await shower(log, threadId, json === true);
    const interrupts = listenForInterrupts();
    const abort = new AbortController();
    let stopped: number | undefined;
    void interrupts.first.then((code) => {
      stopped = code;
      abort.abort();
    });
    try {
      const events = workflow.resumeInterrupts(threadId, { [question.id]: answer }, { signal: abort.signal });
      for await (const _ of events) await show();
    } catch (error) {
      if ((await show())?.type === "ThreadFailed") return EXIT.failed;
      throw error;
    } finally {
      interrupts.release();
    }
    const last = await show();
    if (last?.type === "ThreadCompleted") {
      if (!json && last.data.output !== undefined)
        await print(JSON.stringify(last.data.output.json, undefined, 2));
      return EXIT.ok;
    }
    if (last?.type === "ThreadPaused") {
      tell(`It asks again. See ${err.cyan(commandHint(["state", threadId], options.store))}`);
      return EXIT.parked;
    }
    tell(`Interrupted, and the answer is recorded. ${carriedOn(threadId)}`);
    return stopped ?? EXIT.failed;
  });
};

const carriedOn = (threadId: string): string =>
  `Thread ${harmless(threadId)} goes on when a program calls its workflow's continue().`;

const questionOf = (
  threadId: string,
  checkpoint: GraphCheckpoint | undefined,
  asked: string | undefined,
): PendingInterrupt => {
  const questions = checkpoint?.status === "awaiting_input" ? checkpoint.interrupts : [];
  const [first] = questions;
  if (first === undefined) {
    const status = checkpoint?.status ?? "not recorded";
    const remedy = status === "completed" || checkpoint === undefined ? "" : ` ${carriedOn(threadId)}`;
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

/** The export that is named, or the one whose workflow has the name under which the thread was recorded. */
const workflowOf = (
  workflows: Readonly<Record<string, ThreadWorkflow>>,
  checkpoint: GraphCheckpoint | undefined,
  { module, workflow: named }: ResumeOptions,
): ThreadWorkflow => {
  const names = Object.keys(workflows);
  if (names.length === 0)
    throw usageError(
      `${module} exports no workflow of threads. Export what workflow() of runstream/threads returns, by name.`,
    );
  const listed = names.map((name) => `${name} (named ${JSON.stringify(workflows[name]?.name)})`).join(", ");
  if (named !== undefined) {
    if (Object.hasOwn(workflows, named)) return workflows[named] as ThreadWorkflow;
    throw usageError(`${module} exports no workflow ${JSON.stringify(named)}. It exports: ${listed}.`);
  }
  const recorded = checkpoint?.next[0];
  const found = Object.values(workflows).filter(({ name }) => name === recorded);
  if (found.length === 1) return found[0] as ThreadWorkflow;
  throw usageError(
    `The thread was recorded by a workflow named ${JSON.stringify(recorded)}, and ${found.length === 0 ? "none" : "more than one"} of ${module} has that name; say by --workflow which export carries it on: ${listed}.`,
  );
};

/** Answers a function that shows what was recorded since it was called last, and answers the last event of that. */
const shower = async (
  log: EventLog,
  threadId: string,
  json: boolean,
): Promise<() => Promise<HistoryEntry["event"] | undefined>> => {
  const { readHistory, threadStateAt } = await import("../../projections/history.ts");
  let from = ((await threadStateAt(log, threadId))?.revision ?? -1) + 1;
  let begunAt: number | undefined;
  let last: HistoryEntry["event"] | undefined;
  return async () => {
    for await (const entry of readHistory(log, threadId, { from })) {
      from = entry.revision + 1;
      last = entry.event;
      begunAt ??= entry.recordedAt;
      if (json) await printJson(eventJson(threadId, entry));
      else {
        const since = formatDuration(Math.max(0, entry.recordedAt - begunAt));
        tell(`${err.dim(since.padStart(9))}  ${eventText(entry, err)}`);
      }
    }
    return last;
  };
};
