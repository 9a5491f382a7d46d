/**
 * A walk: one replay of a body from the top, until it returns, throws, or has nothing left to do but wait.
 *
 * Here: what is in flight, what is parked, what went wrong, and how the walk ends. Not here: what the body may ask (context.ts), one
 * step's tries (attempt.ts), the order of results (releases.ts), what the end does to the run (delivery.ts).
 *
 * Invariants:
 * - W1 A walk suspends only when a wait is parked, nothing is in flight, and every result has been handed over.
 * - W2 A store failure, a refusal, a token that another wait holds and an abort that the body was told of decide the outcome, whatever the
 *   body makes of them (law L9): none of them is recorded, so that another walk may not meet it again. Of a store failure the body is not told
 *   at all, and the walk ends with it: a branch that nobody awaits yet would make of it an unhandled rejection, which ends the process.
 * - W3 A walk that the stream has overtaken, that met one of those, or that is over, begins nothing: what its body asks
 *   for then is never answered, for it may follow from what the stream will never have. What was begun comes to rest with all it needs,
 *   and the walk ends when it has.
 */
import { randomUUID } from "node:crypto";
import { PayloadError } from "../../events/payload.ts";
import { StoreError } from "../../events/store-error.ts";
import type { RunStatus } from "../../projections/run-state.ts";
import { JournalConflictError } from "../journal-conflict-error.ts";
import { Refusal, tooLargeMessage } from "../refusals.ts";
import { RejectionError } from "../rejection-error.ts";
import { currentStep } from "../step-context.ts";
import { messageOf } from "../step-errors.ts";
import { Releases } from "./releases.ts";
import type { WalkJournal } from "./walk-journal.ts";
import { watchedJournal } from "./watched-journal.ts";

export type WalkOutcome =
  | { readonly kind: "completed"; readonly output: unknown }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "suspended"; readonly wakeAt: number | undefined }
  /** The stream has overtaken the walk: walk again. */
  | { readonly kind: "superseded" };

/** A wait of the body, until an instant in epoch milliseconds or without a deadline. */
interface Parked {
  readonly wakeAt: number | undefined;
}

/** How the body ended, if it did. */
type Returned =
  | { readonly ok: true; readonly output: unknown }
  | { readonly ok: false; readonly error: unknown };

export class Walk {
  readonly runId: string;
  /** Whose charges this walk takes. */
  readonly holder = randomUUID();
  readonly journal: WalkJournal;
  readonly signal: AbortSignal;
  readonly releases: Releases;
  /** What a parked wait answers: never. One per walk, so that it goes with the walk. */
  readonly forever = new Promise<never>(() => {});
  /** The walk ends though its body has not: what the end is follows from what is known by then. */
  readonly #ended: Promise<undefined>;
  #end: () => void = () => {};
  #inFlight = 0;
  #whenQuiet: (() => void)[] = [];
  /** The waits the body is parked on. */
  readonly #parked = new Set<Parked>();
  /** The stream has overtaken the walk, or the run was cancelled. */
  #frozen = false;
  /** The body has ended, or the walk has without it. */
  #over = false;
  /** The walk has ended on its waits: none of them can be taken back. */
  #suspended = false;
  /** Step keys in whose body the journal failed or the engine refused to go on. */
  readonly #troubled = new Map<string, unknown>();
  #failure: { readonly error: unknown } | undefined;
  /** What fails the run. */
  #refusal: Refusal | JournalConflictError | undefined;
  /** What was refused to bodies of steps, by the step's key. */
  readonly #refused = new Map<string, Refusal>();
  /** The body was told that a step of it was aborted. */
  #aborted = false;

