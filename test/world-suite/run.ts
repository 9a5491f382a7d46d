/**
 * Runs the Workflow SDK's own suite against Runstream's World. What it takes to run it is installed here at the first time, 250 MB of
 * it, and is no part of the project's own installation.
 *
 * The suite starts `node` by name: this process's own comes first in PATH. Arguments go to Vitest.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import process from "node:process";

const HERE = import.meta.dirname;
const PROJECT = join(HERE, "../..");
const env = { ...process.env, PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };

const run = (command: string, args: readonly string[]): void => {
  const { status, error } = spawnSync(command, args, { cwd: HERE, env, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
};

// Not `npm ci`: some of these packages name optional ones that registries do not have, and it then refuses the lock, which is kept to.
if (!existsSync(join(HERE, "node_modules"))) run("npm", ["install", "--no-save", "--ignore-scripts"]);
run(process.execPath, [join(PROJECT, "node_modules/typescript/bin/tsc"), "-p", "."]);
run(process.execPath, [join(HERE, "node_modules/vitest/vitest.mjs"), "run", ...process.argv.slice(2)]);
