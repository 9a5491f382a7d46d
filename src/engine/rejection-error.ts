/**
 * RejectionError: a decision's rejection at the edge of the API, as an error somebody can read. Told apart by `reason`.
 *
 * `Superseded` is the engine's own: the walk that proposed it goes by facts that the stream has overtaken, and will be done again.
 */
export type RejectionReason =
  | "RunExists"
  | "RunMissing"
  | "RunSettled"
  | "PayloadsErased"
  | "PayloadsLocked"
  | "Superseded";

const sentences: Record<RejectionReason, (runId: string) => string> = {
  RunExists: (runId) =>
    `Run ${JSON.stringify(runId)} exists already. Start it under another id, or read the one there is.`,
  RunMissing: (runId) =>
    `There is no run ${JSON.stringify(runId)}. Check the id, and that this is the store it was started on.`,
  RunSettled: (runId) =>
    `Run ${JSON.stringify(runId)} is over, and nothing changes a settled run. Start a new one.`,
  PayloadsErased: (runId) =>
    `The payloads of run ${JSON.stringify(runId)} are sealed and its key is gone, so nothing can go on from them. Its history can be ` +
    "read, and the run can be cancelled. If the key was not deleted on purpose, let the keys answer it again; nothing was lost.",
  PayloadsLocked: (runId) =>
    `The payloads of run ${JSON.stringify(runId)} are sealed, and the store was opened without keys. Open it with payloads.keys (on ` +
    "the command line with --keys); nothing was lost.",
  Superseded: (runId) =>
    `This walk of run ${JSON.stringify(runId)} was overtaken by newer facts; the run is walked again.`,
};

export class RejectionError extends Error {
  override readonly name = "RejectionError";
  readonly reason: RejectionReason;
  readonly runId: string;

  constructor(reason: RejectionReason, runId: string) {
    super(sentences[reason](runId));
    this.reason = reason;
    this.runId = runId;
  }

  static is(value: unknown, reason?: RejectionReason): value is RejectionError {
    return (
      value instanceof Error &&
      value.name === "RejectionError" &&
      (reason === undefined || (value as RejectionError).reason === reason)
    );
  }
}
