/**
 * StoreError: trouble with the store, for the operator. It is never a workflow's own error: a body cannot swallow it and it
 * uses up no attempt (law L9). It is told apart by `is`, not by class identity, because two copies of a package may be loaded.
 */
import type { AppendError } from "./event-log.ts";

export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly error: Exclude<AppendError, { _tag: "WrongExpectedRevision" }>;

  constructor(message: string, error: Exclude<AppendError, { _tag: "WrongExpectedRevision" }>) {
    super(message, "cause" in error ? { cause: error.cause } : undefined);
    this.error = error;
  }

  /** What the store holds cannot be read back. */
  static corrupt(reason: string, cause: unknown): StoreError {
    return new StoreError(reason, { _tag: "Corrupt", reason, cause });
  }

  static is(value: unknown): value is StoreError {
    return value instanceof Error && value.name === "StoreError";
  }
}
