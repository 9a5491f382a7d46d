/**
 * How a run writes its thread: one change after another, and not one whole checkpoint after another.
 *
 * A checkpoint is cumulative, so that writing n of them whole costs n² values. A run therefore says what each checkpoint *adds*. A
 * checkpointer that understands changes (it has the method `OPEN_THREAD`) is told those; any other one is handed the whole
 * checkpoints, which are made for it. Not part of the public API.
 *
 * Invariants:
 * - W1 Changes are written in the order of their numbers, one call of `write` at a time. What gathers while a call is under way goes
 *   into the next one.
 * - W2 `write` resolves when all its changes are durable and rejects when none is known to be. After a rejection it is not called again.
 * - W3 What a change holds is never altered afterwards: a writer may keep it without copying.
 */
import type { GraphCheckpoint, GraphCheckpointer, GraphStatus, PendingInterrupt } from "./graph-types.ts";
import { migrateCheckpoint } from "./migration.ts";
import type { StepRecovery } from "./types.ts";

/** What a run began from; only its first change says it. */
export interface RunBeginning {
  /** `invoke` starts from nothing: no steps, no answers, no questions asked. The others go on from `latest`. */
  readonly from: "invoke" | "resume" | "continue";
  readonly input: unknown;
}

/** A step that settled in this run. */
export interface SettledStep {
  readonly name: string;
  readonly key: string;
  /** As in `WorkflowState.steps`: without `value` for a result `undefined`. */
  readonly record: { readonly value?: unknown; readonly recovered?: StepRecovery };
}

/** What one checkpoint adds to the thread. Its number is the one before it plus 1. */
export interface CheckpointChange {
  readonly threadId: string;
  readonly workflow: string;
  /** The checkpoint's number. */
  readonly step: number;
  readonly status: GraphStatus;
  /** ISO-8601. */
  readonly createdAt: string;
  /** The same object in all changes of a run: a checkpoint's whole metadata. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** On the first change of a run, whatever its status. */
  readonly begins?: RunBeginning;
  /** On every `running` change but that of a recorded start. */
  readonly settled?: SettledStep;
  /** Answers this run was given, by the question's id: on its first change. They lie over earlier ones. */
  readonly answers?: ReadonlyMap<string, unknown>;
  /** On `awaiting_input`: all questions that wait. A question asked again is here again, with a new `step` and `requestedAt`. */
  readonly interrupts?: readonly PendingInterrupt[];
  /** On `awaiting_input`: by what each of these `interrupts` is known again, by its id. A checkpoint's `asked` holds all there ever were. */
  readonly asked?: ReadonlyMap<string, string>;
  /** On `completed`; without `value` where the function returned `undefined`. Earlier outputs end with the first change of a run. */
  readonly output?: { readonly value?: unknown };
  /** On `failed`. */
  readonly error?: { readonly name: string; readonly message: string };
  /** On `interrupted`, when a drain ended the run. */
  readonly drained?: { readonly reason?: string; readonly at: string };
  /** The whole checkpoint, made when asked for: it costs as much as the thread has steps. */
  whole(): GraphCheckpoint;
}

/** A thread that was opened for one run. */
export interface ThreadWriter {
  /** The thread's latest checkpoint when it was opened. */
  readonly latest: GraphCheckpoint | undefined;
  /** `write` is given one change at a time. Default: what has gathered. */
  readonly oneByOne?: boolean;
  /** Writes changes, all or none. */
  write(changes: readonly CheckpointChange[]): Promise<void>;
}

export const OPEN_THREAD: unique symbol = Symbol.for("runstream.threads.open/1");

/** A checkpointer that takes changes. */
export interface ChangeCheckpointer extends GraphCheckpointer {
  /** Reads the thread and answers what a run writes it by. Whether somebody else wrote meanwhile is for `write` to find out. */
  [OPEN_THREAD](threadId: string): Promise<ThreadWriter>;
}

const takesChanges = (checkpointer: GraphCheckpointer): checkpointer is ChangeCheckpointer =>
  OPEN_THREAD in checkpointer;

/** Opens a thread of any checkpointer; `false` is one that keeps nothing. */
export const openThread = async (
  checkpointer: GraphCheckpointer | false,
  threadId: string,
): Promise<ThreadWriter> => {
  if (checkpointer === false) return { latest: undefined, write: async () => {} };
  if (takesChanges(checkpointer)) return checkpointer[OPEN_THREAD](threadId);
  const stored = await checkpointer.get(threadId);
  return {
    latest: stored === undefined ? undefined : migrateCheckpoint(stored),
    oneByOne: true,
    async write(changes) {
      for (const change of changes) await checkpointer.put(change.whole());
    },
  };
};
