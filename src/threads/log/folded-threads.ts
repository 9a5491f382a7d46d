/**
 * The threads lately read or written, kept folded: at most 512, and about half a million folded events in all.
 *
 * A run keeps the one that it was given, so that any of them may go at any time.
 */
import { LatelyUsed } from "../../engine/session/lately-used.ts";
import type { EventLog } from "../../events/event-log.ts";
import { ThreadStream } from "./thread-stream.ts";

const MAX_THREADS = 512;
const MAX_EVENTS = 500_000;

export interface FoldedThreads {
  get(threadId: string): ThreadStream;
}

export const createFoldedThreads = (log: EventLog): FoldedThreads =>
  new LatelyUsed({
    make: (threadId) => new ThreadStream(log, threadId),
    maxItems: MAX_THREADS,
    maxEvents: MAX_EVENTS,
    eventsOf: ({ revision }) => revision + 1,
    isIdle: () => true,
  });
