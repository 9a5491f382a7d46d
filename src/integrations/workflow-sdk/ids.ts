/**
 * Ids as the Workflow SDK wants them: ULIDs with a prefix.
 *
 * Invariants:
 * - I1 Ids of runs and of messages are made from the clock as it is, however it stood before: a clock that was set back makes no id that
 *   is ahead of it. Those that one process makes in one millisecond grow, so that lists have them in the order in which they were made.
 * - I2 Ids of events grow strictly within a run, across processes and clocks, because each is made from the one before it; and no run's
 *   ids depend on another's.
 */
import { decodeTime, encodeTime, isValid } from "ulid";
import { randomFraction } from "./random-fraction.ts";
import type { SdkRunState } from "./run-fold.ts";

const EVENT_PREFIX = "evnt_";
const RUN_PREFIX = "wrun_";
/** A client's run id may be made so long ago, and so far ahead of this clock. */
const OLDEST_MS = 24 * 60 * 60 * 1_000;
const AHEAD_MS = 5 * 60 * 1_000;
/** The letters of a ULID, in their order. */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LOWEST = "0";
const HIGHEST = "Z";
const RANDOM_LENGTH = 16;
/** So many of the random letters count the ids of one millisecond; those after them are drawn anew for each. */
const COUNTING_LENGTH = 8;

/** The last ULID that this process made. */
let latest = "";

/** A bare ULID. */
export const newUlid = (now: number): string => {
  const time = encodeTime(now);
  latest =
    (latest.startsWith(time) ? sameMillisecondAfter(latest) : undefined) ??
    time + randomLetters(RANDOM_LENGTH);
  return latest;
};

export const newRunId = (now: number): string => RUN_PREFIX + newUlid(now);

export const newMessageId = (now: number): string => `msg_${newUlid(now)}`;

/**
 * The id of the event that comes after those folded into `state`. An event from outside gets a millisecond of its own, so that a snapshot
 * that has not seen it is older by the clock in the ids.
 */
export const nextEventId = (
  { lastId, lastTime }: Pick<SdkRunState, "lastId" | "lastTime">,
  now: number,
  fromOutside: boolean,
): string => {
  if (lastId === undefined || now > lastTime) return EVENT_PREFIX + newUlid(now);
  if (fromOutside) return EVENT_PREFIX + newUlid(lastTime + 1);
  const id = now === lastTime ? EVENT_PREFIX + newUlid(now) : "";
  return id > lastId ? id : (sameMillisecondAfter(lastId) ?? EVENT_PREFIX + newUlid(lastTime + 1));
};

/** `undefined` once the millisecond has had as many as can be counted in it. */
const sameMillisecondAfter = (id: string): string | undefined => {
  const counted = id.length - RANDOM_LENGTH + COUNTING_LENGTH;
  for (let at = counted - 1; at >= id.length - RANDOM_LENGTH; at -= 1) {
    if (id[at] === HIGHEST) continue;
    const next = LETTERS[LETTERS.indexOf(id.charAt(at)) + 1];
    return (
      id.slice(0, at) +
      next +
      LOWEST.repeat(counted - 1 - at) +
      randomLetters(RANDOM_LENGTH - COUNTING_LENGTH)
    );
  }
  return undefined;
};

const randomLetters = (length: number): string => {
  let letters = "";
  for (let i = 0; i < length; i += 1) letters += LETTERS[Math.floor(randomFraction() * LETTERS.length)];
  return letters;
};

/** Why a client may not bring this run id; `undefined` when it may. */
export const runIdFault = (runId: string, now: number): string | undefined => {
  const ulid = runId.startsWith(RUN_PREFIX) ? runId.slice(RUN_PREFIX.length) : runId;
  if (!isValid(ulid)) return `The run id ${JSON.stringify(runId)} is not "${RUN_PREFIX}" and a ULID.`;
  const age = now - decodeTime(ulid);
  if (age > OLDEST_MS || age < -AHEAD_MS)
    return `The run id ${JSON.stringify(runId)} was made ${Math.round(Math.abs(age) / 1_000)} s ${age > 0 ? "ago" : "ahead of this clock"}; at most 24 h ago and 5 min ahead are taken. Make a new one.`;
  return undefined;
};
