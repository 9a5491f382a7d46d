/**
 * Errors in a payload, by the tags of the Workflow SDK's format: the kind, the message, the stack, the cause, and what the kind has of
 * its own. An error of a class that is not in the table is an `Error` that kept its name.
 *
 * Invariants:
 * - F1 A kind is told by `name`, never by class: the SDK's errors, ours and those of another realm are the same.
 * - F2 Own properties that are plain values (a `code`, a `status`) are kept, in a field that other readers of the format skip.
 */
import { types } from "node:util";
import { FatalError, RetryableError } from "../engine/step-errors.ts";
import { type DecryptionContext, RuntimeDecryptionError } from "./encryption.ts";
import type { PayloadType } from "./payload-values.ts";

interface WrittenError {
  message: string;
  stack?: string | undefined;
  name?: string;
  cause?: unknown;
  errors?: unknown[];
  retryAfter?: number;
  context?: DecryptionContext;
  token?: string;
  conflictingRunId?: string | undefined;
  props?: Record<string, unknown>;
}

const isError = (value: unknown): value is Error =>
  types.isNativeError(value) || (value instanceof Error && !(value instanceof DOMException));

const OWN_FIELDS = new Set([
  "name",
  "message",
  "stack",
  "cause",
  "errors",
  "retryAfter",
  "context",
  "token",
  "conflictingRunId",
]);

const isPlainValue = (value: unknown): boolean =>
  value === null || ["string", "number", "boolean", "bigint"].includes(typeof value);

const propsOf = (error: Error): Record<string, unknown> | undefined => {
  const implied = error.name === "FatalError" ? "fatal" : undefined;
  const props = Object.entries(error).filter(
    ([key, value]) => !OWN_FIELDS.has(key) && key !== implied && isPlainValue(value),
  );
  return props.length === 0 ? undefined : Object.fromEntries(props);
};

const written = (error: Error): WrittenError => {
  const props = propsOf(error);
  return {
    message: String(error.message),
    stack: error.stack,
    ...("cause" in error ? { cause: error.cause } : {}),
    ...(props === undefined ? {} : { props }),
  };
};

const restored = <E extends Error>(error: E, fields: WrittenError): E => {
  if (fields.stack !== undefined) {
    Object.defineProperty(error, "stack", { value: fields.stack, writable: true, configurable: true });
  }
  if (fields.props !== undefined) Object.assign(error, fields.props);
  return error;
};

const causeOf = (fields: WrittenError): { cause?: unknown } =>
  "cause" in fields ? { cause: fields.cause } : {};

const named = (name: string): ((value: unknown) => Error | undefined) => {
  return (value) => (isError(value) && value.name === name ? value : undefined);
};

type Extras = (error: Error) => Partial<WrittenError>;
const errorType = (
  name: string,
  make: (fields: WrittenError) => Error,
  extras: Extras = () => ({}),
): Record<string, PayloadType> => ({
  [name]: {
    write: (value) => {
      const error = named(name)(value);
      return error === undefined ? undefined : { ...written(error), ...extras(error) };
    },
    read: (fields: WrittenError) => restored(make(fields), fields),
  },
});

/** The SDK registers its classes under these symbols; where it is loaded its readers expect its own instances. */
const sdkClass = <T>(name: string, own: T): T => {
  const found = (globalThis as unknown as Record<symbol, T | undefined>)[
    Symbol.for(`@workflow/errors//${name}`)
  ];
  return found ?? own;
};

const instantOf = (value: unknown): number => {
  const at = types.isDate(value) ? value.getTime() : Number.NaN;
  return Number.isNaN(at) ? Date.now() : at;
};

const fatal = (fields: WrittenError): Error => {
  const error = new (sdkClass("FatalError", FatalError))(fields.message);
  if ("cause" in fields) Object.defineProperty(error, "cause", hidden(fields.cause));
  return error;
};

const retryable = (fields: WrittenError): Error => {
  const error = new (sdkClass("RetryableError", RetryableError))(fields.message, {
    retryAfter: new Date(fields.retryAfter ?? Date.now()),
  });
  if ("cause" in fields) Object.defineProperty(error, "cause", hidden(fields.cause));
  return error;
};

const hookConflict = (fields: WrittenError): Error => {
  const error = namedError("HookConflictError", fields);
  return Object.assign(error, { token: fields.token, conflictingRunId: fields.conflictingRunId });
};

const hidden = (value: unknown): PropertyDescriptor => ({ value, writable: true, configurable: true });

const namedError = (name: string, fields: WrittenError): Error => {
  const error = new Error(fields.message, causeOf(fields));
  if (name !== "Error") Object.defineProperty(error, "name", hidden(name));
  return error;
};

const NATIVE = [TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError] as const;

const domException: PayloadType = {
  write: (value) => {
    if (!(value instanceof DOMException)) return undefined;
    const { message, name, stack } = value;
    return { message, name, stack, ...("cause" in value ? { cause: value.cause } : {}) };
  },
  read: (fields: WrittenError) => {
    const error = new DOMException(fields.message, fields.name);
    if ("cause" in fields) Object.defineProperty(error, "cause", hidden(fields.cause));
    if (fields.stack !== undefined) Object.defineProperty(error, "stack", hidden(fields.stack));
    return error;
  },
};

/** Every kind of error; the last one takes whatever is an error at all. */
export const PAYLOAD_ERRORS: Readonly<Record<string, PayloadType>> = {
  DOMException: domException,
  ...errorType("FatalError", fatal),
  ...errorType("RetryableError", retryable, (error) => ({
    retryAfter: instantOf((error as { retryAfter?: unknown }).retryAfter),
  })),
  ...errorType("HookConflictError", hookConflict, (error) => {
    const { token, conflictingRunId } = error as { token?: string; conflictingRunId?: string };
    return { token: String(token), conflictingRunId };
  }),
  ...errorType(
    "RuntimeDecryptionError",
    (fields) =>
      new RuntimeDecryptionError(fields.message, {
        ...causeOf(fields),
        ...(fields.context === undefined ? {} : { context: fields.context }),
      }),
    (error) => {
      const { context } = error as { context?: DecryptionContext };
      return context === undefined ? {} : { context };
    },
  ),
  ...errorType(
    "AggregateError",
    (fields) => new AggregateError(fields.errors ?? [], fields.message, causeOf(fields)),
    (error) => ({ errors: [...((error as { errors?: Iterable<unknown> }).errors ?? [])] }),
  ),
  ...Object.assign(
    {},
    ...NATIVE.map((type) => errorType(type.name, (fields) => new type(fields.message, causeOf(fields)))),
  ),
  Error: {
    write: (value) => (isError(value) ? { name: String(value.name), ...written(value) } : undefined),
    read: (fields: WrittenError) => restored(namedError(fields.name ?? "Error", fields), fields),
  },
};
