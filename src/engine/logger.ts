/**
 * Logger: where the engine tells an operator what it did. It is not a run's progress (progress-streams.ts) and not its history
 * (the log itself); nothing may depend on what is written here.
 *
 * Invariants:
 * - G1 Logging never throws, whatever the fields are.
 * - G2 One record is one line.
 */
import { inspect } from "node:util";

export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

const nothing = (): void => undefined;

/** Drops every record. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** Writes one line per record to stderr: level, message, then the fields as compact JSON. */
export const consoleLogger: Logger = {
  debug: (message, fields) => write("debug", message, fields),
  info: (message, fields) => write("info", message, fields),
  warn: (message, fields) => write("warn", message, fields),
  error: (message, fields) => write("error", message, fields),
};

const write = (level: keyof Logger, message: string, fields: Record<string, unknown> | undefined): void => {
  const tail = fields === undefined ? "" : ` ${fieldsAsJson(fields)}`;
  process.stderr.write(`${level} ${oneLine(message)}${tail}\n`);
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must not reach a terminal unescaped.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

const oneLine = (text: string): string =>
  String(text).replace(CONTROL, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** JSON itself escapes line breaks, so what it answers is one line already. */
const fieldsAsJson = (fields: Record<string, unknown>): string => {
  try {
    return JSON.stringify(fields, readable) ?? "{}";
  } catch {
    return fieldByField(fields);
  }
};

/** One odd field costs its own value, not the record. */
const fieldByField = (fields: Record<string, unknown>): string => {
  try {
    const parts = Object.keys(fields).map((key) => `${JSON.stringify(key)}:${fieldAsJson(fields, key)}`);
    return `{${parts.join(",")}}`;
  } catch {
    return '"[unprintable]"';
  }
};

const fieldAsJson = (fields: Record<string, unknown>, key: string): string => {
  try {
    const value = fields[key];
    try {
      return JSON.stringify(value, readable) ?? "null";
    } catch {
      return JSON.stringify(inspect(value, { breakLength: Number.POSITIVE_INFINITY, depth: 3 }));
    }
  } catch {
    return '"[unprintable]"';
  }
};

const readable = (_key: string, value: unknown): unknown => {
  if (typeof value === "bigint" || typeof value === "symbol") return String(value);
  if (typeof value === "function") return `[function ${value.name}]`;
  if (value instanceof Error) {
    return {
      name: value.name,
      message: value.message,
      ...(value.cause === undefined ? {} : { cause: value.cause }),
    };
  }
  if (value instanceof Map || value instanceof Set) return [...value];
  return value;
};
