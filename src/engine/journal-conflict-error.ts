/**
 * JournalConflictError: the journal refused a call on the run's own merits (a token another live wait holds). Trying again cannot
 * change it, so the run fails, where any other rejection of a journal means that the store could not be asked.
 */
export class JournalConflictError extends Error {
  override readonly name = "JournalConflictError";

  /** By name, not by class identity: two copies of this package may be loaded. */
  static is(value: unknown): value is JournalConflictError {
    return value instanceof Error && value.name === "JournalConflictError";
  }
}
