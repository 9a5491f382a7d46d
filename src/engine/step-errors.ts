/**
 * What a step's body may throw to say whether trying again can help, and how foreign failures become that. Not the engine's verdict
 * about a walk (refusals.ts) and not the store's trouble (StoreError).
 *
 * Invariants:
 * - E1 An error is recognised by a brand in the symbol registry, never by its class: two copies of this package may be loaded.
 * - E2 The brand is not enumerable, so neither logs nor comparisons show it.
 */
import { types } from "node:util";
import { parseRetryAfter } from "./retry-after.ts";

const FATAL = Symbol.for("runstream.FatalError");
const RETRYABLE = Symbol.for("runstream.RetryableError");

/** Wait before the next try of a `RetryableError` that names none, in milliseconds. */
export const DEFAULT_RETRY_DELAY_MS = 1000;

const hasBrand = (value: unknown, brand: symbol): boolean =>
  typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[brand] === true;

/** Marks a class so that its instances end a step's tries: `FatalError.is` holds for them. */
export const brandFatal = (type: { prototype: Error }): void => {
  Object.defineProperty(type.prototype, FATAL, { value: true });
};

/** Ends the tries of a step: it settles as failed at once, with this message. */
export class FatalError extends Error {
  override readonly name: string = "FatalError";
  readonly fatal = true;

  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
  }

  /** Also true for a `FatalError` of another copy of this package, and for the engine's own refusals. */
  static is(value: unknown): value is Error & { readonly fatal: true } {
    return hasBrand(value, FATAL);
  }

  static {
    brandFatal(FatalError);
  }
}

/**
 * Asks for another try, not before `retryAfter`.
 *
 * `retryAfter` is a number of milliseconds from now or an instant; default one second from now. The engine waits 30 seconds at most.
 * Throws `TypeError` when `retryAfter` is no instant (NaN, infinite, an invalid Date).
 */
export class RetryableError extends Error {
  override readonly name: string = "RetryableError";
  readonly retryAfter: Date;

  constructor(message: string, options: { retryAfter?: number | Date | undefined; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.retryAfter = instantOf(options.retryAfter ?? DEFAULT_RETRY_DELAY_MS);
  }

  /** Also true for a `RetryableError` of another copy of this package. */
  static is(value: unknown): value is Error & { readonly retryAfter: Date } {
    return hasBrand(value, RETRYABLE);
  }

  static {
    Object.defineProperty(RetryableError.prototype, RETRYABLE, { value: true });
  }
}

const instantOf = (retryAfter: number | Date): Date => {
  const at =
    typeof retryAfter === "number"
      ? new Date(Date.now() + retryAfter)
      : types.isDate(retryAfter)
        ? new Date(retryAfter.getTime())
        : undefined;
  if (at === undefined || Number.isNaN(at.getTime())) {
    throw new TypeError(
      `RetryableError: retryAfter must be a number of milliseconds or a valid Date, and is ${describe(retryAfter)}`,
    );
  }
  return at;
};

const describe = (value: unknown): string =>
  typeof value === "number"
    ? String(value)
    : types.isDate(value)
      ? "an invalid Date"
      : `a value of type ${typeof value}`;

const isError = (value: unknown): value is Error => types.isNativeError(value) || value instanceof Error;

/** The text of whatever was thrown. Never throws. */
export const messageOf = (thrown: unknown): string => {
  try {
    if (typeof thrown === "object" && thrown !== null) {
      const { message } = thrown as { message?: unknown };
      return typeof message === "string" ? message : (JSON.stringify(thrown) ?? String(thrown));
    }
    return String(thrown);
  } catch {
    return "a value that cannot be printed was thrown";
  }
};

/** The parts of a `Response` that decide; any fetch's own will do. */
type HttpAnswer = {
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly url: string;
  readonly headers: { get(name: string): string | null };
};

const isHttpAnswer = (value: unknown): value is HttpAnswer => {
  if (typeof value !== "object" || value === null || isError(value)) return false;
  const answer = value as Partial<HttpAnswer>;
  return (
    typeof answer.status === "number" &&
    typeof answer.ok === "boolean" &&
    typeof answer.headers?.get === "function"
  );
};

/** Without credentials, query and fragment: they may be secrets, and the message is stored. */
const describeAnswer = (answer: HttpAnswer): string => {
  const url = URL.canParse(answer.url) ? new URL(answer.url) : undefined;
  const from = url === undefined ? "" : ` from ${url.origin}${url.pathname}`;
  return `HTTP ${answer.status}${answer.statusText ? ` ${answer.statusText}` : ""}${from}`;
};

const mayPass = (status: number): boolean => status === 408 || status === 429 || status >= 500;

/**
 * The error to throw for a foreign failure.
 *
 * A `Response` becomes a `RetryableError` for 408, 429 and 5xx, honouring `Retry-After`, else a `FatalError`. An error that says
 * `retryable`, or names a `retryAfter` (milliseconds, a Date, or the header's text), becomes the like. Every other error comes back
 * unchanged; what is no error is wrapped in one.
 */
export const toStepError = (cause: unknown, message?: string): Error => {
  if (isHttpAnswer(cause)) {
    const text = message ?? describeAnswer(cause);
    if (!mayPass(cause.status)) return new FatalError(text, { cause });
    return new RetryableError(text, {
      retryAfter: parseRetryAfter(cause.headers.get("retry-after"), Date.now()),
      cause,
    });
  }
  if (!isError(cause)) return new Error(message ?? messageOf(cause), { cause });
  if (FatalError.is(cause) || RetryableError.is(cause)) return cause;
  const { retryable, retryAfter } = cause as Error & { retryable?: unknown; retryAfter?: unknown };
  if (retryable === false) return new FatalError(message ?? cause.message, { cause });
  const after = foreignRetryAfter(retryAfter);
  if (retryable !== true && after === undefined) return cause;
  return new RetryableError(message ?? cause.message, { retryAfter: after, cause });
};

const foreignRetryAfter = (value: unknown): Date | undefined => {
  if (typeof value === "string") return parseRetryAfter(value, Date.now());
  const at =
    typeof value === "number"
      ? new Date(Date.now() + value)
      : types.isDate(value)
        ? new Date(value.getTime())
        : undefined;
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at;
};

/** Throws a `FatalError` for a failure that trying again cannot cure; one that is fatal already is thrown as it is. */
export const throwFatalStepError = (cause: unknown, message?: string): never => {
  if (FatalError.is(cause) && message === undefined) throw cause;
  throw new FatalError(message ?? (isHttpAnswer(cause) ? describeAnswer(cause) : messageOf(cause)), {
    cause,
  });
};
