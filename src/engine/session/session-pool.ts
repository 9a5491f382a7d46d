/**
 * The sessions of the runs lately written to: at most 512 that are idle, and about half a million folded events in all. Of runs that are
 * over only the last few are kept: they are asked for their outcome, and that is soon.
 */
import type { EventLog } from "../../events/event-log.ts";
import { LatelyUsed } from "./lately-used.ts";
import { RunSession } from "./run-session.ts";

const MAX_SESSIONS = 512;
const MAX_EVENTS = 500_000;

export interface SessionPool {
  get(runId: string): RunSession;
  /** The session of this run if there is one. */
  peek(runId: string): RunSession | undefined;
  readonly size: number;
}

export const createSessionPool = (log: EventLog): SessionPool => {
  const pool: LatelyUsed<RunSession> = new LatelyUsed({
    make: (runId) => new RunSession(log, runId, () => pool.retire(runId)),
    maxItems: MAX_SESSIONS,
    maxEvents: MAX_EVENTS,
    eventsOf: ({ state }) => state.revision + 1,
    isIdle: ({ idle }) => idle,
  });
  return pool;
};
