/** A closed loop: so many at a time, each begins the next when it is done. Answers how long each took, in milliseconds. */
export interface Load {
  readonly tookMs: readonly number[];
  readonly totalMs: number;
  readonly cpuMs: number;
}

export const closedLoop = async (
  inFlight: number,
  total: number,
  one: (index: number) => Promise<unknown>,
): Promise<Load> => {
  const tookMs: number[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    for (let index = next++; index < total; index = next++) {
      const before = performance.now();
      await one(index);
      tookMs.push(performance.now() - before);
    }
  };
  const cpu = process.cpuUsage();
  const before = performance.now();
  await Promise.all(Array.from({ length: Math.min(inFlight, total) }, client));
  const totalMs = performance.now() - before;
  const used = process.cpuUsage(cpu);
  return { tookMs, totalMs, cpuMs: (used.user + used.system) / 1_000 };
};
