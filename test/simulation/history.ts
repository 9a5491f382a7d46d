/** What a simulated world keeps of what its people and deliveries were told: the evidence of verdict.ts, beside the log. */
import type { Ledger } from "./ledger.ts";
import type { Program } from "./program.ts";
import type { Scheduler } from "./scheduler.ts";

/** What is known of one run from outside. */
export interface Ordered {
  readonly runId: string;
  readonly program: Program;
  /** The inputs of the calls of `start` that resolved. */
  readonly started: number[];
  readonly refused: number[];
  /** Up to this revision, its events have had their delivery. */
  delivered: number;
  /** Something happened that may make a body run twice. */
  disturbed: boolean;
  /** Starts of each step's body, by key. */
  readonly bodies: Map<string, number>;
  /** Answers of `cancel`: how many said that they ended the run, and how many nobody heard. */
  cancelled: number;
  cancelsUnheard: number;
  woken: number;
  /** Waits said to be cut short, and calls whose answer nobody heard. */
  wakesUnheard: number;
  /** Ends that deliveries reported. */
  readonly answers: Set<string>;
}

export interface SignalCall {
  readonly token: string;
  readonly id: number;
  answer: boolean | "unknown";
}

export interface History {
  readonly ledger: Ledger;
  readonly runs: readonly Ordered[];
  readonly signals: readonly SignalCall[];
  readonly scheduler: Scheduler;
  readonly turns: number;
}

export const orderRun = (runId: string, program: Program): Ordered => ({
  runId,
  program,
  started: [],
  refused: [],
  delivered: -1,
  disturbed: false,
  bodies: new Map(),
  cancelled: 0,
  cancelsUnheard: 0,
  woken: 0,
  wakesUnheard: 0,
  answers: new Set(),
});
