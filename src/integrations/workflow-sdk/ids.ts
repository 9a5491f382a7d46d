/**
 * Ids as the Workflow SDK wants them: ULIDs with a prefix. Within a run event ids grow strictly, across processes too, because each is
 * made from the one before it.
 */
import { decodeTime, isValid, monotonicFactory } from "ulid";
import { randomFraction } from "./random-fraction.ts";
import type { SdkRunState } from "./run-fold.ts";

const EVENT_PREFIX = "evnt_";
const RUN_PREFIX = "wrun_";
/** A client's run id may be made so long ago, and so far ahead of this clock. */
const OLDEST_MS = 24 * 60 * 60 * 1_000;
const AHEAD_MS = 5 * 60 * 1_000;

const next = monotonicFactory(randomFraction);

/** A bare ULID. */
export const newUlid = (now: number): string => next(now);

export const newRunId = (now: number): string => RUN_PREFIX + next(now);

export const newMessageId = (now: number): string => `msg_${next(now)}`;

/**
 * The id of the event that comes after those folded into `state`. An event from outside gets a millisecond of its own, so that a snapshot
 * that has not seen it is older by the clock in the ids.
 */
export const nextEventId = (
  { lastId, lastTime }: Pick<SdkRunState, "lastId" | "lastTime">,
  now: number,
  fromOutside: boolean,
): string => {
  const id = EVENT_PREFIX + next(Math.max(now, fromOutside ? lastTime + 1 : lastTime));
  return lastId === undefined || id > lastId ? id : EVENT_PREFIX + next(lastTime + 1);
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
