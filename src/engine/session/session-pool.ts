/**
 * The sessions of the runs lately written to, so that a hot run never re-reads its stream and memory stays bounded.
 *
 * The least recently used idle session goes first. Bounds: 512 sessions, and about half a million folded events in all.
 */
import type { EventLog } from "../../events/event-log.ts";
import { RunSession } from "./run-session.ts";

const MAX_SESSIONS = 512;
const MAX_EVENTS = 500_000;
const WEIGH_EVERY = 64;

export interface SessionPool {
  get(runId: string): RunSession;
  readonly size: number;
}

export const createSessionPool = (log: EventLog): SessionPool => {
  const sessions = new Map<string, RunSession>();
  let opened = 0;

  const drop = (enough: () => boolean): void => {
    for (const [runId, session] of sessions) {
      if (enough()) return;
      if (session.idle) sessions.delete(runId);
    }
  };

  const makeRoom = (): void => {
    opened += 1;
    if (sessions.size >= MAX_SESSIONS) drop(() => sessions.size < MAX_SESSIONS);
    if (opened % WEIGH_EVERY !== 0) return;
    let events = 0;
    for (const session of sessions.values()) events += session.state.revision + 1;
    if (events <= MAX_EVENTS) return;
    for (const [runId, session] of sessions) {
      if (events <= MAX_EVENTS) return;
      if (!session.idle) continue;
      events -= session.state.revision + 1;
      sessions.delete(runId);
    }
  };

  return {
    get(runId) {
      const held = sessions.get(runId);
      if (held !== undefined) sessions.delete(runId);
      else makeRoom();
      const session = held ?? new RunSession(log, runId);
      sessions.set(runId, session);
      return session;
    },
    get size() {
      return sessions.size;
    },
  };
};
