/** The sessions of the runs lately written to: at most 512 that are idle, and about half a million folded events in all. */
import type { EventLog } from "../../events/event-log.ts";
import { LatelyUsed } from "./lately-used.ts";
import { RunSession } from "./run-session.ts";

const MAX_SESSIONS = 512;
const MAX_EVENTS = 500_000;

export interface SessionPool {
  get(runId: string): RunSession;
  readonly size: number;
}

export const createSessionPool = (log: EventLog): SessionPool =>
  new LatelyUsed({
    make: (runId) => new RunSession(log, runId),
    maxItems: MAX_SESSIONS,
    maxEvents: MAX_EVENTS,
    eventsOf: ({ state }) => state.revision + 1,
    isIdle: ({ idle }) => idle,
  });
