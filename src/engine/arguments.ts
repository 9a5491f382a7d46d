/**
 * Arguments of the context that TypeScript lets through where a value has no type (`any`, plain JavaScript): refused at the call, because
 * an event that holds the wrong kind of value could be recorded and not be read back.
 */
import { InvalidArgumentError } from "./invalid-argument-error.ts";

/** `value` if it is a string. `what` begins the message. Throws {@link InvalidArgumentError}. */
export const textArgument = (what: string, value: unknown): string => {
  if (typeof value === "string") return value;
  throw new InvalidArgumentError(`${what} must be a string, and is ${kindOf(value)}`);
};

/** A number of tries: any number (what is below 1 means 1, `Infinity` no limit), and not NaN. Throws {@link InvalidArgumentError}. */
export const triesArgument = (what: string, value: unknown): number => {
  if (typeof value === "number" && !Number.isNaN(value)) return value;
  throw new InvalidArgumentError(`${what} must be a number, and is ${kindOf(value)}`);
};

const kindOf = (value: unknown): string => {
  if (value === undefined || value === null || Number.isNaN(value)) return String(value);
  return `a value of type ${typeof value}`;
};
