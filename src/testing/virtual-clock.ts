/**
 * A clock that stands still until a test moves it, and the timers that hang on it.
 *
 * - T1 Timers run in the order of their instants, those of one instant in the order in which they were set, and `now()` is then the
 *   instant for which they were set.
 * - T2 Nothing moves by itself: no real timer, no real time. The same calls give the same order.
 */

// Taken when this file is loaded, so that a test runner's fake timers do not strand the clock.
const nextTurn = setImmediate;

/** What {@link VirtualClock.setTimeout} answers, for {@link VirtualClock.clearTimeout}. */
export interface VirtualTimer {
  readonly at: number;
  readonly order: number;
}

export interface VirtualClock {
  /** The time in epoch milliseconds. Needs no `this`: hand it over as an engine's `clock`. */
  readonly now: () => number;
  /**
   * Moves on by `ms` and runs what falls due on the way. After each timer the promises it resolved are let run, before the next one.
   * Where nothing is due, the clock has moved by the time the call returns.
   *
   * Rejects with what a timer throws; throws a `RangeError` for a negative or non-finite `ms`.
   */
  readonly advance: (ms: number) => Promise<void>;
  /** The same, up to an instant in epoch milliseconds, which must not be in the past. */
  readonly advanceTo: (instant: number) => Promise<void>;
  /** Puts the clock elsewhere, also back, and runs nothing: as a machine's clock does when it is corrected. */
  readonly jumpTo: (instant: number) => void;
  /** Runs `work` once the clock has advanced by `ms`, at the earliest with the next advance. */
  readonly setTimeout: (work: () => void, ms: number) => VirtualTimer;
  /** A timer that ran or was cleared already is no error. */
  readonly clearTimeout: (timer: VirtualTimer | undefined) => void;
  /** How many timers are set. */
  readonly pending: () => number;
  /** The instant of the next timer; `undefined` when none is set. */
  readonly nextAt: () => number | undefined;
}

/** 2026-01-01T00:00:00Z: where a virtual clock starts, and where the recording context stands. */
export const VIRTUAL_START = 1_767_225_600_000;

/**
 * Makes a virtual clock that stands at `start` (epoch milliseconds, default 2026-01-01T00:00:00Z).
 *
 * @example
 * ```ts
 * const clock = createVirtualClock();
 * clock.setTimeout(() => rings.push(clock.now()), 1_000);
 * await clock.advance(60_000);
 * ```
 */
export const createVirtualClock = (start: number = VIRTUAL_START): VirtualClock => {
  let now = start;
  let set = 0;
  const timers = new Map<VirtualTimer, () => void>();

  const next = (): VirtualTimer | undefined => {
    let first: VirtualTimer | undefined;
    for (const timer of timers.keys()) {
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer;
    }
    return first;
  };

  const advanceTo = async (instant: number): Promise<void> => {
    if (!(instant >= now) || !Number.isFinite(instant)) {
      throw new RangeError(
        `the clock stands at ${now} and cannot advance to ${instant}: use jumpTo to put it back`,
      );
    }
    for (let timer = next(); timer !== undefined && timer.at <= instant; timer = next()) {
      const work = timers.get(timer);
      timers.delete(timer);
      // A jump may have left it behind.
      now = Math.max(now, timer.at);
      work?.();
      await new Promise((resume) => nextTurn(resume));
    }
    now = Math.max(now, instant);
  };

  return {
    now: () => now,
    advance: (ms) => advanceTo(now + ms),
    advanceTo,
    jumpTo: (instant) => {
      if (!Number.isFinite(instant)) throw new RangeError(`the clock cannot be put to ${instant}`);
      now = instant;
    },
    setTimeout: (work, ms) => {
      const timer = { at: now + Math.max(0, Number.isNaN(ms) ? 0 : ms), order: set++ };
      timers.set(timer, work);
      return timer;
    },
    clearTimeout: (timer) => {
      if (timer !== undefined) timers.delete(timer);
    },
    pending: () => timers.size,
    nextAt: () => next()?.at,
  };
};
