/** What commands share: the options of the program and of a run that is recorded, and a way to say how a command ended. */
import { type Command, InvalidArgumentError } from "commander";

/** The store where neither the command nor the environment names one. */
const DEFAULT_STORE = "./runstream.db";

/** Which store, where its run index is kept if not in the usual place, and the module with the keys of sealed payloads. */
export interface StoreOptions {
  readonly store: string;
  readonly index?: string;
  readonly keys?: string;
}

export interface GlobalOptions extends StoreOptions {
  readonly json?: true;
}

/** The store of a command that names none. */
export const usualStore = (): string =>
  process.env.RUNSTREAM_STORE || process.env.RUNSTREAM_DB || DEFAULT_STORE;

export interface StartedRunOptions extends GlobalOptions {
  readonly input: string;
  readonly key?: string;
  readonly id?: string;
  readonly tenant?: string;
}

/** Gives a command the arguments and options of a run that it records. */
export const startedRun = (command: Command): Command =>
  command
    .argument("<module>", ".ts or .js file that exports workflows")
    .argument("[workflow]", "which of them; not needed where there is only one")
    .option(
      "-i, --input <json>",
      "the run's input, a JSON object; @file reads a file, @- standard input",
      "{}",
    )
    .option("--key <key>", "your own key of the run, not unique")
    .option("--id <id>", "your own id of the run, unique in the store")
    .option("--tenant <tenant>", "whom the run belongs to");

/** A command says by this how it ended, when it did not end well. */
export type SetExit = (code: number) => void;

/** A whole number of `least` or more, from the command line. */
export const wholeNumber =
  (least: number) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`It must be a whole number of ${least} or more.`);
  };

/** For an option that may be given several times. */
export const collect = (text: string, before: readonly string[] = []): string[] => [...before, text];
