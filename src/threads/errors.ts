/**
 * What a thread's run can say went wrong, each with a code. Not here: what a step's body throws, which reaches the caller as the same
 * object, and what a checkpointer throws.
 */
import { types } from "node:util";
import type { GraphStatus } from "./graph-types.ts";

const GRAPH_ERROR = Symbol.for("runstream.GraphError");

/**
 * The base of these errors, told apart by `code`. A step's body that throws one is not tried again by default.
 *
 * Thrown itself with `GRAPH_VALIDATION_ERROR` (a thread of another tenant), `WORKFLOW_NO_CHECKPOINTER` (a question where nothing is
 * recorded), and `WORKFLOW_RUN_ENDED` (the context was used after its run).
 */
export class GraphError extends Error {
  override readonly name: string = "GraphError";
  readonly code: string;

  constructor(message: string, code: string, options: { cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
  }

  /** By a brand, not by class identity: two copies of this package may be loaded. True for its subclasses too. */
  static is(value: unknown): value is GraphError {
    return value instanceof Error && (value as { [GRAPH_ERROR]?: unknown })[GRAPH_ERROR] === true;
  }

  static {
    Object.defineProperty(GraphError.prototype, GRAPH_ERROR, { value: true });
  }
}

/** Is it one of these errors, with this code? */
export const hasCode = (value: unknown, code: string): boolean => GraphError.is(value) && value.code === code;

/** An attempt of a step exceeded a limit. Tried again as the step's policy says. */
export class WorkflowStepTimeoutError extends GraphError {
  override readonly name: string = "WorkflowStepTimeoutError";
  readonly stepName: string;
  /** The limit, in milliseconds. */
  readonly timeoutMs: number;
  /** `run`: the whole attempt's; `idle`: the one between two heartbeats. */
  readonly kind: "run" | "idle";

  constructor(stepName: string, timeoutMs: number, kind: "run" | "idle" = "run") {
    const step = `Step ${JSON.stringify(stepName)}`;
    super(
      kind === "idle"
        ? `${step} has shown no progress for ${timeoutMs} ms. Call heartbeat() more often, or raise timeout.idleMs.`
        : `${step} has exceeded its timeout of ${timeoutMs} ms. Raise timeoutMs, or let its body do less.`,
      "WORKFLOW_STEP_TIMEOUT",
    );
    this.stepName = stepName;
    this.timeoutMs = timeoutMs;
    this.kind = kind;
  }

  static override is(value: unknown): value is WorkflowStepTimeoutError {
    return hasCode(value, "WORKFLOW_STEP_TIMEOUT");
  }
}

/** There is nothing to go on from: no checkpoint of this thread, or none that this tenant may see. */
export class GraphThreadNotFoundError extends GraphError {
  override readonly name: string = "GraphThreadNotFoundError";
  readonly threadId: string;

  constructor(threadId: string) {
    super(
      `There is no thread ${JSON.stringify(threadId)}. Check the id, and that this is the checkpointer it was recorded in.`,
      "GRAPH_THREAD_NOT_FOUND",
    );
    this.threadId = threadId;
  }

  static override is(value: unknown): value is GraphThreadNotFoundError {
    return hasCode(value, "GRAPH_THREAD_NOT_FOUND");
  }
}

/** The thread waits for no answer. */
export class GraphNotInterruptedError extends GraphError {
  override readonly name: string = "GraphNotInterruptedError";
  readonly threadId: string;
  /** What it is instead. */
  readonly status: GraphStatus;

  constructor(threadId: string, status: GraphStatus) {
    super(
      `Thread ${JSON.stringify(threadId)} is not awaiting input: it is ${status}. Use continue() to run it on.`,
      "GRAPH_NOT_INTERRUPTED",
    );
    this.threadId = threadId;
    this.status = status;
  }

  static override is(value: unknown): value is GraphNotInterruptedError {
    return hasCode(value, "GRAPH_NOT_INTERRUPTED");
  }
}

/** A drain ended the run; `continue()` carries the thread on, here or elsewhere. */
export class GraphDrainedError extends GraphError {
  override readonly name: string = "GraphDrainedError";
  readonly threadId: string;
  /** The number of the checkpoint it ended with. */
  readonly step: number;
  declare readonly reason?: string;

  constructor(threadId: string, step: number, reason?: string) {
    const why = reason === undefined ? "" : ` (${reason})`;
    super(
      `Thread ${JSON.stringify(threadId)} was drained at checkpoint ${step}${why}. continue() runs what is left.`,
      "GRAPH_DRAINED",
    );
    this.threadId = threadId;
    this.step = step;
    if (reason !== undefined) this.reason = reason;
  }

  static override is(value: unknown): value is GraphDrainedError {
    return hasCode(value, "GRAPH_DRAINED");
  }
}

/** A tenant's id that cannot be part of a namespace. */
export class TenantIdError extends RangeError {
  override readonly name: string = "TenantIdError";
  readonly code = "TENANT_ID_INVALID";

  constructor(tenantId: unknown) {
    super(
      `${JSON.stringify(tenantId) ?? String(tenantId)} is no tenant id: it takes 1 to 128 letters, digits, "_" and "-".`,
    );
  }

  static is(value: unknown): value is TenantIdError {
    return value instanceof RangeError && (value as { code?: unknown }).code === "TENANT_ID_INVALID";
  }
}

/** What was thrown, as it is recorded: whatever it is, a name and a message. */
export const namedError = (thrown: unknown): { name: string; message: string } => {
  if (isErrorLike(thrown)) return { name: String(thrown.name), message: String(thrown.message) };
  return { name: "Error", message: textOf(thrown) };
};

/** The message of whatever was thrown, as `onEvent` hears it. */
export const errorText = (thrown: unknown): string => namedError(thrown).message;

const isErrorLike = (thrown: unknown): thrown is { readonly name: unknown; readonly message: unknown } =>
  types.isNativeError(thrown) || thrown instanceof Error;

const textOf = (thrown: unknown): string => {
  try {
    return String(thrown);
  } catch {
    return "a value that cannot be printed was thrown";
  }
};
