/**
 * What a World throws, and how it is recognised.
 *
 * Invariants:
 * - W1 An error is told by its `name` alone: a World may bring its own classes, from any package and any copy of it.
 * - W2 Every class here carries the name and the status that the Workflow SDK looks for.
 */
import { fieldOf, nameOf } from "./thrown.ts";

/** How a World says no. `status` is the HTTP status of the answer, `retryAfter` a number of seconds. */
export class WorkflowWorldError extends Error {
  override readonly name: string = "WorkflowWorldError";
  readonly status?: number;
  readonly code?: string;
  readonly retryAfter?: number;

  constructor(
    message: string,
    options: { status?: number; code?: string; retryAfter?: number; cause?: unknown } = {},
  ) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    if (options.status !== undefined) this.status = options.status;
    if (options.code !== undefined) this.code = options.code;
    if (options.retryAfter !== undefined) this.retryAfter = options.retryAfter;
  }
}

/** 409: the entity is over, or is there already. */
export class EntityConflictError extends WorkflowWorldError {
  override readonly name = "EntityConflictError";
  constructor(message: string) {
    super(message, { status: 409 });
  }
}

/** 410: the run is over or gone. */
export class RunExpiredError extends WorkflowWorldError {
  override readonly name = "RunExpiredError";
  constructor(message: string) {
    super(message, { status: 410 });
  }
}

/** 412: the caller decided on a view of the log that is no longer the newest. */
export class PreconditionFailedError extends WorkflowWorldError {
  override readonly name = "PreconditionFailedError";
  constructor(message: string, options: { retryAfter?: number } = {}) {
    super(message, { status: 412, ...options });
  }
}

/** 425: not before `retryAfter` seconds have passed. */
export class TooEarlyError extends WorkflowWorldError {
  override readonly name = "TooEarlyError";
  constructor(message: string, options: { retryAfter?: number } = {}) {
    super(message, { status: 425, ...options });
  }
}

/** 429: too many requests; again in `retryAfter` seconds. */
export class ThrottleError extends WorkflowWorldError {
  override readonly name = "ThrottleError";
  constructor(message: string, options: { retryAfter?: number } = {}) {
    super(message, { status: 429, ...options });
  }
}

/** No live hook has this token, or this id where it was asked for by that. */
export class HookNotFoundError extends Error {
  override readonly name = "HookNotFoundError";
  /** The token, or the id. */
  readonly token: string;
  constructor(token: string) {
    super(
      `No live hook has the token or id ${JSON.stringify(token)}: it was answered for good, disposed, or never opened`,
    );
    this.token = token;
  }
}

/** There is no such run. */
export class WorkflowRunNotFoundError extends Error {
  override readonly name = "WorkflowRunNotFoundError";
  readonly runId: string;
  constructor(runId: string) {
    super(`There is no run ${JSON.stringify(runId)}`);
    this.runId = runId;
  }
}

/** The run was made by a newer SDK than this World knows. */
export class RunNotSupportedError extends Error {
  override readonly name = "RunNotSupportedError";
  readonly runSpecVersion: number;
  readonly worldSpecVersion: number;
  constructor(runSpecVersion: number, worldSpecVersion: number) {
    super(
      `The run needs spec version ${runSpecVersion} and this World has ${worldSpecVersion}: use a newer World for it`,
    );
    this.runSpecVersion = runSpecVersion;
    this.worldSpecVersion = worldSpecVersion;
  }
}

/** The answers of a World that the executor acts on, by the error's name. */
export type WorldAnswer = "conflict" | "expired" | "tooEarly" | "throttled";

const ANSWERS: Readonly<Record<string, WorldAnswer>> = {
  EntityConflictError: "conflict",
  RunExpiredError: "expired",
  TooEarlyError: "tooEarly",
  ThrottleError: "throttled",
};

/** Which of these answers an error is; `undefined` for all others, 412 among them: they are not the executor's to interpret. */
export const worldAnswerOf = (error: unknown): WorldAnswer | undefined => {
  const name = nameOf(error);
  return name !== undefined && Object.hasOwn(ANSWERS, name) ? ANSWERS[name] : undefined;
};

/** The seconds that a World asks to wait: at least 1, and 1 where it names none. */
export const retryAfterSeconds = (error: unknown): number => {
  const retryAfter = fieldOf(error, "retryAfter");
  return typeof retryAfter === "number" && retryAfter > 1 ? retryAfter : 1;
};
