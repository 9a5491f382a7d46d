/**
 * Progress streams: what a run says while it works, for people who watch. They are not facts of the run (those are its events), may be
 * lost, and nothing is decided by them.
 *
 * Invariants:
 * - P1 A chunk's index in its namespace never changes; old chunks go, indexes stay.
 * - P2 A read gives the chunks that were retained when it began and ends there; it never waits.
 * - P3 The memory store is bounded per run and over runs.
 */
import { InvalidArgumentError } from "./invalid-argument-error.ts";

export interface ProgressStreams {
  /** Adds a chunk to the end. No namespace is a namespace of its own, other than `""`. */
  write(runId: string, chunk: unknown, namespace?: string): Promise<void>;
  /** Index of the last chunk, -1 where there is none. */
  tail(runId: string, namespace?: string): Promise<number>;
  /**
   * The retained chunks from `startIndex` (from 0, inclusive; negative counts from the end; default 0) to the present tail. Where it
   * names chunks that are gone, the read begins with the oldest that is left. Throws `InvalidArgumentError` unless it is an integer.
   */
  read(
    runId: string,
    options?: { startIndex?: number | undefined; namespace?: string | undefined },
  ): ReadableStream<unknown>;
}

export interface MemoryStreamsOptions {
  /** Runs whose progress is kept; the one written to least recently is forgotten first. Default 200. */
  readonly keep?: number;
  /** Chunks kept of one run, over all its namespaces; the oldest go first. Default 1000. */
  readonly keepChunks?: number;
}

type Chunk = { readonly namespace: string | undefined; readonly index: number; readonly value: unknown };

/** `chunks` holds all that is retained and less than as much again, so that dropping the oldest costs constant time on average. */
type RunProgress = { chunks: Chunk[]; readonly tails: Map<string | undefined, number> };

/** Progress in this process's memory: at most `keep` × `keepChunks` chunks are readable, and fewer than twice as many held. */
export const createMemoryStreams = (options: MemoryStreamsOptions = {}): ProgressStreams => {
  const keep = atLeastOne("keep", options.keep ?? 200);
  const keepChunks = atLeastOne("keepChunks", options.keepChunks ?? 1000);
  const runs = new Map<string, RunProgress>();

  const opened = (runId: string): RunProgress => {
    const run = runs.get(runId) ?? { chunks: [], tails: new Map() };
    runs.delete(runId);
    runs.set(runId, run);
    if (runs.size > keep) runs.delete(runs.keys().next().value!);
    return run;
  };

  const compact = (run: RunProgress): void => {
    if (run.chunks.length < 2 * keepChunks) return;
    run.chunks = run.chunks.slice(-keepChunks);
    // Only a run with more namespaces than chunks can lose an index by this; without it, namespaces would gather for ever.
    if (run.tails.size <= keepChunks) return;
    const alive = new Set(run.chunks.map((chunk) => chunk.namespace));
    for (const namespace of run.tails.keys()) if (!alive.has(namespace)) run.tails.delete(namespace);
  };

  const tailOf = (runId: string, namespace: string | undefined): number =>
    runs.get(runId)?.tails.get(namespace) ?? -1;

  return {
    write(runId, value, namespace) {
      const run = opened(runId);
      const index = (run.tails.get(namespace) ?? -1) + 1;
      run.tails.set(namespace, index);
      run.chunks.push({ namespace, index, value });
      compact(run);
      return Promise.resolve();
    },
    tail: (runId, namespace) => Promise.resolve(tailOf(runId, namespace)),
    read(runId, { startIndex = 0, namespace } = {}) {
      if (!Number.isInteger(startIndex)) {
        throw new InvalidArgumentError(
          `The progress of run ${runId} is read from a whole index, and not from ${startIndex}`,
        );
      }
      const from = startIndex < 0 ? tailOf(runId, namespace) + 1 + startIndex : startIndex;
      const retained = (runs.get(runId)?.chunks ?? []).slice(-keepChunks);
      return streamOf(retained.filter((chunk) => chunk.namespace === namespace && chunk.index >= from));
    },
  };
};

const atLeastOne = (name: string, value: number): number => {
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new InvalidArgumentError(`createMemoryStreams: ${name} must be a positive integer, and is ${value}`);
};

const streamOf = (chunks: readonly Chunk[]): ReadableStream<unknown> => {
  let next = 0;
  return new ReadableStream<unknown>({
    pull(controller) {
      const chunk = chunks[next++];
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk.value);
    },
  });
};