  constructor(runId: string, journal: WalkJournal, signal: AbortSignal) {
    this.runId = runId;
    this.signal = signal;
    this.journal = watchedJournal(journal, (error) => this.#note(error));
    this.releases = new Releases(() => this.#look());
    this.#ended = new Promise((end) => {
      this.#end = () => end(undefined);
    });
    journal.whenStale(() => this.#freeze());
  }

  /** Is its body told nothing any more? */
  get spent(): boolean {
    return this.#frozen || this.#over;
  }

  /** Has the body ended? */
  get over(): boolean {
    return this.#over;
  }

  /** Does it begin nothing any more? What is recorded may still be told. */
  get doomed(): boolean {
    return this.spent || this.#aborted || this.#refusal !== undefined || this.#failure !== undefined;
  }

  /** Is this the abort of the walk, by whoever asked for it? */
  isAbort(error: unknown): boolean {
    return this.signal.aborted && error === this.signal.reason;
  }

  /** The body is told of this error: nothing follows from what it makes of an abort. */
  tells(error: unknown): void {
    this.#aborted ||= this.isAbort(error);
  }

  /** Is this trouble of the walk's, which ends it without the body's being told? */
  endsWithout(error: unknown): boolean {
    return this.spent || this.#failure !== undefined || RejectionError.is(error) || StoreError.is(error);
  }

  /** The run was cancelled: the walk begins nothing more, and ends when what is in flight has come to rest. */
  giveUp(): void {
    this.#freeze();
  }

  /** Runs `body` to the walk's end. Rejects with a store failure, or with the reason of an abort that ended the body. */
  async run(body: () => unknown): Promise<WalkOutcome> {
    try {
      return await this.#outcome(body);
    } finally {
      this.#bodyEnded();
    }
  }

  async #outcome(body: () => unknown): Promise<WalkOutcome> {
    this.releases.begin();
    const returned = await Promise.race([this.#runBody(body), this.#ended]);
    if (this.#aborted || (returned?.ok === false && this.isAbort(returned.error))) throw this.signal.reason;
    this.#throwFailure();
    if (this.#refusal !== undefined) return { kind: "failed", message: this.#refusal.message };
    if (this.#frozen) {
      await this.quiet();
      return { kind: "superseded" };
    }
    if (returned === undefined) return this.#suspend();
    return returned.ok
      ? { kind: "completed", output: returned.output }
      : { kind: "failed", message: messageOf(returned.error) };
  }

  #runBody(body: () => unknown): Promise<Returned> {
    return Promise.resolve()
      .then(body)
      .then(
        (output) => {
          this.#bodyEnded();
          return { ok: true, output };
        },
        (error: unknown) => {
          this.#bodyEnded();
          return { ok: false, error };
        },
      );
  }

  /** What the waits follow from gets into the stream first. */
  async #suspend(): Promise<WalkOutcome> {
    await this.journal.drain();
    this.#throwFailure();
    return this.#frozen ? { kind: "superseded" } : { kind: "suspended", wakeAt: soonest(this.#parked) };
  }

  /** Answers when nothing of this walk is in flight any more. */
  quiet(): Promise<void> {
    return this.#inFlight === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenQuiet.push(resolve));
  }

  /** Counts `work` as in flight until it settles; `failed` is told why where it rejects, while it still counts. */
  hold(work: () => Promise<unknown>, failed: (error: unknown) => void): void {
    this.#inFlight += 1;
    work().then(this.#landed, (error: unknown) => {
      failed(error);
      this.#landed();
    });
  }

  readonly #landed = (): void => {
    this.#inFlight -= 1;
    if (this.#inFlight === 0) for (const resolve of this.#whenQuiet.splice(0)) resolve();
    this.#rest();
    this.#look();
  };

  /** For a step that waited for its place in the gate until the walk was over. */
  throwIfOver(): void {
    if (this.#over) throw new RejectionError("Superseded", this.runId);
  }

  /**
   * What a step inside the body of the step at `key` met instead of a result. A failure of the journal, a refusal and an abort are noted:
   * the outer step is not settled by what its body made of them.
   */
  troubleInside(key: string, error: unknown): void {
    const failed = StoreError.is(error) || RejectionError.is(error) || error === this.#failure?.error;
    if (failed || Refusal.is(error) || this.isAbort(error)) this.#troubled.set(key, error);
  }

  /** What the journal or the engine said inside the body of this step, whatever the body made of it (law L9). */
  throwTroubleIn(key: string): void {
    if (this.#troubled.has(key)) throw this.#troubled.get(key);
  }

  /**
   * A wait that is not over: the walk may end on it. What is answered takes it back, because the wait is over after all; it answers
   * `false` where the walk has ended on it, and the next one will see to it.
   */
  park(wakeAt: number | undefined): () => boolean {
    const parked: Parked = { wakeAt };
    this.#parked.add(parked);
    return () => !this.#suspended && this.#parked.delete(parked);
  }

  /** Records the end of the run, after everything the body saw; answers whether this call ended it. */
  finish(status: RunStatus, patch: { output?: unknown; error?: { message: string } }): Promise<boolean> {
    return this.journal.finish(status, patch);
  }

  /** What a call in the body of this step was refused, whatever the body made of it: the step fails with it. */
  refusedIn(key: string): Refusal | undefined {
    return this.#refused.get(key);
  }

  /** Remembers the refusal, and throws it into the body. */
  refuse(refusal: Refusal): never {
    this.#refusal ??= refusal;
    const inside = currentStep();
    if (inside !== undefined) this.#refused.set(inside.key, refusal);
    throw refusal;
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #note(error: unknown): void {
    if (PayloadError.is(error)) return;
    if (JournalConflictError.is(error)) {
      this.#refusal ??= error;
      return;
    }
    if (RejectionError.is(error, "Superseded") || RejectionError.is(error, "RunSettled"))
      return this.#freeze();
    if (StoreError.is(error) && error.error._tag === "TooLarge") {
      this.#refusal ??= new Refusal("too-large", tooLargeMessage(this.runId, error));
      return;
    }
    this.#failure ??= { error };
    this.#end();
  }

  #freeze(): void {
    this.#frozen = true;
    this.#look();
  }

  #bodyEnded(): void {
    this.#over = true;
    this.#rest();
  }

  /** Over, and nothing in flight that could need a result: hand over nothing more. */
  #rest(): void {
    if (this.#over && this.#inFlight === 0) this.releases.freeze();
  }

  /** Is there nothing left to do? Decided one tick later, when what this turn set off has been asked for. */
  #look(): void {
    if (!this.#mayEnd()) return;
    process.nextTick(() => {
      if (!this.#mayEnd()) return;
      this.#suspended = true;
      this.#end();
    });
  }

  #mayEnd(): boolean {
    if (this.#inFlight > 0) return false;
    return this.#frozen || ((this.#parked.size > 0 || this.doomed) && this.releases.idle);
  }
}

const soonest = (waits: Iterable<Parked>): number | undefined => {
  let first: number | undefined;
  for (const { wakeAt } of waits) if (wakeAt !== undefined) first = Math.min(wakeAt, first ?? wakeAt);
  return first;
};
