/** What every command gets: the options of the program, and a way to say how it ended. */
import { InvalidArgumentError } from "commander";

export interface GlobalOptions {
  readonly db: string;
  readonly json?: true;
}

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
