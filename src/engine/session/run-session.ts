/**
 * A run session: the write side of one run. It holds the folded state, gathers what is proposed in one turn, has it decided
 * in order, and writes it in one append.
 *
 * Not here: how a batch is decided (batch.ts), which commands there are (decide/), how values are encoded (journal/), which runs have a
 * session (session-pool.ts).
 *
 * Invariants:
 * - R1 One decision, one append, at the exact revision decided on; on a conflict the tail is read and the *commands* are decided
 *   again (law L2).
 * - R2 A proposal is answered only when the facts it rests on are in the stream, and in the order in which it was proposed.
 * - R3 Reading and appending take turns: the state is never folded from two places at once.
 * - R4 Work starts on `process.nextTick`, which drains the turn's microtasks first and needs no timer. It is nobody's: what it sets off,
 *   in a lane or in a store, runs in no step, though a step asked for it.
 * - R5 What is answered without an event rests on a state looked up in the same turn, since nothing else proves that it is current.
 * - R6 An unknown outcome is settled by looking for the events' ids in the stream, never by hoping.
 */
import { isLeft } from "fp-ts/lib/Either.js";
import { type DecodedRunEvent, decodeRunEvent } from "../../events/codec.ts";
import type { EventLog, RecordedEvent } from "../../events/event-log.ts";
import { sealedIn } from "../../events/sealed-facts.ts";
import { StoreError } from "../../events/store-error.ts";
import { runStream } from "../../events/stream-names.ts";
import { emptyRun, evolve, isTerminal, type RunState } from "../../projections/run-state.ts";
import type { Decide } from "../decide/decision.ts";
import { runOutsideStep } from "../step-context.ts";
import {
  answerBatch,
  type Batch,
  decideBatch,
  failProposals,
  foldBatch,
  type Proposal,
  type ProposeOptions,
} from "./batch.ts";
import { appendExactly, type Written } from "./exact-append.ts";
import type { Lane } from "./lane.ts";

interface Reader {
  /** The state will do from this revision on; `undefined`: only what the log has now. */
  readonly reaching: number | undefined;
  readonly resolve: (state: RunState) => void;
  readonly reject: (error: unknown) => void;
}

export class RunSession {
  readonly runId: string;
  readonly stream: string;
  readonly #log: EventLog;
  readonly #whose: string;
  #state: RunState = emptyRun();
  /** The fold holds what could not be opened. */
  #sealed = false;
  readonly #lanes = new Set<Lane>();
  #queue: Proposal[] = [];
  #readers: Reader[] = [];
  #known = false;
  /** When the state was last everything that the stream had; undefined while that is not known. */
  #currentAt: number | undefined;
  #turnAt = 0;
  /** The last revision that somebody is known to have seen in the stream. */
  #seen = -1;
  readonly #onOver: () => void;
  #busy = false;
  #scheduled = false;

  /** `onOver` is called when the run is seen to be over. */
  constructor(log: EventLog, runId: string, onOver: () => void = () => {}) {
    this.#log = log;
    this.#onOver = onOver;
    this.runId = runId;
    this.stream = runStream(runId);
    this.#whose = `Run ${JSON.stringify(runId)}`;
  }

  /** Nothing is under way, so that the session may be dropped. */
  get idle(): boolean {
    return !this.#busy && this.#queue.length === 0 && this.#readers.length === 0 && this.#lanes.size === 0;
  }

  /** The state as last folded, without a look at the log: what a lane's walk goes by. Do not edit. */
  get state(): RunState {
    return this.#state;
  }

  /**
   * When the state was last seen to be everything that the stream had, in milliseconds of `performance.now()`; `undefined` where that
   * cannot be said: nothing was read or written yet, or events are known to have come after it.
   */
  get currentAt(): number | undefined {
    return this.#currentAt;
  }

  /** Somebody saw the stream reach this revision; perhaps while a turn reads or writes what came before it. */
  reaches(revision: number): void {
    this.#seen = Math.max(this.#seen, revision);
    if (this.#state.revision < revision) this.#currentAt = undefined;
  }

  openLane(lane: Lane): void {
    this.#lanes.add(lane);
  }

  closeLane(lane: Lane): void {
    this.#lanes.delete(lane);
  }

  /**
   * The state after everything the log has now; or, where the caller knows of the stream up to `reaching` and that is enough, the state
   * as folded, without a look at the log if it reaches so far. Do not edit. Throws {@link StoreError}.
   */
  current(reaching?: number): Promise<RunState> {
    if (this.#isEnough(reaching)) return Promise.resolve(this.#state);
    return new Promise((resolve, reject) => {
      this.#readers.push({ reaching, resolve, reject });
      this.#schedule();
    });
  }

  /** Decides on a command and records its events. Throws `RejectionError` or {@link StoreError}. */
  propose<A>(decide: Decide<A>, options: ProposeOptions<A> = {}): Promise<A> {
    return new Promise<A>((resolve, reject) => {
      this.#queue.push({
        decide,
        options: options as ProposeOptions<unknown>,
        resolve: resolve as (answer: unknown) => void,
        reject,
      });
      if (options.lazy !== true) this.#schedule();
    });
  }

