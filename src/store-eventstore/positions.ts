/**
 * Positions: a place in the server's transaction log, commit and prepare, as text of a fixed width that orders as they do.
 *
 * Only a position the server gave for an event is one to resume from: it refuses others, and a checkpoint it sends may be wrong.
 */
import type { Position as ServerPosition } from "@eventstore/db-client";
import type { Position } from "../events/event-log.ts";

const DIGITS = 20;
/** What servers send for "none" and "the end" is 2^64-1 and its neighbours: no log has such a place. */
const BEYOND_ANY_LOG = 2n ** 63n;
const TEXT = /^(\d{20})-(\d{20})$/;

/** The position of the beginning of the log, before any event. */
export const BEGINNING = `${"0".repeat(DIGITS)}-${"0".repeat(DIGITS)}` as Position;

const digits = (value: bigint): string => value.toString().padStart(DIGITS, "0");

/** `undefined` where the server gave none. */
export const positionOf = (given: ServerPosition | undefined): Position | undefined =>
  given === undefined || given.commit >= BEYOND_ANY_LOG || given.prepare >= BEYOND_ANY_LOG
    ? undefined
    : (`${digits(given.commit)}-${digits(given.prepare)}` as Position);

/** `undefined` for a text that is no position of such a log. */
export const serverPosition = (position: Position): ServerPosition | undefined => {
  const [, commit, prepare] = TEXT.exec(position) ?? [];
  return commit === undefined || prepare === undefined
    ? undefined
    : { commit: BigInt(commit), prepare: BigInt(prepare) };
};
