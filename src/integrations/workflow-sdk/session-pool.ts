/** The sessions of the streams lately used: of a kind at most 512 that are idle, and about 200,000 folded events in all of them. */
import { LatelyUsed } from "../../engine/session/lately-used.ts";
import type { EventLog } from "../../events/event-log.ts";
import { type Fold, StreamSession } from "./stream-session.ts";

const MAX_SESSIONS = 512;
const MAX_EVENTS = 200_000;

export interface SessionPool<S extends { revision: number }, E> {
  get(stream: string): StreamSession<S, E>;
}

export const createSessionPool = <S extends { revision: number }, E>(
  log: EventLog,
  fold: Fold<S, E>,
): SessionPool<S, E> =>
  new LatelyUsed({
    make: (stream) => new StreamSession(log, stream, fold),
    maxItems: MAX_SESSIONS,
    maxEvents: MAX_EVENTS,
    eventsOf: ({ state }) => state.revision + 1,
    isIdle: ({ idle }) => idle,
  });
