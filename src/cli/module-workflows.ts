/**
 * Workflows out of a module of the user's: its exports that `workflow()` made, by the name they are exported under. A default export may
 * be one workflow, known by the file's name, or a record of them.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyWorkflowDef } from "../engine/workflow.ts";
import { nearest } from "./nearest.ts";
import { usageError } from "./usage-error.ts";

export type Workflows = Readonly<Record<string, AnyWorkflowDef>>;

/** Throws a usage error where the module is missing, cannot be imported, or exports no workflow. */
export const loadWorkflows = async (module: string): Promise<Workflows> => {
  const workflows = await loadExports(module, isWorkflow);
  if (Object.keys(workflows).length > 0) return workflows;
  throw usageError(
    `${module} exports no workflow. Export what workflow({ run }) returns, by name:\n  export const greet = workflow({ run: async (input, ctx) => … });`,
  );
};

/**
 * What of the module's exports passes `isOne`, by the name it is exported under.
 *
 * Throws a usage error where the module is missing or cannot be imported.
 */
export const loadExports = async <T>(
  module: string,
  isOne: (value: unknown) => value is T,
): Promise<Readonly<Record<string, T>>> => {
  const path = resolve(module);
  if (!existsSync(path))
    throw usageError(`There is no module ${JSON.stringify(module)} (looked for ${path}).`);
  return chosen(await importModule(module, path), basename(path, extname(path)), isOne);
};

/** The workflow called `name`; the only one where no name is given. Throws a usage error that lists the names, or suggests the near one. */
export const chooseWorkflow = (workflows: Workflows, name: string | undefined, module: string): string => {
  const names = Object.keys(workflows);
  if (name === undefined) {
    if (names.length === 1) return names[0]!;
    throw usageError(`${module} exports several workflows; say which one: ${names.join(", ")}.`);
  }
  if (Object.hasOwn(workflows, name)) return name;
  const near = nearest(name, names);
  const hint = near === undefined ? "" : ` Did you mean ${JSON.stringify(near)}?`;
  throw usageError(
    `${module} exports no workflow ${JSON.stringify(name)}.${hint} It exports: ${names.join(", ")}.`,
  );
};

const importModule = async (module: string, path: string): Promise<Record<string, unknown>> => {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  } catch (cause) {
    throw usageError(`${module} cannot be imported: ${importTrouble(cause, path)}`, cause);
  }
};

/** The first frame that is neither Node's nor this file's. */
const USER_FRAME = /^\s+at (?:.*\()?((?!node:)(?!\S*module-workflows)[^\s()]+:\d+):\d+\)?$/m;

/** What went wrong and where in the user's code. */
const importTrouble = (cause: unknown, path: string): string => {
  if (!(cause instanceof Error)) return String(cause);
  const { message, stack = "" } = cause;
  const excerpt = cause instanceof SyntaxError ? (excerptBefore(stack) ?? checkedSyntax(path)) : undefined;
  if (excerpt !== undefined) return `${message}\n${excerpt}`;
  const frame = USER_FRAME.exec(stack)?.[1];
  return frame === undefined ? message : `${message} (${frame})`;
};

/** Node puts the place of a syntax error in TypeScript before the error's name. */
const excerptBefore = (stack: string): string | undefined => {
  const excerpt = stack.slice(0, stack.search(/^SyntaxError/m)).trim();
  return excerpt === "" ? undefined : excerpt;
};

/** The place of a syntax error in JavaScript is told to nobody but the terminal, so that Node has to be asked once more. */
const checkedSyntax = (path: string): string | undefined => {
  const { stderr, status } = spawnSync(process.execPath, ["--check", path], { encoding: "utf8" });
  return status === 0 ? undefined : excerptBefore(stderr);
};

const chosen = <T>(
  exports: Record<string, unknown>,
  fileName: string,
  isOne: (value: unknown) => value is T,
): Readonly<Record<string, T>> => {
  const found: [string, T][] = [];
  for (const [name, value] of Object.entries(exports))
    if (name !== "default" && isOne(value)) found.push([name, value]);
  const byDefault = exports.default;
  if (isOne(byDefault)) {
    if (!found.some(([, value]) => value === byDefault)) found.push([fileName, byDefault]);
  } else if (typeof byDefault === "object" && byDefault !== null) {
    for (const [name, value] of Object.entries(byDefault)) if (isOne(value)) found.push([name, value]);
  }
  return Object.fromEntries(found);
};

const isWorkflow = (value: unknown): value is AnyWorkflowDef =>
  typeof value === "object" && value !== null && "run" in value && typeof value.run === "function";
