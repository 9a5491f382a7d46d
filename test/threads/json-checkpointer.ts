/** A checkpointer as somebody else would write one over a store that holds text: what JSON cannot say does not survive it. */
import type { GraphCheckpoint, GraphCheckpointer } from "../../src/threads/index.ts";

export const jsonCheckpointer = (): GraphCheckpointer => {
  const threads = new Map<string, Map<number, string>>();
  const parsed = (text: string | undefined): GraphCheckpoint | undefined =>
    text === undefined ? undefined : (JSON.parse(text) as GraphCheckpoint);
  const newestFirst = (threadId: string): [number, string][] =>
    [...(threads.get(threadId) ?? [])].sort(([a], [b]) => b - a);
  return {
    async put(checkpoint) {
      const thread = threads.get(checkpoint.threadId) ?? new Map<number, string>();
      threads.set(checkpoint.threadId, thread);
      for (const step of [...thread.keys()]) if (step >= checkpoint.step) thread.delete(step);
      thread.set(checkpoint.step, JSON.stringify(checkpoint));
    },
    async get(threadId, step) {
      if (step !== undefined) return parsed(threads.get(threadId)?.get(step));
      return parsed(newestFirst(threadId)[0]?.[1]);
    },
    async history(threadId, limit = 20) {
      return newestFirst(threadId)
        .slice(0, limit)
        .flatMap(([, text]) => parsed(text) ?? []);
    },
  };
};
