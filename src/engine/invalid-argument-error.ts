/** An argument that cannot mean anything, refused where it was given. */
export class InvalidArgumentError extends Error {
  override readonly name = "InvalidArgumentError";
  readonly code = "RUNSTREAM_INVALID_ARGUMENT";

  /** By code, not by class identity: two copies of this package may be loaded. */
  static is(value: unknown): value is InvalidArgumentError {
    return value instanceof Error && (value as { code?: unknown }).code === "RUNSTREAM_INVALID_ARGUMENT";
  }
}
