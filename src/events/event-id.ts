/**
 * Ids of events: UUIDs of version 8 (RFC 9562, section 5.8), a random number of this process followed by a count.
 *
 * Two processes draw the same 90 random bits never, for all that matters, and one process counts each number once. A run of ten steps
 * takes 23 ids: drawing each at random cost as much as deciding what to record.
 */
import { randomBytes } from "node:crypto";

/** Eight digits each, so that none has to be filled up; and small enough for V8 to count and to write them as integers. */
const FIRST_COUNT = 0x1000_0000;
const COUNTS_END = 0x4000_0000;

/** `xxxxxxxx-xxxx-8xxx-yxxx-xxxx`, the x random and the y one of 8, 9, a and b. */
const newPrefix = (): string => {
  const hex = randomBytes(12).toString("hex");
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0b0011) | 0b1000).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
};

let prefix = newPrefix();
let count = FIRST_COUNT;

/** The id of an event that is about to be recorded: no other event has it. */
export const newEventId = (): string => {
  count += 1;
  if (count === COUNTS_END) {
    prefix = newPrefix();
    count = FIRST_COUNT;
  }
  return prefix + count.toString(16);
};
