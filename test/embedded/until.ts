/** Resolves once `holds` answers true; looks again every other millisecond, which leaves other processes room. */
export const until = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
  deadlineMs = 10_000,
): Promise<void> => {
  const end = performance.now() + deadlineMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`still waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};
