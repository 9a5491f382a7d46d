/** What went wrong, in words for the terminal and as an exit code. Stack traces are for those who ask (`RUNSTREAM_DEBUG`). */
import { CommanderError } from "commander";
import { CliError, EXIT } from "./usage-error.ts";

export interface Failure {
  readonly exitCode: number;
  /** Absent where it was said already. */
  readonly message?: string;
}

const SAID_HELP = ["commander.helpDisplayed", "commander.version"];
/** Errors of the library that mean a wrong request. Told by name: the module may have loaded another copy of it. */
const USAGE_ERRORS = ["RequestError", "InvalidCursorError", "PayloadError", "InvalidArgumentError"];

export const failureOf = (error: unknown): Failure => {
  if (error instanceof CommanderError)
    return { exitCode: SAID_HELP.includes(error.code) ? EXIT.ok : EXIT.usage };
  const debug = (process.env.RUNSTREAM_DEBUG ?? "") !== "";
  if (!(error instanceof Error)) return { exitCode: EXIT.failed, message: String(error) };
  const message = debug ? withCauses(error) : error.message;
  if (error instanceof CliError) return { exitCode: error.exitCode, message };
  return { exitCode: USAGE_ERRORS.includes(error.name) ? EXIT.usage : EXIT.failed, message };
};

const withCauses = (error: Error): string => {
  const stack = error.stack ?? error.message;
  return error.cause instanceof Error ? `${stack}\ncaused by: ${withCauses(error.cause)}` : stack;
};
