/**
 * The program: its commands, the options that all of them take, and how they end. Commands import what they need when they run.
 */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { type SetExit, usualStore } from "./command-options.ts";
import { registerCancel } from "./commands/cancel.ts";
import { registerContinue } from "./commands/continue.ts";
import { registerDoctor } from "./commands/doctor.ts";
import { registerHistory } from "./commands/history.ts";
import { registerLs } from "./commands/ls.ts";
import { registerReplay } from "./commands/replay.ts";
import { registerResume } from "./commands/resume.ts";
import { registerRun } from "./commands/run.ts";
import { registerShow } from "./commands/show.ts";
import { registerSignal } from "./commands/signal.ts";
import { registerStart } from "./commands/start.ts";
import { registerState } from "./commands/state.ts";
import { registerWake } from "./commands/wake.ts";
import { registerWorker } from "./commands/worker.ts";
import { failureOf } from "./failure.ts";
import { err, tell } from "./terminal.ts";
import { EXIT, usageError } from "./usage-error.ts";

/** Runs one command line, and answers its exit code. Never throws. */
export const runCli = async (args: readonly string[]): Promise<number> => {
  let exitCode: number = EXIT.ok;
  const program = createProgram((code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return exitCode;
  } catch (error) {
    const failure = failureOf(error);
    if (failure.message !== undefined) tell(`${err.red("error:")} ${failure.message}`);
    return failure.exitCode;
  }
};

const createProgram = (setExit: SetExit): Command => {
  const program = new Command("runstream");
  program
    .description("Durable workflows: every run is one stream of immutable events.")
    .version(version(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print what there is to know about a command")
    .helpCommand("help [command]", "print what there is to know about a command")
    .option(
      "--store <store>",
      `the store: one SQLite file, or esdb://… of an EventStoreDB server (env RUNSTREAM_STORE; default ${usualStore()})`,
    )
    .option("--db <file>", "the same as --store (env RUNSTREAM_DB)")
    .option(
      "--index <file>",
      "where the run index is kept (env RUNSTREAM_INDEX; default: beside a file, in the cache folder for a server)",
    )
    .option(
      "--keys <module>",
      "the keys of sealed payloads: .ts or .js file that exports keyFor (env RUNSTREAM_KEYS)",
      process.env.RUNSTREAM_KEYS || undefined,
    )
    .option("--json", "print JSON for programs on standard output; streams are one object a line")
    .option("--no-color", "print no colours (env NO_COLOR)")
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError('("runstream --help" and "runstream <command> --help" explain more.)')
    .exitOverride()
    .addHelpText("after", ABOUT)
    .hook("preAction", settleStore);
  for (const register of COMMANDS) register(program, setExit);
  return program;
};

/** Which store it is, by the command line and then by the environment. */
const settleStore = (program: Command): void => {
  const { store, db, index } = program.opts<{ store?: string; db?: string; index?: string }>();
  if (store !== undefined && db !== undefined && store !== db)
    throw usageError("--store and --db name two stores. Give one of them.");
  program.setOptionValue("store", store ?? db ?? usualStore());
  const place = index ?? (process.env.RUNSTREAM_INDEX || undefined);
  if (place !== undefined) program.setOptionValue("index", place);
};

const COMMANDS: readonly ((program: Command, setExit: SetExit) => void)[] = [
  registerRun,
  registerWorker,
  registerStart,
  registerLs,
  registerShow,
  registerHistory,
  registerReplay,
  registerSignal,
  registerWake,
  registerCancel,
  registerResume,
  registerContinue,
  registerState,
  registerDoctor,
];

const ABOUT = `
A <run> is the id of a run or the beginning of it, as long as no other run
begins so; a <thread> likewise. ls, show, history and replay know both. A
<module> is a .ts or .js file; its workflows are the exports that workflow()
made.

Exit codes:
  0    done; of a run: completed
  1    not done; of a run: failed
  2    wrong usage
  3    the run was cancelled
  4    the run is parked (--detach-when-parked), or the thread asks again
  130  interrupted by Ctrl-C
  143  ended by SIGTERM

RUNSTREAM_DEBUG=1 shows stack traces.

Examples:
  $ runstream run greet.ts --input '{"name":"Ada"}'
  $ runstream worker greet.ts
  $ runstream ls --status running
  $ runstream show 1a2b3c`;

const version = (): string => {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
};
