/**
 * The sessions of the streams lately used, so that a hot run never re-reads its stream and memory stays bounded.
 *
 * The least recently used idle session goes first. Bounds: 512 sessions of a kind, and about 200,000 folded events in all of them.
 */
import type { EventLog } from "../../events/event-log.ts";
import { type Fold, StreamSession } from "./stream-session.ts";

const MAX_SESSIONS = 512;
const MAX_EVENTS = 200_000;
const WEIGH_EVERY = 64;

export class SessionPool<S extends { revision: number }, E> {
  readonly #log: EventLog;
  readonly #fold: Fold<S, E>;
  readonly #sessions = new Map<string, StreamSession<S, E>>();
  #opened = 0;

  constructor(log: EventLog, fold: Fold<S, E>) {
    this.#log = log;
    this.#fold = fold;
  }

  get size(): number {
    return this.#sessions.size;
  }

  get(stream: string): StreamSession<S, E> {
    const held = this.#sessions.get(stream);
    if (held !== undefined) this.#sessions.delete(stream);
    else this.#makeRoom();
    const session = held ?? new StreamSession(this.#log, stream, this.#fold);
    this.#sessions.set(stream, session);
    return session;
  }

  #makeRoom(): void {
    this.#opened += 1;
    if (this.#sessions.size >= MAX_SESSIONS) this.#drop(() => this.#sessions.size < MAX_SESSIONS);
    if (this.#opened % WEIGH_EVERY !== 0) return;
    let events = 0;
    for (const { state } of this.#sessions.values()) events += state.revision + 1;
    this.#drop((gone) => {
      events -= gone;
      return events <= MAX_EVENTS;
    });
  }

  /** `enough` is asked before each one, and told how many events the one before it held. */
  #drop(enough: (gone: number) => boolean): void {
    let gone = 0;
    for (const [stream, session] of this.#sessions) {
      if (enough(gone)) return;
      gone = session.idle ? session.state.revision + 1 : 0;
      if (session.idle) this.#sessions.delete(stream);
    }
  }
}
