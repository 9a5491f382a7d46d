/** StepTimeoutError: a try of a step exceeded its limit. A failed try like any other: it is repeated as the step's options say. */
import type { LimitKind } from "./attempt.ts";

export class StepTimeoutError extends Error {
  override readonly name = "StepTimeoutError";
  readonly code = "RUNSTREAM_STEP_TIMEOUT";
  readonly stepName: string;
  /** The limit, in milliseconds. */
  readonly timeoutMs: number;
  /** `run`: the whole try's; `idle`: the one between two heartbeats. */
  readonly kind: LimitKind;

  constructor(stepName: string, timeoutMs: number, kind: LimitKind) {
    const step = `Step ${JSON.stringify(stepName)}`;
    super(
      kind === "idle"
        ? `${step} has shown no progress for ${timeoutMs} ms. Call heartbeat() more often, or raise timeout.idleMs.`
        : `${step} has exceeded its limit of ${timeoutMs} ms. Raise timeout.runMs, or let its body do less.`,
    );
    this.stepName = stepName;
    this.timeoutMs = timeoutMs;
    this.kind = kind;
  }

  /** By code, not by class identity: two copies of this package may be loaded. */
  static is(value: unknown): value is StepTimeoutError {
    return value instanceof Error && (value as { code?: unknown }).code === "RUNSTREAM_STEP_TIMEOUT";
  }
}
