/**
 * What a step's body is told about its attempt, and what code it calls finds as the current step: one object for both. A class, so that
 * the signal can be made when somebody asks for it, at no cost to the others.
 */
import type { CurrentStep } from "../step-context.ts";

/** A step's body gets it as its argument. */
export interface StepAttempt {
  readonly name: string;
  readonly key: string;
  /** From 1; of this walk or run. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** Aborted when the run is over or given up, and when this attempt exceeds a limit. */
  readonly signal: AbortSignal;
  /** Says that the attempt gets on: its idle limit starts again. Does nothing without one, nor once the attempt is over. */
  heartbeat(): void;
}

interface Source {
  readonly signal: AbortSignal;
  readonly heartbeat?: () => void;
}

interface Described {
  readonly name: string;
  readonly key: string;
  readonly maxAttempts: number;
}

const ignore = (): void => {};

export class AttemptContext implements StepAttempt, CurrentStep {
  readonly name: string;
  readonly key: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly heartbeat: () => void;
  readonly #source: Source;

  /** `source` is the attempt, or whatever has the signal where the attempt has no limits. */
  constructor({ name, key, maxAttempts }: Described, attempt: number, source: Source) {
    this.name = name;
    this.key = key;
    this.attempt = attempt;
    this.maxAttempts = maxAttempts;
    this.heartbeat = source.heartbeat ?? ignore;
    this.#source = source;
  }

  get signal(): AbortSignal {
    return this.#source.signal;
  }
}
