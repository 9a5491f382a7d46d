/**
 * One thread's stream: its fold at a known revision, and appends that name the revision they rest on.
 *
 * Not here: which facts a checkpoint consists of (thread-facts), which threads are kept folded (folded-threads).
 *
 * Invariants:
 * - T1 An event is folded once, in its turn, whether it was read or appended here: reads and appends may overlap.
 * - T2 An append is written at exactly the revision it was decided on, or not at all; then somebody else has written, and the writer is
 *   told (law L2).
 * - T3 An unknown outcome is settled by looking for the events' ids in the stream, never by hoping.
 */
import { isLeft } from "fp-ts/lib/Either.js";
import { MAX_UNKNOWN_OUTCOMES, notRecorded } from "../../engine/session/exact-append.ts";
import type { ThreadEvent } from "../../events/catalogue.ts";
import { decodeThreadEvent, encodeEvent } from "../../events/codec.ts";
import type { EventData, EventLog } from "../../events/event-log.ts";
import { StoreError } from "../../events/store-error.ts";
import { runStream } from "../../events/stream-names.ts";
import { emptyThread, evolveThread, type ThreadState } from "../../projections/thread-state.ts";
import { ThreadConflictError } from "./thread-conflict-error.ts";

export class ThreadStream {
  readonly threadId: string;
  readonly #log: EventLog;
  readonly #stream: string;
  readonly #state: ThreadState = emptyThread();

  constructor(log: EventLog, threadId: string) {
    this.#log = log;
    this.threadId = threadId;
    this.#stream = runStream(threadId);
  }

  /** Last revision folded. */
  get revision(): number {
    return this.#state.revision;
  }

  /** The fold of everything the log has now. Do not edit; later events go into the same object. Throws {@link StoreError}. */
  async current(): Promise<ThreadState> {
    for await (const recorded of this.#log.read(this.#stream, { from: this.#state.revision + 1 })) {
      const decoded = decodeThreadEvent(recorded);
      if (isLeft(decoded)) throw StoreError.corrupt(decoded.left.message, decoded.left);
      this.#fold(decoded.right, recorded.revision);
    }
    return this.#state;
  }

  /**
   * Writes the events right after `revision` (-1: at the stream's beginning) and answers the revision of the last one.
   *
   * @throws ThreadConflictError where the stream has gone on; then nothing was written.
   * @throws StoreError
   */
  async append(revision: number, events: readonly ThreadEvent[]): Promise<number> {
    const data = events.map((event) => encodeEvent(event));
    await this.#write(revision, data);
    events.forEach((event, at) => {
      this.#fold(event, revision + 1 + at);
    });
    return revision + events.length;
  }

  #fold(event: ThreadEvent, revision: number): void {
    if (revision === this.#state.revision + 1) evolveThread(this.#state, event, revision);
  }

  async #write(revision: number, data: readonly EventData[]): Promise<void> {
    const expected = revision === -1 ? "none" : revision;
    for (let unknown = 0; ; unknown += 1) {
      const result = await this.#log.append(this.#stream, expected, data)();
      if (!isLeft(result)) return;
      const error = result.left;
      if (error._tag !== "WrongExpectedRevision" && error._tag !== "UnknownOutcome")
        throw notRecorded(`Thread ${JSON.stringify(this.threadId)}`, error);
      const next = await this.#idAt(revision + 1);
      if (next === data[0]?.id) return;
      if (next !== undefined || error._tag === "WrongExpectedRevision")
        throw new ThreadConflictError(this.threadId, revision);
      if (unknown >= MAX_UNKNOWN_OUTCOMES)
        throw notRecorded(`Thread ${JSON.stringify(this.threadId)}`, error);
    }
  }

  async #idAt(revision: number): Promise<string | undefined> {
    for await (const { id } of this.#log.read(this.#stream, { from: revision, max: 1 })) return id;
    return undefined;
  }
}