  /** Records what was proposed lazily, and answers when nothing is left to record. */
  flush(): Promise<unknown> {
    if (!this.#busy && this.#queue.length === 0) return Promise.resolve();
    return this.propose(() => nothing, { timeless: true });
  }

  #schedule(): void {
    if (this.#scheduled || this.#busy) return;
    this.#scheduled = true;
    runOutsideStep(() => process.nextTick(this.#begin));
  }

  readonly #begin = (): void => {
    this.#scheduled = false;
    void this.#turn();
  };

  async #turn(): Promise<void> {
    this.#busy = true;
    this.#turnAt = performance.now();
    const readers = this.#readers;
    const proposals = this.#queue;
    this.#readers = [];
    this.#queue = [];
    try {
      // What a reader knows of may be what this session was writing when it asked.
      const asked = readers.some(({ reaching }) => !this.#isEnough(reaching));
      const look = this.#owesLook(asked, proposals[0]);
      if (look) await this.#catchUp();
      for (const reader of readers) reader.resolve(this.#state);
      if (proposals.length > 0) await this.#record(proposals, look);
    } catch (error) {
      for (const reader of readers) reader.reject(error);
      failProposals(proposals, error);
    }
    this.#busy = false;
    if (this.#queue.length > 0 || this.#readers.length > 0) this.#schedule();
  }

  #isEnough(reaching: number | undefined): boolean {
    return reaching !== undefined && this.#known && !this.#sealed && this.#state.revision >= reaching;
  }

  /** A run that is over stays as it is (law L4): who asks for it is answered from the state. */
  #owesLook(forReaders: boolean, first: Proposal | undefined): boolean {
    if (!this.#known) return forReaders || first?.options.creates !== true;
    return forReaders && (this.#sealed || !isTerminal(this.#state.status));
  }

  /** Folds what the log has beyond the state. Answers the ids of the events it found. */
  async #catchUp(): Promise<string[]> {
    if (this.#sealed) await this.#openAnew();
    const found: string[] = [];
    for await (const recorded of this.#log.read(this.stream, { from: this.#state.revision + 1 })) {
      const event = decoded(recorded);
      evolve(this.#state, event, recorded.revision);
      this.#sealed ||= isSealed(recorded, event);
      for (const lane of this.#lanes) lane.recordedForeign(event);
      found.push(recorded.id);
    }
    this.#isCurrent();
    return found;
  }

  /** A key that is back opens what it did not open before: folds the same events again, and keeps the old fold until it has them all. */
  async #openAnew(): Promise<void> {
    const state = emptyRun();
    let sealed = false;
    for await (const recorded of this.#log.read(this.stream, { max: this.#state.revision + 1 })) {
      const event = decoded(recorded);
      evolve(state, event, recorded.revision);
      sealed ||= isSealed(recorded, event);
    }
    this.#state = state;
    this.#sealed = sealed;
  }

  /** Decides the proposals and writes what they come to. `looked`: the state was looked up in this turn. */
  #record(proposals: readonly Proposal[], looked: boolean): Promise<void> | undefined {
    const batch = decideBatch(this.runId, this.#state, proposals, this.#lanes);
    if (batch.events.length > 0) {
      return appendExactly(
        {
          log: this.#log,
          stream: this.stream,
          revision: this.#state.revision,
          data: batch.data,
          divisible: proposals.length > 1,
          whose: this.#whose,
          catchUp: () => this.#catchUp(),
        },
        (how) => this.#written(how, batch, looked),
      );
    }
    if (!looked && !proposals.every(({ options }) => options.timeless === true))
      return this.#catchUp().then(() => this.#record(proposals, true));
    answerBatch(batch, this.#lanes);
  }

  #written(how: Written, batch: Batch, looked: boolean): Promise<void> | undefined {
    if (how === "conflict") return this.#record(batch.proposals, looked);
    if (how === "too large") return this.#recordInHalves(batch.proposals);
    if (how === "written") {
      foldBatch(this.#state, batch, this.#lanes);
      this.#isCurrent();
    }
    answerBatch(batch, this.#lanes);
  }

  /** What the turn read or wrote was right after the state; what comes after that moment may not be in it. */
  #isCurrent(): void {
    this.#known = true;
    this.#currentAt = this.#state.revision < this.#seen ? undefined : this.#turnAt;
    if (isTerminal(this.#state.status)) this.#onOver();
  }

  /** The batch is more than the store takes at once: record it in two appends, in order. */
  async #recordInHalves(proposals: readonly Proposal[]): Promise<void> {
    const half = Math.ceil(proposals.length / 2);
    for (const part of [proposals.slice(0, half), proposals.slice(half)]) {
      try {
        await this.#record(part, false);
      } catch (error) {
        failProposals(part, error);
      }
    }
  }
}

const nothing = { _tag: "Right", right: { events: [], answer: undefined } } as const;

const decoded = (recorded: RecordedEvent): DecodedRunEvent => {
  const result = decodeRunEvent(recorded);
  if (isLeft(result)) throw StoreError.corrupt(result.left.message, result.left);
  return result.right;
};

const isSealed = ({ metadata }: RecordedEvent, event: DecodedRunEvent): boolean =>
  metadata.sealed !== undefined && sealedIn(event) !== undefined;
