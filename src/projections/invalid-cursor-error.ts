/**
 * InvalidCursorError: a page was asked for with a cursor that no listing made. The caller's mistake; nothing was read.
 */
export class InvalidCursorError extends Error {
  override readonly name = "InvalidCursorError";
  readonly cursor: string;

  constructor(cursor: string) {
    super(
      "The cursor is none that a listing answered. Pass the cursor of the page before, unchanged, or none to begin again.",
    );
    this.cursor = cursor;
  }

  /** By name, not by class identity: two copies of this package may be loaded. */
  static is(value: unknown): value is InvalidCursorError {
    return value instanceof Error && value.name === "InvalidCursorError";
  }
}
