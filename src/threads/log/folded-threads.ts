/**
 * The threads lately read or written, kept folded, so that a hot thread's stream is not read again and memory stays bounded.
 *
 * The least recently used goes first. Bounds: 512 threads, and about half a million folded events in all.
 */
import type { EventLog } from "../../events/event-log.ts";
import { ThreadStream } from "./thread-stream.ts";

const MAX_THREADS = 512;
const MAX_EVENTS = 500_000;
/** Folded events are counted when so many threads were taken up. */
const WEIGH_EVERY = 64;

export interface FoldedThreads {
  get(threadId: string): ThreadStream;
}

export const createFoldedThreads = (log: EventLog): FoldedThreads => {
  const threads = new Map<string, ThreadStream>();
  let taken = 0;

  const makeRoom = (): void => {
    taken += 1;
    for (const threadId of threads.keys()) {
      if (threads.size < MAX_THREADS) break;
      threads.delete(threadId);
    }
    if (taken % WEIGH_EVERY !== 0) return;
    let events = 0;
    for (const { revision } of threads.values()) events += revision + 1;
    for (const [threadId, { revision }] of threads) {
      if (events <= MAX_EVENTS) return;
      events -= revision + 1;
      threads.delete(threadId);
    }
  };

  return {
    get(threadId) {
      const held = threads.get(threadId);
      if (held !== undefined) threads.delete(threadId);
      else makeRoom();
      const thread = held ?? new ThreadStream(log, threadId);
      threads.set(threadId, thread);
      return thread;
    },
  };
};
