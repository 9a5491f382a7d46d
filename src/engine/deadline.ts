/**
 * Deadlines: from what an author asks for to an instant, and from an instant to what a timer can take (law L7). The instant is decided
 * once, by the first reach that is recorded; this file only computes it.
 */
import { types } from "node:util";
import { InvalidArgumentError } from "./invalid-argument-error.ts";

/** The last instant a Date can hold, in epoch milliseconds, and the first with a minus before it. */
const LAST_INSTANT = 8.64e15;

/** The longest delay `setTimeout` takes; it makes 1 ms of anything longer. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The deadline in epoch milliseconds: `now` plus a number of milliseconds (any sign, rounded up to whole ones), or a Date's instant.
 *
 * `what` begins the message, for instance `ctx.sleep("pause")`. Throws {@link InvalidArgumentError} for NaN, infinities, invalid
 * Dates, other types, and instants no Date can hold.
 */
export const deadlineOf = (until: number | Date, now: number, what = "ctx.sleep"): number => {
  const deadline =
    typeof until === "number" ? Math.ceil(now + until) : types.isDate(until) ? until.getTime() : Number.NaN;
  if (!(Math.abs(deadline) <= LAST_INSTANT)) {
    throw new InvalidArgumentError(
      `${what} takes a finite number of milliseconds or a valid Date, up to the year 275760, and was given ${describe(until)}`,
    );
  }
  return deadline;
};

const describe = (until: unknown): string =>
  typeof until === "number"
    ? String(until)
    : types.isDate(until)
      ? "an invalid Date"
      : `a value of type ${typeof until}`;

/** The part of a wait that one timer can take: whole milliseconds between 0 and 2^31 − 1. Arm again while some is left. */
export const sliceDelay = (ms: number): number => (ms > 0 ? Math.min(Math.ceil(ms), LONGEST_TIMER_MS) : 0);
