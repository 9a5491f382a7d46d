/**
 * A lane: the proposals of one walk to its run's session, and what makes them void.
 *
 * A walk hands results to the body before the disk has them, and other writers add facts meanwhile. The lane notices when what the
 * body was told and what the stream says part ways; from then on only settled steps of this walk are still recorded (they happened),
 * everything else it proposes is refused as superseded, and the walk is done again from the stream.
 *
 * Invariants:
 * - N1 A lane is stale once a key that its body waits for, or that this walk is settling, was settled by somebody else. It does not
 *   take the walk's own proposal to notice: what was proposed before that one is decided on the newer state as well.
 * - N2 Staleness found while deciding a batch counts for the rest of that batch, and stays only if the batch is written.
 */
import type { RunEvent } from "../../events/catalogue.ts";
import type { Settlement } from "../../projections/run-state.ts";

export class Lane {
  /** What the body has asked for and has not been answered. */
  readonly #open = new Set<string>();
  /** What the body may have been answered already, and the stream has not yet. */
  readonly #settling = new Set<string>();
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
    this.#open.add(nameOf(what));
  }

  answered(what: Settlement): void {
    this.#open.delete(nameOf(what));
  }

  /** A step of this walk is on its way into the stream: until it is there, somebody else's may come before it. */
  settling(key: string): void {
    this.#settling.add(nameOf({ of: "step", key }));
  }

  settled(key: string): void {
    this.#settling.delete(nameOf({ of: "step", key }));
  }

  whenStale(listener: () => void): void {
    this.#onStale = listener;
  }

  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** A decision begins (again): forget what the last attempt at it found. */
  beginDecision(): void {
    this.#doubtful = false;
  }

  doubt(): void {
    this.#doubtful = true;
  }

  /** Another writer's event, not written yet. */
  doubtIfOvertaken(event: RunEvent): void {
    if (this.#isOvertakenBy(event)) this.#doubtful = true;
  }

  /** The batch is written: what it found, holds. */
  endDecision(): void {
    if (this.#doubtful) this.#becomeStale();
  }

  /** Another writer's event, as the stream has it. */
  staleIfOvertaken(event: RunEvent): void {
    if (this.#isOvertakenBy(event)) this.#becomeStale();
  }

  /** What the body asks for has an outcome already that the walk did not start from. */
  overtake(): void {
    this.#becomeStale();
  }

  #isOvertakenBy(event: RunEvent): boolean {
    if (this.#open.size === 0 && this.#settling.size === 0) return false;
    const settled = settlementOf(event);
    if (settled === undefined) return false;
    const name = nameOf(settled);
    return this.#open.has(name) || this.#settling.has(name);
  }

  #becomeStale(): void {
    if (this.#stale) return;
    this.#stale = true;
    this.#onStale?.();
  }
}

const nameOf = ({ of, key }: Settlement): string => `${of} ${key}`;

const settlementOf = (event: RunEvent): Settlement | undefined => {
  switch (event.type) {
    case "StepSettled":
      return { of: "step", key: event.data.key };
    case "SleepElapsed":
    case "SleepWoken":
      return { of: "sleep", key: event.data.key };
    case "HookDelivered":
    case "HookClosed":
      return { of: "hook", key: event.data.key };
    default:
      return undefined;
  }
};
