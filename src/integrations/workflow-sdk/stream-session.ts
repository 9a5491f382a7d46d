/**
 * A stream session: the write side of one stream. It holds the folded state, gathers what is proposed in one turn, has it decided in
 * order, and writes it in one append. It is the engine's run session (src/engine/session) for any fold, without walks.
 *
 * Not here: what is decided (decide-*.ts), which streams have a session (session-pool.ts).
 *
 * Invariants:
 * - Q1 One decision, one append, at the exact revision decided on; on a conflict the tail is read and the proposals are decided again.
 * - Q2 A proposal is answered only when the facts it rests on are in the stream, and in the order in which it was proposed.
 * - Q3 A refusal, or an answer without an event, rests on a state looked up in the same turn: nothing else proves that it is current.
 * - Q4 An unknown outcome is settled by looking for the events' ids in the stream, never by hoping.
 */
import { type Either, isLeft } from "fp-ts/lib/Either.js";
import { appendExactly } from "../../engine/session/exact-append.ts";
import type { EventDecodeError } from "../../events/event-decode-error.ts";
import type { EventData, EventLog, RecordedEvent } from "../../events/event-log.ts";
import { StoreError } from "../../events/store-error.ts";

/** What a stream means: its events, and the state that they make. A state counts its own events. */
export interface Fold<S extends { revision: number }, E> {
  empty(): S;
  /** Edits `state`; `revision` is one more afterwards. */
  evolve(state: S, event: E): void;
  /** A state to go on from, which leaves `state` as it is. */
  fork(state: S): S;
  encode(event: E): EventData;
  decode(recorded: RecordedEvent): Either<EventDecodeError, E>;
}

/** Events to record, and the answer, taken from the state that they make. No events: it is true already. */
export interface Decision<S, E, A> {
  readonly events: readonly E[];
  readonly answer: (after: S) => A;
}

/** Pure: it may be asked again on a newer state. A refusal is what the proposer's promise rejects with. */
export type Decide<S, E, A> = (state: S) => Either<Error, Decision<S, E, A>>;

interface Proposal<S, E> {
  readonly decide: Decide<S, E, unknown>;
  /** The stream is probably new: try without reading first. */
  readonly creates: boolean;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Batch<E> {
  readonly events: readonly E[];
  readonly data: readonly EventData[];
  /** Answers each proposal. */
  readonly settle: readonly (() => void)[];
}

export class StreamSession<S extends { revision: number }, E> {
  readonly stream: string;
  readonly #log: EventLog;
  readonly #fold: Fold<S, E>;
  readonly #state: S;
  #queue: Proposal<S, E>[] = [];
  #readers: { resolve: (state: S) => void; reject: (error: unknown) => void }[] = [];
  #known = false;
  #busy = false;
  #scheduled = false;

  constructor(log: EventLog, stream: string, fold: Fold<S, E>) {
    this.#log = log;
    this.stream = stream;
    this.#fold = fold;
    this.#state = fold.empty();
  }

  /** Nothing is under way, so that the session may be dropped. */
  get idle(): boolean {
    return !this.#busy && this.#queue.length === 0 && this.#readers.length === 0;
  }

  /** The state as last folded, without a look at the log. Do not edit. */
  get state(): S {
    return this.#state;
  }

  /** The state after everything the log has now. Do not edit. Throws {@link StoreError}. */
  current(): Promise<S> {
    return new Promise((resolve, reject) => {
      this.#readers.push({ resolve, reject });
      this.#schedule();
    });
  }

  /** Decides on a command and records its events. Rejects with the decision's refusal, or a {@link StoreError}. */
  propose<A>(decide: Decide<S, E, A>, options: { readonly creates?: boolean } = {}): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      this.#queue.push({
        decide,
        creates: options.creates === true,
        resolve: resolve as (answer: unknown) => void,
        reject,
      });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#busy) return;
    this.#scheduled = true;
    process.nextTick(() => {
      this.#scheduled = false;
      void this.#turn();
    });
  }

  async #turn(): Promise<void> {
    this.#busy = true;
    const readers = this.#readers;
    const proposals = this.#queue;
    this.#readers = [];
    this.#queue = [];
    try {
      const look = readers.length > 0 || (!this.#known && proposals[0]?.creates !== true);
      if (look) await this.#catchUp();
      for (const reader of readers) reader.resolve(this.#state);
      if (proposals.length > 0) await this.#record(proposals, look);
    } catch (error) {
      for (const reader of readers) reader.reject(error);
      for (const proposal of proposals) proposal.reject(error);
    }
    this.#busy = false;
    if (this.#queue.length > 0 || this.#readers.length > 0) this.#schedule();
  }

  /** Folds what the log has beyond the state. Answers the ids of the events it found. */
  async #catchUp(): Promise<string[]> {
    const found: string[] = [];
    for await (const recorded of this.#log.read(this.stream, { from: this.#state.revision + 1 })) {
      const decoded = this.#fold.decode(recorded);
      if (isLeft(decoded)) throw StoreError.corrupt(decoded.left.message, decoded.left);
      this.#fold.evolve(this.#state, decoded.right);
      found.push(recorded.id);
    }
    this.#known = true;
    return found;
  }

  async #record(proposals: readonly Proposal<S, E>[], looked: boolean): Promise<void> {
    let current = looked;
    for (;;) {
      const batch = this.#decide(proposals);
      if (batch.data.length === 0) {
        if (current) return settle(batch);
        await this.#catchUp();
        current = true;
        continue;
      }
      const append = {
        log: this.#log,
        stream: this.stream,
        revision: this.#state.revision,
        data: batch.data,
        divisible: proposals.length > 1,
        whose: `Stream ${this.stream}`,
        catchUp: () => this.#catchUp(),
      };
      const written = await appendExactly(append, (how) => how);
      if (written === "written") {
        this.#known = true;
        for (const event of batch.events) this.#fold.evolve(this.#state, event);
      }
      if (written === "written" || written === "found") return settle(batch);
      if (written === "too large") return this.#recordOneByOne(proposals);
    }
  }

  #decide(proposals: readonly Proposal<S, E>[]): Batch<E> {
    const state = this.#fold.fork(this.#state);
    const events: E[] = [];
    const data: EventData[] = [];
    const answers = proposals.map(({ decide, resolve, reject }) => {
      try {
        const decision = decide(state);
        if (isLeft(decision)) return () => reject(decision.left);
        // What cannot be written fails whoever proposed it, and nobody else in the batch.
        const encoded = decision.right.events.map((event) => this.#fold.encode(event));
        data.push(...encoded);
        for (const event of decision.right.events) {
          this.#fold.evolve(state, event);
          events.push(event);
        }
        const answer = decision.right.answer(state);
        return () => resolve(answer);
      } catch (error) {
        return () => reject(error);
      }
    });
    return { events, data, settle: answers };
  }

  /** The batch is more than the store takes at once. */
  async #recordOneByOne(proposals: readonly Proposal<S, E>[]): Promise<void> {
    for (const proposal of proposals) {
      try {
        await this.#record([proposal], false);
      } catch (error) {
        proposal.reject(error);
      }
    }
  }
}

const settle = (batch: Batch<unknown>): void => {
  for (const answer of batch.settle) answer();
};
