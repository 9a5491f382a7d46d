/**
 * A closed loop: so many at a time, each begins the next when it is done. On a slow disk it stops early, so that the benchmarks end in
 * the time they promise: every figure is of what was done.
 */
export interface Load {
  /** How long each took, in milliseconds. */
  readonly tookMs: readonly number[];
  readonly perSec: number;
  readonly cpuMsEach: number;
}

/** No more are begun after this time. */
const LONGEST_MS = 2_500;

export const closedLoop = async (
  inFlight: number,
  total: number,
  one: (index: number) => Promise<unknown>,
): Promise<Load> => {
  const tookMs: number[] = [];
  let next = 0;
  const cpu = process.cpuUsage();
  const began = performance.now();
  const client = async (): Promise<void> => {
    for (let index = next++; index < total; index = next++) {
      const before = performance.now();
      if (before - began > LONGEST_MS && index >= inFlight) return;
      await one(index);
      tookMs.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: Math.min(inFlight, total) }, client));
  const totalMs = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return {
    tookMs,
    perSec: (tookMs.length / totalMs) * 1_000,
    cpuMsEach: (user + system) / 1_000 / tookMs.length,
  };
};
