/** What `runWorkflow` takes, and what it hands back: one run, seen and driven by a test. */
import type { JournalStore, RunStatus } from "../engine/journal-store.ts";
import type { DeterminismKind } from "../engine/keys.ts";
import type { Logger } from "../engine/logger.ts";

export type RunWorkflowOptions = {
  /**
   * Kills the first delivery that reaches this step: after the attempt was charged, before the body runs, as a worker dies that loses
   * its power there. It happens once. `"read"` means the step of exactly that name.
   */
  crashAt?: string;
  /** Where the run lives. Default: a new journal in memory. Hand one over to put two runs in one world. */
  journal?: JournalStore;
  /** Default: silent. */
  logger?: Logger;
  /** How many deliveries the run may take, restarts included, before a method rejects. Default {@link DEFAULT_MAX_DELIVERIES}. */
  maxDeliveries?: number;
  /** The key under which the workflow is declared: what the body reads as `ctx.workflow`. Default `"workflow"`. */
  name?: string;
};

/** A settled step. Instants are left out on purpose: a test that could see them would come to depend on them. */
export type WorkflowTestStep = {
  /** `<name>#<occurrence>` */
  readonly key: string;
  readonly name: string;
  readonly status: "ok" | "failed";
  readonly output?: unknown;
  /** Why it failed: present when it did. */
  readonly error?: string;
  /** Tries of the delivery that settled it, the settling one included. */
  readonly attempts: number;
};

/** What `ctx.now()`, `ctx.random()` or `ctx.uuid()` answered, and answers on every later walk. */
export type WorkflowTestRead = {
  /** `now!0`, `random!0`, `uuid!0`, … */
  readonly key: string;
  readonly kind: DeterminismKind;
  readonly value: unknown;
};

/** The run after the last thing that was done to it. `R` is what the body returns. */
export type WorkflowTestRun<R> = {
  readonly runId: string;
  /** A run that waits is `running`. */
  readonly status: RunStatus;
  /** Present once `completed`. */
  readonly output: R | undefined;
  /** The message, once `failed`. */
  readonly error: string | undefined;
  /** The settled steps by name, then by occurrence as a number: an order that does not depend on how fast anything was. */
  readonly steps: readonly WorkflowTestStep[];
  /** The determinism reads, in the same order. They are not among the steps. */
  readonly reads: readonly WorkflowTestRead[];
  /** The deadline the run waits for, in epoch milliseconds; `undefined` when it waits for none. */
  readonly wakeAt: number | undefined;
  /** How often the body was walked, or could have been: 1 for the start, 1 more for each resumption. */
  readonly deliveries: number;
  /** Was a delivery killed by `crashAt`? */
  readonly crashed: boolean;
};

/** A run, and what a test may do to it. Every method but `close` answers this same handle, whose fields are then up to date. */
export type WorkflowTestHandle<R> = WorkflowTestRun<R> & {
  /** The journal in which the run lives, as the engine sees it. */
  readonly journal: JournalStore;
  /** Did the last `signal` find somebody waiting? */
  readonly signalled: boolean;
  /**
   * Cuts the run's sleeps short and delivers it: all of them, or those that declared one of `correlationIds`. No clock moves, and a
   * hook's window is not reached: see `expireWaits`.
   */
  advanceSleep(correlationIds?: readonly string[]): Promise<WorkflowTestHandle<R>>;
  /** Answers the wait on `token` and delivers the run; `signalled` says whether anybody waited. */
  signal(token: string, payload?: unknown): Promise<WorkflowTestHandle<R>>;
  /**
   * Delivers the run as if every hook's window it reaches had closed. A hook that was answered stays answered. Sleeps are not touched,
   * no clock moves, and the recorded deadlines stay what they are.
   */
  expireWaits(): Promise<WorkflowTestHandle<R>>;
  /** Throws the engine away, makes a new one over the same journal, and delivers the run. */
  restart(): Promise<WorkflowTestHandle<R>>;
  /** Stops the engine: later dispatches go nowhere. */
  close(): Promise<void>;
};
