/**
 * A value that no payload can carry, in words for its author: where it is and why. Not for bytes that cannot be read back: those are
 * somebody else's mistake and may be readable the next time.
 */
import { DevalueError } from "devalue";

/** Thrown for a value that cannot be stored. It is `fatal`: the same step would return the same value again. */
export class SerializationError extends Error {
  override readonly name = "SerializationError";
  readonly fatal = true;

  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
  }
}

/** What serialising threw, as the error to report; `what` says which value it was. */
export const serializationErrorOf = (what: string, cause: unknown): SerializationError => {
  if (cause instanceof SerializationError) return cause;
  const path = cause instanceof DevalueError ? cause.path : "";
  const place = path === "" || path === undefined ? "" : ` at ${path.replace(/^\./, "")}`;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new SerializationError(
    `${what} cannot be stored${place}: ${reason}. Return plain data, or give the class a serialised form`,
    { cause },
  );
};
