/**
 * Runs that no further walk can help as things stand: their payloads cannot be opened, or what is stored of them cannot be read. Said once
 * for each run, and looked at again seldom: a key may come back, and a worker of a newer version may come.
 *
 * Not here: trouble that passes by itself (a store that is away), and workflows that are declared elsewhere.
 *
 * Invariants:
 * - B1 A run is never blocked by a record: nothing is written of it, its delivery stays owed, and it goes on when it can.
 * - B2 What is remembered is bounded: of more runs than {@link REMEMBERED} the oldest are said again.
 */
import { StoreError } from "../events/store-error.ts";
import { RejectionError } from "./rejection-error.ts";

export const FIRST_LOOK_MS = 30_000;
export const LONGEST_LOOK_MS = 3_600_000;
const REMEMBERED = 10_000;

const isSealed = (error: unknown): boolean =>
  RejectionError.is(error, "PayloadsErased") || RejectionError.is(error, "PayloadsLocked");

/** Would the next walk meet the same, and every one after it, as long as nobody does something about it? */
export const isBlocking = (error: unknown): boolean => {
  if (!StoreError.is(error)) return isSealed(error);
  const { error: met } = error;
  return met._tag === "Corrupt" || met._tag === "StreamGone" || ("cause" in met && isSealed(met.cause));
};

/** The wait in milliseconds before a blocked run is looked at again, after `failures` tries that failed before. */
export const lookAgainMs = (failures: number): number =>
  Math.min(FIRST_LOOK_MS * 2 ** Math.min(failures, 16), LONGEST_LOOK_MS);

/** Which runs a worker has said to be blocked. */
export class BlockedRuns {
  readonly #said = new Map<string, string>();

  /** Answers whether this is news: the run was not said to be blocked, or for another reason. */
  add(runId: string, reason: string): boolean {
    if (this.#said.get(runId) === reason) return false;
    this.#said.delete(runId);
    this.#said.set(runId, reason);
    for (const oldest of this.#said.keys()) {
      if (this.#said.size <= REMEMBERED) break;
      this.#said.delete(oldest);
    }
    return true;
  }

  /** The run could be walked. */
  delete(runId: string): void {
    this.#said.delete(runId);
  }
}
