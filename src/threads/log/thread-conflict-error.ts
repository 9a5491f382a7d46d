/** ThreadConflictError: two workers carried on one thread, and this one's record came second. Nothing of it was written. */
import { GraphError, hasCode } from "../errors.ts";

export class ThreadConflictError extends GraphError {
  override readonly name = "ThreadConflictError";
  readonly threadId: string;
  /** The last revision of the thread's stream that this worker knew of; -1: it took the thread for a new one. */
  readonly revision: number;

  constructor(threadId: string, revision: number) {
    super(
      `Thread ${JSON.stringify(threadId)} was carried on by another worker meanwhile (this one knew it up to revision ${revision}). Nothing of this run was written over what the other one wrote. Look at the thread's state before you continue it.`,
      "THREAD_CONFLICT",
    );
    this.threadId = threadId;
    this.revision = revision;
  }

  static override is(value: unknown): value is ThreadConflictError {
    return hasCode(value, "THREAD_CONFLICT");
  }
}
