#!/usr/bin/env node
/**
 * The command line `runstream`. Here: the process (warnings, pipes, exit code). What the commands are is in program.ts.
 */
import module from "node:module";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  process.stderr.write(`error: Runstream needs Node 22.18 or newer, and this is ${process.version}.\n`);
  process.exit(1);
}
module.enableCompileCache();

// Before Node 24 the mere import of node:sqlite prints a warning; it says nothing to somebody who types a command.
const emit = process.emit;
process.emit = function (this: NodeJS.Process, name: string, ...args: unknown[]) {
  const [warning] = args;
  if (
    name === "warning" &&
    warning instanceof Error &&
    warning.name === "ExperimentalWarning" &&
    warning.message.startsWith("SQLite")
  )
    return false;
  return Reflect.apply(emit, this, [name, ...args]);
} as typeof process.emit;

// Whoever reads our output may have had enough of it (`| head`): that is no failure of ours, and no end of a run.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") process.exit(1);
  });
}

// A workflow's branch that failed before anybody awaited it must not end the worker, and with it every other run.
process.on("unhandledRejection", (reason) => {
  const text =
    reason instanceof Error ? (process.env.RUNSTREAM_DEBUG ? reason.stack : reason.message) : reason;
  process.stderr.write(
    `warning: a promise failed and nobody awaited it (see "Rules for a body" in the docs): ${text}\n`,
  );
});

const { runCli } = await import("./program.ts");
const exitCode = await runCli(process.argv.slice(2));
// Explicitly, since a user's module may have left something open.
process.stdout.write("", () => process.exit(exitCode));
