/** RequestError: what was asked of the client cannot be done as it was asked. Nothing was recorded. Told apart by `reason`. */
export type RequestReason = "UnknownWorkflow" | "InvalidInput" | "Timeout";

export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly reason: RequestReason;

  constructor(reason: RequestReason, message: string) {
    super(message);
    this.reason = reason;
  }

  static is(value: unknown): value is RequestError {
    return value instanceof Error && value.name === "RequestError";
  }
}
