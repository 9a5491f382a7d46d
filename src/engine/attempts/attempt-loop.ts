/**
 * The attempts of one step, one after another: until one succeeds, or none may follow. What one attempt is, which failure may be
 * repeated and after how long, is its caller's to say: the steps of an engine's walk and of a thread go by different rules.
 *
 * Invariants:
 * - A1 What passes through (an abort, a suspension, a drain, store trouble) is no failure: it ends the loop at once, as it is, and uses
 *   up no attempt.
 * - A2 The wait between two attempts ends with the run; no attempt begins after that.
 * - A3 A body that fails at once, again and again, lets timers, the store and a cancel have their turn.
 */
import { waitMs } from "../backoff.ts";
import type { LimitKind, Outcome } from "./attempt.ts";

/** An attempt that failed. */
export interface Failure {
  readonly error: unknown;
  /** Its number, from 1. */
  readonly attempt: number;
  /** The limit that ended it. */
  readonly exceeded: LimitKind | undefined;
}

export interface AttemptLoop<T> {
  /** Ends the wait between two attempts. */
  readonly signal: AbortSignal;
  /** Makes attempt number `n`, from 1. What it throws passes through. */
  readonly make: (n: number) => Promise<Outcome<T>>;
  readonly passesThrough: (error: unknown) => boolean;
  /** Milliseconds until the next attempt; `undefined` where none may follow. */
  readonly next: (failure: Failure) => number | undefined;
  readonly onRetry: (failure: Failure, delayMs: number) => void;
}

export type Made<T> =
  | { readonly ok: true; readonly value: T; readonly attempts: number }
  | { readonly ok: false; readonly error: unknown; readonly attempts: number };

/** So many attempts without a wait, and everything else has its turn. */
const ATTEMPTS_A_TURN = 16;

/** Rejects with what passes through, and with the signal's reason when it aborts between two attempts. */
export const makeAttempts = async <T>(loop: AttemptLoop<T>): Promise<Made<T>> => {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await loop.make(attempt);
    if (outcome.ok) return { ok: true, value: outcome.value, attempts: attempt };
    const { error, exceeded } = outcome;
    if (loop.passesThrough(error)) throw error;
    const failure: Failure = { error, attempt, exceeded };
    const delayMs = loop.next(failure);
    if (delayMs === undefined) return { ok: false, error, attempts: attempt };
    loop.onRetry(failure, delayMs);
    if (delayMs > 0) await waitMs(delayMs, loop.signal);
    else if (attempt % ATTEMPTS_A_TURN === 0) await nextTurn();
    loop.signal.throwIfAborted();
  }
};

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
