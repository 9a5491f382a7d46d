/** Pauses between tries, which double from one to the next. */
import { setTimeout as sleep } from "node:timers/promises";

const FIRST_MS = 50;
const LONGEST_MS = 5_000;

export const pauseMs = (failures: number, longestMs: number = LONGEST_MS): number =>
  Math.min(FIRST_MS * 2 ** Math.min(Math.max(0, failures - 1), 16), longestMs);

/** Waits after that many failures in a row. */
export const pause = async (failures: number, longestMs?: number): Promise<void> => {
  await sleep(pauseMs(failures, longestMs));
};
