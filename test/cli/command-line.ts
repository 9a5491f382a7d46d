/** The real command line in processes of its own, in folders of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, inject, vi } from "vitest";

// Every test starts processes, and machines that test are busy.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });

const MAIN = inject("commandLine");
export const EXAMPLES = resolve(import.meta.dirname, "../../examples");
export const LIBRARY = resolve(import.meta.dirname, "../../src/index.ts");

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when what was printed so far, on either stream, holds `text`; rejects when the process ends without it. */
  says(text: string | RegExp): Promise<void>;
}

const folders: string[] = [];
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A new empty folder, removed after the tests of the file. */
export const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), "runstream-cli-"));
  folders.push(path);
  return path;
};

export const write = (inFolder: string, name: string, text: string): string => {
  const path = join(inFolder, name);
  writeFileSync(path, text);
  return path;
};

interface Where {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Another program than the command line. */
  readonly program?: string;
}

export const launch = (args: readonly string[], { cwd, env = {}, input, program = MAIN }: Where): Running => {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("RUNSTREAM_") && name !== "FORCE_COLOR",
  );
  const child = spawn(process.execPath, [program, ...args], {
    cwd,
    env: { ...Object.fromEntries(inherited), ...env },
  });
  children.add(child);
  child.stdin.on("error", () => {});
  child.stdin.end(input ?? "");
  let stdout = "";
  let stderr = "";
  const listeners = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    for (const listener of listeners) listener();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    for (const listener of listeners) listener();
  });
  const ended = new Promise<Ended>((done) => {
    child.once("close", (code) => {
      children.delete(child);
      done({ code, stdout, stderr });
    });
  });
  const says = (text: string | RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const said = stdout + stderr;
        if (typeof text === "string" ? !said.includes(text) : !text.test(said)) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
      void ended.then(() =>
        reject(new Error(`The process ended without saying ${String(text)}. It said:\n${stdout}${stderr}`)),
      );
    });
  return { child, ended, says };
};

/** Runs one command line to its end. */
export const runstream = (args: readonly string[], where: Where): Promise<Ended> => launch(args, where).ended;

export const lines = (text: string): unknown[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as unknown);
