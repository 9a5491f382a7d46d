/**
 * A lane: the proposals of one walk to its run's session, and what makes them void.
 *
 * A walk hands results to the body before the disk has them, and other writers add facts meanwhile. Where another writer ends a wait that
 * the body is parked on, the body can be told in its place of the order, and the walk goes on. Where what the body was told and what the
 * stream says part ways, the lane is stale: from then on only settled steps of this walk are still recorded (they happened), everything
 * else it proposes, reads among it, is refused as superseded, and the walk is done again from the stream.
 *
 * Invariants:
 * - N1 A lane is stale once somebody else settled what this walk is settling or has in flight, or anything that its body waits for
 *   before a result that has its place already. It does not take the walk's own proposal to notice: what was proposed before that one
 *   is decided on the newer state as well.
 * - N2 Staleness found while deciding a batch counts for the rest of that batch, and stays only if the batch is written.
 * - N3 A parked wait is resumed when its end is in the stream, at a moment when every result the body was given stands before it.
 */
import type { RunEvent } from "../../events/catalogue.ts";
import type { Settlement } from "../../projections/run-state.ts";
import { settlementName, settlementOf } from "./settlements.ts";

export class Lane {
  /** What the body has asked for and has not been answered. */
  readonly #open = new Set<string>();
  /** Results that have their place in the order, and the stream has not yet. */
  readonly #settling = new Set<string>();
  /** Those of them that the decision under way has placed. */
  readonly #decided = new Set<string>();
  /** What to do when somebody else ends a wait that the body is parked on. */
  readonly #parked = new Map<string, () => void>();
  #stale = false;
  #doubtful = false;
  #failure: unknown;
  #onStale: (() => void) | undefined;

  get stale(): boolean {
    return this.#stale;
  }

  /** Is what this lane proposes now void? During a decision that includes what the batch has found so far. */
  get void(): boolean {
    return this.#stale || this.#doubtful;
  }

  /** What the store said when it did not take an earlier proposal: everything that followed from it fails alike. */
  get failure(): unknown {
    return this.#failure;
  }

  asked(what: Settlement): void {
    this.#open.add(settlementName(what));
  }

  answered(what: Settlement): void {
    this.#open.delete(settlementName(what));
  }

  /** A result of this walk is on its way into the stream: until it is there, somebody else's may come before it. */
  settling(what: Settlement): void {
    this.#settling.add(settlementName(what));
  }

  /** It is there, or there is none. */
  settled(what: Settlement): void {
    this.#settling.delete(settlementName(what));
  }

  /** The body is parked on this; `resume` is called when somebody else's event ends it. */
  parked(what: Settlement, resume: () => void): void {
    this.#parked.set(settlementName(what), resume);
  }

  /** The body is parked on it no longer. */
  unparked(what: Settlement): void {
    this.#parked.delete(settlementName(what));
  }

  /** Calls `listener` when the lane becomes stale, or at once if it is. */
  whenStale(listener: () => void): void {
    this.#onStale = listener;
    if (this.#stale) listener();
  }

  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** A decision begins (again): forget what the last attempt at it found. */
  beginDecision(): void {
    this.#doubtful = false;
    this.#decided.clear();
  }

  doubt(): void {
    this.#doubtful = true;
  }

  /** An event of this lane, not written yet. */
  decidedOwn(event: RunEvent): void {
    const what = settlementOf(event);
    if (what !== undefined) this.#decided.add(settlementName(what));
  }

  /** Another writer's event, not written yet. */
  decidedForeign(event: RunEvent): void {
    if (this.#isOvertakenBy(event, this.#decided)) this.#doubtful = true;
  }

  /** The batch is written: what it found, holds. */
  endDecision(): void {
    if (this.#doubtful) this.#becomeStale();
  }

  /** An event of this lane, as the stream has it. */
  recordedOwn(event: RunEvent): void {
    const what = settlementOf(event);
    if (what !== undefined) this.settled(what);
  }

  /** Another writer's event, as the stream has it. */
  recordedForeign(event: RunEvent): void {
    if (this.#stale) return;
    if (this.#isOvertakenBy(event, none)) return this.#becomeStale();
    if (this.#parked.size === 0) return;
    const what = settlementOf(event);
    if (what !== undefined) this.#parked.get(settlementName(what))?.();
  }

  /** What the body asks for has an outcome already that the walk did not start from. */
  overtake(): void {
    this.#becomeStale();
  }

  /** `placed`: results of this walk that stand before the event. */
  #isOvertakenBy(event: RunEvent, placed: ReadonlySet<string>): boolean {
    if (this.#open.size === 0 && this.#settling.size === 0) return false;
    const what = settlementOf(event);
    if (what === undefined) return false;
    const name = settlementName(what);
    if (this.#settling.has(name)) return !placed.has(name);
    if (!this.#open.has(name)) return false;
    return !this.#parked.has(name) || this.#settling.size > placed.size;
  }

  #becomeStale(): void {
    if (this.#stale) return;
    this.#stale = true;
    this.#onStale?.();
  }
}

const none: ReadonlySet<string> = new Set();
