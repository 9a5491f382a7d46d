/**
 * JSON from the command line: the text itself, or `@file`, or `@-` for standard input. What does not parse is answered with the place.
 */
import { readFileSync } from "node:fs";
import { jsonFault } from "./json-fault.ts";
import { usageError } from "./usage-error.ts";

/** The value of `argument`, which was given for `option`. Throws a usage error that names option, file, line and column. */
export const jsonArgument = (option: string, argument: string): unknown => {
  const from = argument.startsWith("@") ? argument.slice(1) : undefined;
  const text = from === undefined ? argument : readText(option, from);
  try {
    return JSON.parse(text);
  } catch (cause) {
    const source = from === undefined ? option : `${option} (${from === "-" ? "standard input" : from})`;
    throw usageError(`${source} is not JSON: ${placed(text)}`, cause);
  }
};

/** As {@link jsonArgument}, for what has to be a JSON object. */
export const jsonObjectArgument = (option: string, argument: string): Record<string, unknown> => {
  const value = jsonArgument(option, argument);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  const kind = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
  throw usageError(`${option} must be a JSON object, such as '{"name":"Ada"}', and is ${kind}.`);
};

const readText = (option: string, file: string): string => {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw usageError(`${option} cannot be read from ${JSON.stringify(file)}: ${why}`, cause);
  }
};

const SHOWN = 30;

const placed = (text: string): string => {
  const { at, expected } = jsonFault(text) ?? { at: text.length, expected: "JSON" };
  const before = text.slice(0, at).split("\n");
  const line = before.length;
  const column = before.at(-1)!.length + 1;
  const lineText = text.split("\n")[line - 1] ?? "";
  const from = Math.max(0, column - 1 - SHOWN);
  const excerpt = lineText.slice(from, column - 1 + SHOWN);
  const found =
    at >= text.length ? "it ends" : `there is ${JSON.stringify(String.fromCodePoint(text.codePointAt(at)!))}`;
  return `line ${line}, column ${column}: expected ${expected}, but ${found}.\n  ${excerpt}\n  ${" ".repeat(column - 1 - from)}^`;
};
