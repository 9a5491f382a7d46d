/**
 * What a sealed payload reads as where it cannot be opened: a value of its own, so that it is never taken for one of the author's.
 */

/** `erased`: the keys were asked and have none for this run. `locked`: no keys were given to whoever reads. */
export type SealedState = "erased" | "locked";

const SEALED = Symbol.for("runstream.SealedPayload");

/** Stands for a payload that is encrypted and cannot be read. The events around it stay readable. */
export class SealedPayload {
  readonly state: SealedState;

  constructor(state: SealedState) {
    this.state = state;
    Object.freeze(this);
  }

  /** By brand, not by class identity: two copies of this package may be loaded. */
  static is(value: unknown): value is SealedPayload {
    return typeof value === "object" && value !== null && (value as Record<symbol, unknown>)[SEALED] === true;
  }

  /** The word for it. */
  toString(): string {
    return this.state;
  }

  static {
    Object.defineProperty(SealedPayload.prototype, SEALED, { value: true });
  }
}

const VALUES: Readonly<Record<SealedState, SealedPayload>> = {
  erased: new SealedPayload("erased"),
  locked: new SealedPayload("locked"),
};

export const sealedValue = (state: SealedState): SealedPayload => VALUES[state];
