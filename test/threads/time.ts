/**
 * Time for the tests of threads: it stands still while anything goes on, and then jumps to the next timer. So a limit of 40 ms is reached
 * exactly when nothing happened for 40 ms, on a slow machine too, and what hangs is said to hang instead of being waited for.
 */
import { afterEach, beforeEach, expect, vi } from "vitest";

export const START = new Date("2026-03-01T12:00:00.000Z");

/** Taken before anything is faked. */
const nextTurn = setImmediate;

/** So many turns of the event loop without an end, and what is awaited needs time to pass. */
const QUIET_TURNS = 20;

/** So many more without an end and without a timer, and it never ends. */
const ENDLESS_TURNS = 2_000;

export const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((next) => nextTurn(next));
};

/** Fakes timers and clocks for every test of the file or block, and lets turns of the event loop alone. */
export const withTimeAtRest = (): void => {
  beforeEach(() => {
    vi.useFakeTimers({
      now: START,
      toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "performance"],
    });
  });
  afterEach(() => void vi.useRealTimers());
};

/** Lets time pass until `work` settles, and answers or throws what it came to. */
export const inTime = async <T>(work: Promise<T>, what = "it"): Promise<T> => {
  let settled = false;
  const end = (): void => {
    settled = true;
  };
  work.then(end, end);
  for (let jumps = 0; ; jumps += 1) {
    for (let turn = 0; turn < QUIET_TURNS && !settled; turn += 1) await turns(1);
    if (settled) return work;
    if (vi.getTimerCount() === 0) {
      await turns(ENDLESS_TURNS);
      if (!settled && vi.getTimerCount() === 0) expect.fail(`${what} hangs: nothing is left to wait for`);
      continue;
    }
    if (jumps > 2_000) expect.fail(`${what} comes to no end`);
    await vi.advanceTimersToNextTimerAsync();
  }
};

/** A timer of the test's own bodies: `ms` of the time that this file keeps. */
export const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

/** Settles when `signal` aborts, as work does that only listens. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) return done();
    signal.addEventListener("abort", () => done(), { once: true });
  });
