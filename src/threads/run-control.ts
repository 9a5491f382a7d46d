/**
 * RunControl: asks runs to stop between two steps. It holds no run; any number of them may look at one control.
 */
import type { RunControlLike } from "./graph-types.ts";

export class RunControl implements RunControlLike {
  /** Has a drain been asked for? */
  readonly draining: boolean = false;
  /** The first drain's reason. */
  declare readonly reason?: string;
  #listeners = new Set<() => void>();

  /** Asks for a drain: steps under way end and are recorded, and none begins. A second call changes nothing. */
  drain(reason?: string): void {
    if (this.draining) return;
    Object.assign(this, { draining: true }, reason !== undefined && { reason });
    const listeners = this.#listeners;
    this.#listeners = new Set();
    for (const listener of listeners) {
      try {
        listener();
      } catch {
        // A listener's failure is not the drain's.
      }
    }
  }

  /** Calls `listener` once, when a drain is asked for; not when one was asked for before. Answers what takes it back. */
  onDrain(listener: () => void): () => void {
    const entry = (): void => listener();
    if (!this.draining) this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }
}
