/** `runstream worker`: walks the runs of a store until it is told to stop. */
import { hostname } from "node:os";
import type { Command } from "commander";
import type { AnyWorkflowDef } from "../../engine/workflow.ts";
import { isServerAddress } from "../../store-eventstore/address.ts";
import { type GlobalOptions, type SetExit, wholeNumber } from "../command-options.ts";
import { loadWorkflows, type Workflows } from "../module-workflows.ts";
import { openRunstreamOn, shownStore } from "../store.ts";
import { err, harmless, printJson, tell } from "../terminal.ts";
import { EXIT } from "../usage-error.ts";

interface WorkerOptions extends GlobalOptions {
  readonly name: string;
  readonly concurrency?: number;
  readonly stepConcurrency?: number;
  readonly grace: number;
  readonly quiet?: true;
}

export const registerWorker = (program: Command, setExit: SetExit): void => {
  program
    .command("worker")
    .summary("walk the store's runs until Ctrl-C")
    .description(
      "Works until SIGINT (Ctrl-C) or SIGTERM: walks the runs that have something to do and wakes those whose time has come. " +
        "Then it drains: steps under way may end, and what is left goes to other workers. A second signal ends it at once.\n\n" +
        "Several workers may share a store. All of them must be given the same workflows.",
    )
    .argument("<module>", ".ts or .js file that exports workflows")
    .option("--concurrency <n>", "runs walked at once (default 256)", wholeNumber(1))
    .option(
      "--step-concurrency <n>",
      "step bodies at once (default 128, env RUNSTREAM_STEP_CONCURRENCY)",
      wholeNumber(1),
    )
    .option(
      "--name <name>",
      "what this worker is called in its messages, and in a server's list of connections",
      `${hostname()}-${process.pid}`,
    )
    .option("--grace <seconds>", "how long steps under way may take when it stops", wholeNumber(0), 5)
    .option("-q, --quiet", "say nothing about single runs")
    .addHelpText("after", EXAMPLES)
    .action(async (module: string, _options, command: Command) => {
      setExit(await work(module, command.optsWithGlobals<WorkerOptions>()));
    });
};

const EXAMPLES = `
With --json every line on standard output is {"at","what",…}; what: working,
walking, over, warning, stopping, stopped.

Examples:
  $ runstream worker orders.ts
  $ runstream worker orders.ts --store /var/lib/orders.db --step-concurrency 4
  $ runstream worker orders.ts --store esdb://db.example:2113 --name orders-1`;

const work = async (module: string, options: WorkerOptions): Promise<number> => {
  const workflows = await loadWorkflows(module);
  const say = narrator(options);
  const { listenForInterrupts } = await import("../interrupts.ts");
  const mine = new Set<string>();
  const trouble = (message: string, fields: Record<string, unknown> = {}): void =>
    say("warning", warningText(message, fields), { message, ...fields });
  const { name, concurrency, stepConcurrency } = options;
  const { runstream, close } = await openRunstreamOn(
    { ...options, store: named(options) },
    {
      workflows: observed(workflows, (runId, workflow) => {
        mine.add(runId);
        if (!options.quiet) say("walking", `walking ${runId} (${workflow})`, { runId, workflow });
      }),
      ...(concurrency !== undefined && { concurrency }),
      ...(stepConcurrency !== undefined && { stepConcurrency }),
      logger: { debug: () => {}, info: () => {}, warn: trouble, error: trouble },
    },
  );
  const interrupts = listenForInterrupts();
  const { runIdOf } = await import("../../events/stream-names.ts");
  const ends = runstream.log
    .subscribe({ after: "end", filter: { streamPrefix: "run-", types: ENDS.map(([type]) => type) } })
    .subscribe({
      next: (item) => {
        if (!("type" in item)) return;
        const runId = runIdOf(item.stream) ?? item.stream;
        const status = ENDS.find(([type]) => type === item.type)![1];
        if (mine.delete(runId) && !options.quiet) say("over", `${status} ${runId}`, { runId, status });
      },
      error: (error: unknown) =>
        trouble("The worker cannot see which runs are over", { error: String(error) }),
    });
  try {
    runstream.work();
    const names = Object.keys(workflows);
    const known = names.map((name) => harmless(name)).join(", ");
    const store = shownStore(options.store);
    say("working", `${harmless(name)} is working on ${store}; workflows: ${known}. Ctrl-C stops.`, {
      name,
      store,
      pid: process.pid,
      workflows: names,
    });
    await interrupts.first;
    const { walking } = runstream;
    say(
      "stopping",
      `Stopping: ${walking} walks under way get ${options.grace} s to end. Ctrl-C again ends at once.`,
      {
        walking,
      },
    );
    return EXIT.ok;
  } finally {
    ends.unsubscribe();
    await close({ graceMs: options.grace * 1_000 });
    interrupts.release();
    say("stopped", "Stopped. What was not over goes on with the next worker.", {});
  }
};

/** A server lists its connections by their names. */
const named = ({ store, name }: WorkerOptions): string =>
  !isServerAddress(store) || /[?&]connection[-_]?name=/i.test(store)
    ? store
    : `${store}${store.includes("?") ? "&" : "?"}connectionName=${encodeURIComponent(name)}`;

const ENDS = [
  ["RunCompleted", "completed"],
  ["RunFailed", "failed"],
  ["RunCancelled", "cancelled"],
] as const;

/** The workflows, with a word at the beginning of every walk. */
const observed = (workflows: Workflows, onWalk: (runId: string, workflow: string) => void): Workflows =>
  Object.fromEntries(
    Object.entries(workflows).map(([name, def]): [string, AnyWorkflowDef] => [
      name,
      {
        ...def,
        run(input, ctx) {
          onWalk(ctx.runId, name);
          return def.run(input, ctx);
        },
      },
    ]),
  );

/** The engine's words, with the run and the reason where it gives them. */
const warningText = (message: string, { runId, error, ...rest }: Record<string, unknown>): string => {
  const run = runId === undefined ? "" : ` (run ${String(runId)})`;
  const more = Object.keys(rest).length === 0 ? "" : ` ${JSON.stringify(rest)}`;
  return `${message}${run}${error === undefined ? "" : `: ${String(error)}`}${more}`;
};

type Say = (what: string, text: string, fields: Record<string, unknown>) => void;

const narrator =
  ({ json }: WorkerOptions): Say =>
  (what, text, fields) => {
    const at = Date.now();
    if (json) printJson({ at, what, ...fields });
    else {
      const time = new Date(at).toISOString().slice(11, 23);
      tell(`${err.dim(time)}  ${what === "warning" ? err.yellow(harmless(text)) : harmless(text)}`);
    }
  };
