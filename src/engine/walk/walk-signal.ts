/**
 * The signal of one walk: ended by whoever asked for the walk, or by the run's cancellation, with the reason of whichever came first.
 *
 * `AbortSignal.any` says the same, but the caller's signal, which lives as long as the worker, then holds every walk by a weak reference,
 * and a minor garbage collection keeps what is so held: each walk and all it refers to was moved to the old generation.
 */
export interface WalkSignal {
  readonly signal: AbortSignal;
  /** Nothing listens any more that the signal ends. */
  release(): void;
}

export const walkSignal = (cancelled: AbortSignal, caller: AbortSignal | undefined): WalkSignal => {
  if (caller === undefined) return { signal: cancelled, release: () => {} };
  const ended = new AbortController();
  const endedByCaller = (): void => ended.abort(caller.reason);
  if (caller.aborted) endedByCaller();
  caller.addEventListener("abort", endedByCaller, { once: true });
  cancelled.addEventListener("abort", () => ended.abort(cancelled.reason), { once: true });
  return { signal: ended.signal, release: () => caller.removeEventListener("abort", endedByCaller) };
};
