/** RequestError: what was asked of the client cannot be done as it was asked. Nothing was recorded. Told apart by `reason`. */
export type RequestReason =
  /** The workflow is not declared here. */
  | "UnknownWorkflow"
  /** The input, or another argument, is not what can be recorded or what the workflow accepts. */
  | "InvalidInput"
  /** The run was not over in time. */
  | "Timeout"
  /** This Runstream was stopped. */
  | "Stopped";

export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly reason: RequestReason;

  constructor(reason: RequestReason, message: string) {
    super(message);
    this.reason = reason;
  }

  static is(value: unknown, reason?: RequestReason): value is RequestError {
    return (
      value instanceof Error &&
      value.name === "RequestError" &&
      (reason === undefined || (value as RequestError).reason === reason)
    );
  }
}
