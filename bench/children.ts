/**
 * Processes that a workload starts: workers to kill, callers next door. They run as a user's would: plain JavaScript that imports the
 * package as it is published. Both are built once, at the first need, into the folder of built files.
 */
import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { bundlePackage } from "../scripts/bundle.ts";

const PROJECT = join(import.meta.dirname, "..");
const BUILT = join(PROJECT, "bench-output", "built");

let built = false;

/** Makes ready what {@link startChild} needs, so that building does not fall into anything that is timed. */
export const prepareChildren = async (): Promise<void> => {
  if (built) return;
  rmSync(BUILT, { recursive: true, force: true });
  const compiler = join(PROJECT, "node_modules", "typescript", "bin", "tsc");
  const { stdout } = spawnSync(
    process.execPath,
    [compiler, "-p", join(import.meta.dirname, "tsconfig.json")],
    {
      encoding: "utf8",
    },
  );
  if (!existsSync(join(BUILT, "bench", "w5-worker.js")))
    throw new Error(`The worker processes could not be built:\n${stdout}`);
  rmSync(join(BUILT, "src"), { recursive: true });
  await bundlePackage(join(BUILT, "src"));
  built = true;
};

const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** Starts `bench/<name>.ts`, which {@link prepareChildren} has built. It talks by messages, and what it writes to stderr is seen. */
export const startChild = (name: string, args: readonly string[]): ChildProcess => {
  const child = fork(join(BUILT, "bench", `${name}.js`), [...args], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: ["--disable-warning=ExperimentalWarning"],
    // As the command line does by itself, and the guide to workers advises: what one process has compiled, the next one need not.
    env: { ...process.env, NODE_COMPILE_CACHE: join(BUILT, "compiled") },
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
};

/** The child's next message with this `kind`. Rejects when the child ends before it. */
export const messageOf = <T>(child: ChildProcess, kind: string): Promise<T> =>
  new Promise((resolve, reject) => {
    const hear = (message: unknown): void => {
      if ((message as { readonly kind?: unknown }).kind !== kind) return;
      child.off("message", hear).off("exit", ended);
      resolve(message as T);
    };
    const ended = (code: number | null, signal: string | null): void => {
      child.off("message", hear);
      reject(new Error(`A worker process ended (${signal ?? code}) before it said ${JSON.stringify(kind)}.`));
    };
    child.on("message", hear).once("exit", ended);
  });

/** Asks the child to end in good order, and waits until it has. */
export const endChild = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  await ended;
};
