/**
 * Randomness for ids, by the pool: asking the system for one byte at a time costs more than all else about an id.
 *
 * Not for keys or nonces: bytes that were handed out stay in memory until the pool is filled again.
 */
import { randomFillSync } from "node:crypto";

const POOL_BYTES = 4_096;

const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/** One of 256 fractions from 0 to below 1, as good as the system's own randomness. */
export const randomFraction = (): number => {
  if (used === POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const byte = pool[used] as number;
  used += 1;
  return byte / 256;
};
