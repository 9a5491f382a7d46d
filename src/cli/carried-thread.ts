/**
 * A thread that a command carries on in this process: the workflow of somebody's module on the store of the command, the thread's events
 * as they are recorded, and how it ended.
 *
 * Not here: what it goes on from, an answer or nothing (commands/resume, commands/continue).
 */
import type { EventLog } from "../events/event-log.ts";
import { formatDuration } from "../projections/event-line.ts";
import type { HistoryEntry } from "../projections/history.ts";
import type { GraphCheckpoint } from "../threads/graph-types.ts";
import type { ReboundWorkflow, ThreadWorkflow } from "../threads/rebound-workflow.ts";
import { commandHint } from "./command-hint.ts";
import type { GlobalOptions } from "./command-options.ts";
import { eventJson } from "./event-json.ts";
import { eventText } from "./event-text.ts";
import { loadExports } from "./module-workflows.ts";
import { resolveThread, withLog } from "./store.ts";
import { err, harmless, print, printJson, tell } from "./terminal.ts";
import { CliError, EXIT, usageError } from "./usage-error.ts";

export interface CarryOptions extends GlobalOptions {
  readonly module: string;
  readonly workflow?: string;
}

/** A thread as it is recorded, before it is carried on. */
export interface RecordedThread {
  readonly threadId: string;
  readonly checkpoint: GraphCheckpoint | undefined;
}

/** What is done with the workflow, on the store of the command. */
export type Carry = (workflow: ReboundWorkflow, signal: AbortSignal) => AsyncIterable<unknown>;

/**
 * Carries a thread on until it is over, asks, or is stopped by the terminal, and answers the exit code. `begin` says how, or refuses
 * the thread by throwing; then nothing was recorded. `stopped` is told of a thread that a signal stopped.
 */
export const carryThread = async (
  typed: string,
  options: CarryOptions,
  begin: (thread: RecordedThread) => Carry,
  stopped: string,
): Promise<number> => {
  const [{ logCheckpointer }, { isThreadWorkflow, onCheckpointer }] = await Promise.all([
    import("../threads/log/log-checkpointer.ts"),
    import("../threads/rebound-workflow.ts"),
  ]);
  const workflows = await loadExports(options.module, isThreadWorkflow);
  return withLog(options, async (log) => {
    const threadId = await resolveThread(log, typed);
    const checkpointer = logCheckpointer(log);
    const checkpoint = await checkpointer.get(threadId);
    const carry = begin({ threadId, checkpoint });
    const workflow = onCheckpointer(workflowOf(workflows, checkpoint, options), checkpointer);
    const show = await shower(log, threadId, options.json === true);
    const signalled = await followed((signal) => carry(workflow, signal), show);
    return ended(threadId, options, { last: await show(), signalled, stopped });
  });
};

type Show = () => Promise<HistoryEntry["event"] | undefined>;

/** Shows what is recorded as the thread goes on; answers the exit code of a signal that came meanwhile. */
const followed = async (
  carry: (signal: AbortSignal) => AsyncIterable<unknown>,
  show: Show,
): Promise<number | undefined> => {
  const [{ listenForInterrupts }, { ThreadConflictError }] = await Promise.all([
    import("./interrupts.ts"),
    import("../threads/log/thread-conflict-error.ts"),
  ]);
  const interrupts = listenForInterrupts();
  const abort = new AbortController();
  let signalled: number | undefined;
  void interrupts.first.then((code) => {
    signalled = code;
    abort.abort();
  });
  try {
    for await (const _ of carry(abort.signal)) await show();
  } catch (error) {
    if (ThreadConflictError.is(error)) throw inOtherHands(error.threadId, error);
    if ((await show())?.type !== "ThreadFailed") throw error;
  } finally {
    interrupts.release();
  }
  return signalled;
};

const inOtherHands = (threadId: string, cause: unknown): CliError =>
  new CliError(
    `Thread ${harmless(threadId)} is in the hands of another process, which recorded something meanwhile. This one stopped, and recorded nothing over it.`,
    EXIT.failed,
    cause,
  );

const ended = async (
  threadId: string,
  { json, module, store }: CarryOptions,
  end: {
    readonly last: HistoryEntry["event"] | undefined;
    readonly signalled: number | undefined;
    readonly stopped: string;
  },
): Promise<number> => {
  const { last, signalled, stopped } = end;
  if (last?.type === "ThreadFailed") return EXIT.failed;
  if (last?.type === "ThreadCompleted") {
    if (!json && last.data.output !== undefined)
      await print(JSON.stringify(last.data.output.json, undefined, 2));
    return EXIT.ok;
  }
  if (last?.type === "ThreadPaused") {
    tell(`It asks. See ${err.cyan(commandHint(["state", threadId], store))}`);
    return EXIT.parked;
  }
  tell(`${stopped} It goes on with ${err.cyan(continueHint(threadId, module, store))}`);
  return signalled ?? EXIT.failed;
};

/** The command that carries a thread on. */
export const continueHint = (threadId: string, module: string, store: string): string =>
  commandHint(["continue", threadId, "--module", module], store);

/** The export that is named, or the one whose workflow has the name under which the thread was recorded. */
const workflowOf = (
  workflows: Readonly<Record<string, ThreadWorkflow>>,
  checkpoint: GraphCheckpoint | undefined,
  { module, workflow: named }: CarryOptions,
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
const shower = async (log: EventLog, threadId: string, json: boolean): Promise<Show> => {
  const { readHistory, threadStateAt } = await import("../projections/history.ts");
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
