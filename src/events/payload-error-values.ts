/**
 * How an Error is carried: its built-in class, name, message, cause, the errors of an AggregateError, and the properties its author
 * added. Two Errors are equal when these are. The stack is not kept: it tells of one process, and would differ on every replay.
 */
export interface ErrorFields {
  class: string;
  name: string;
  message: string;
  cause?: unknown;
  errors?: unknown;
  properties?: Record<string, unknown>;
}

const BUILT_IN = new Map<unknown, string>();
const MAKERS = new Map<string, new (message: string) => Error>();
for (const make of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError]) {
  BUILT_IN.set(make.prototype, make.name);
  MAKERS.set(make.name, make);
}
BUILT_IN.set(AggregateError.prototype, AggregateError.name);
MAKERS.set(
  AggregateError.name,
  class {
    constructor(message: string) {
      // biome-ignore lint/correctness/noConstructorReturn: one signature for all makers
      return new AggregateError([], message);
    }
  } as new (
    message: string,
  ) => Error,
);

/** The name of the built-in Error class with this prototype; `undefined` for classes of anybody else. */
export const builtInErrorOf = (prototype: unknown): string | undefined => BUILT_IN.get(prototype);

/** Stands for an Error in a snapshot. It is one by prototype only, so that taking it captures no stack. */
export class ErrorSnapshot extends Error {
  declare readonly fields: ErrorFields;

  static of(fields: ErrorFields): ErrorSnapshot {
    const snapshot = Object.create(ErrorSnapshot.prototype) as { fields: ErrorFields };
    snapshot.fields = fields;
    return snapshot as ErrorSnapshot;
  }
}

const hide = (error: Error, key: string, value: unknown): void => {
  Object.defineProperty(error, key, { value, writable: true, enumerable: false, configurable: true });
};

/** Throws a TypeError for fields that describe no Error. */
export const restoreError = (fields: ErrorFields): Error => {
  const make = MAKERS.get(fields.class);
  if (make === undefined || typeof fields.message !== "string" || typeof fields.name !== "string") {
    throw new TypeError("not the fields of an Error");
  }
  const error = new make(fields.message);
  if (error.name !== fields.name) error.name = fields.name;
  if ("cause" in fields) hide(error, "cause", fields.cause);
  if ("errors" in fields) hide(error, "errors", fields.errors);
  hide(error, "stack", `${fields.name}: ${fields.message}`);
  for (const [key, value] of Object.entries(fields.properties ?? {})) {
    Object.defineProperty(error, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return error;
};
