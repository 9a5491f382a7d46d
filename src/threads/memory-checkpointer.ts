/**
 * Checkpoints in memory: for tests, for scripts, and the readable illustration of a `GraphCheckpointer`. A process that ends takes them
 * along.
 *
 * Invariants:
 * - M1 What goes in and what comes out are copies (structured clone).
 * - M2 The checkpoints of one run share the list of its steps, so that keeping another one costs what it adds.
 */
import type { GraphCheckpoint, GraphCheckpointer, StoredGraphCheckpoint } from "./graph-types.ts";
import { type RecordedStep, stepsOf, unreadSteps } from "./recorded-steps.ts";

export interface MemoryCheckpointerOptions {
  /** Checkpoints kept of a thread, the newest. Default 50, at least 1. Resuming needs one. */
  maxPerThread?: number;
  /** Threads kept; the one that was written longest ago goes first. Default 1,000, at least 1. */
  maxThreads?: number;
}

/** A checkpoint whose steps are a prefix of a list that only grows. */
interface Kept {
  readonly step: number;
  readonly rest: StoredGraphCheckpoint;
  readonly state: Record<string, unknown>;
  readonly steps: { readonly list: readonly RecordedStep[]; readonly count: number } | undefined;
}

const HISTORY_LIMIT = 20;

/** Throws `RangeError` when a limit is less than 1. */
export class MemoryGraphCheckpointer implements GraphCheckpointer {
  readonly #maxPerThread: number;
  readonly #maxThreads: number;
  /** In the order in which they were last written. */
  readonly #threads = new Map<string, Kept[]>();

  constructor({ maxPerThread = 50, maxThreads = 1_000 }: MemoryCheckpointerOptions = {}) {
    this.#maxPerThread = atLeastOne("maxPerThread", maxPerThread);
    this.#maxThreads = atLeastOne("maxThreads", maxThreads);
  }

  put(checkpoint: GraphCheckpoint): void {
    const { threadId, step } = checkpoint;
    const kept = keep(checkpoint);
    const thread = this.#threads.get(threadId) ?? [];
    while (thread.length > 0 && (thread.at(-1) as Kept).step >= step) thread.pop();
    thread.push(kept);
    if (thread.length > this.#maxPerThread) thread.splice(0, thread.length - this.#maxPerThread);
    this.#threads.delete(threadId);
    this.#threads.set(threadId, thread);
    for (const oldest of this.#threads.keys()) {
      if (this.#threads.size <= this.#maxThreads) break;
      this.#threads.delete(oldest);
    }
  }

  get(threadId: string, step?: number): StoredGraphCheckpoint | undefined {
    const thread = this.#threads.get(threadId);
    const kept = step === undefined ? thread?.at(-1) : thread?.find((candidate) => candidate.step === step);
    return kept === undefined ? undefined : restore(kept);
  }

  history(threadId: string, limit = HISTORY_LIMIT): StoredGraphCheckpoint[] {
    const thread = this.#threads.get(threadId) ?? [];
    return thread
      .slice(Math.max(0, thread.length - Math.max(0, limit)))
      .reverse()
      .map(restore);
  }

  delete(threadId: string): void {
    this.#threads.delete(threadId);
  }

  /** The one that was written longest ago comes first. */
  threadIds(): string[] {
    return [...this.#threads.keys()];
  }
}

/** Checkpoints in memory. Throws `RangeError` when a limit is less than 1. */
export const memoryCheckpointer = (options?: MemoryCheckpointerOptions): MemoryGraphCheckpointer =>
  new MemoryGraphCheckpointer(options);

const atLeastOne = (what: string, limit: number): number => {
  if (!(limit >= 1))
    throw new RangeError(`${what} of a memory checkpointer must be at least 1, and is ${limit}.`);
  return limit;
};

const keep = (checkpoint: GraphCheckpoint): Kept => {
  const { state, ...rest } = checkpoint;
  const shared = typeof state === "object" && state !== null ? unreadSteps(state) : undefined;
  const copied = structuredClone({ ...rest, state: undefined }) as unknown as StoredGraphCheckpoint;
  const { step } = checkpoint;
  if (shared === undefined) return { step, rest: copied, state: structuredClone(state), steps: undefined };
  const { input, output } = state;
  const own = {
    input: input === shared.input ? input : structuredClone(input),
    ...("output" in state && { output: structuredClone(output) }),
  };
  return { step, rest: copied, state: own, steps: { list: shared.list, count: shared.count } };
};

const restore = ({ rest, state, steps }: Kept): StoredGraphCheckpoint => {
  if (steps === undefined) return structuredClone({ ...rest, state });
  const { input, ...output } = state;
  return structuredClone({ ...rest, state: { input, steps: stepsOf({ input, ...steps }), ...output } });
};
