/** Medians and percentiles of small samples. They sort a copy; an empty sample is a mistake of the caller's, and answers NaN. */
export const percentile = (sample: readonly number[], share: number): number => {
  const sorted = [...sample].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
};

export const median = (sample: readonly number[]): number => {
  const sorted = [...sample].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (!Number.isInteger(middle)) return sorted[Math.floor(middle)] ?? Number.NaN;
  return ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
};

export const mean = (sample: readonly number[]): number =>
  sample.reduce((sum, value) => sum + value, 0) / sample.length;

/** The median of each figure over several rounds that measured the same. */
export const medians = <K extends string>(
  rounds: readonly Readonly<Record<K, number>>[],
): Record<K, number> =>
  Object.fromEntries(
    Object.keys(rounds[0] ?? {}).map((name) => [name, median(rounds.map((round) => round[name as K]))]),
  ) as Record<K, number>;
