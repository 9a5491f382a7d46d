/** What a body threw, and what follows from it. The values themselves are stored as they are, so far as they can be stored. */
import { types } from "node:util";
import { FatalError, messageOf } from "../engine/step-errors.ts";
import { fieldOf, nameOf } from "./thrown.ts";

const DEFAULT_RETRY_SECONDS = 1;

/** An abort is final: trying again would only be aborted again. Everything else comes back as it is. */
export const withAbortsFinal = (thrown: unknown): unknown => {
  if (nameOf(thrown) !== "AbortError") return thrown;
  return withStackOf(new FatalError(`Aborted: ${messageOf(thrown)}`), thrown);
};

/** Whether trying again cannot help: a `FatalError` of anybody's, or an error that says so itself. */
export const isFatal = (thrown: unknown): boolean =>
  nameOf(thrown) === "FatalError" || fieldOf(thrown, "fatal") === true;

/** When a `RetryableError` wants to be tried again; `undefined` for every other value, and for one that names no instant. */
export const retryInstantOf = (thrown: unknown): Date | undefined => {
  if (nameOf(thrown) !== "RetryableError") return undefined;
  const retryAfter = fieldOf(thrown, "retryAfter");
  return types.isDate(retryAfter) && !Number.isNaN(retryAfter.getTime()) ? retryAfter : undefined;
};

/** The seconds until then, rounded up; at least 1, and 1 where no instant is named. */
export const secondsUntil = (instant: Date | undefined, nowMs: number): number =>
  instant === undefined
    ? DEFAULT_RETRY_SECONDS
    : Math.max(DEFAULT_RETRY_SECONDS, Math.ceil((instant.getTime() - nowMs) / 1000));

const retries = (count: number): string => `${count} ${count === 1 ? "retry" : "retries"}`;

/** The last try failed. */
export const failedAfterRetries = (stepName: string, maxRetries: number, thrown: unknown): FatalError =>
  withStackOf(
    new FatalError(`Step "${stepName}" failed after ${retries(maxRetries)}: ${messageOf(thrown)}`, {
      cause: thrown,
    }),
    thrown,
  );

/** It was started more often than it may be, without an end that anybody saw; `made` counts what came after the first try. */
export const exceededRetries = (stepName: string, made: number, cause?: unknown): FatalError =>
  new FatalError(
    `Step "${stepName}" exceeded max retries (${retries(made)})`,
    cause === undefined ? {} : { cause },
  );

/** No function is registered for it here. */
export const notRegistered = (stepName: string): FatalError =>
  new FatalError(
    `Step "${stepName}" is not registered in this deployment: look at its name, and at what the deployment contains`,
  );

const withStackOf = <E extends Error>(error: E, thrown: unknown): E => {
  const stack = fieldOf(thrown, "stack");
  if (typeof stack === "string") {
    Object.defineProperty(error, "stack", { value: stack, writable: true, configurable: true });
  }
  return error;
};

/** What can be stored of a value that cannot be. */
export const standInFor = (thrown: unknown): Error => {
  const message = messageOf(thrown);
  if (nameOf(thrown) === "FatalError") return withStackOf(new FatalError(message), thrown);
  const error = new Error(message);
  const name = nameOf(thrown);
  if (name !== undefined) Object.defineProperty(error, "name", { value: name, configurable: true });
  return withStackOf(error, thrown);
};
