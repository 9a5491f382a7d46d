/** Keeps the process alive on purpose: the engine's own timers never do, but somebody who waits for a run, or works, means to stay. */
export interface KeptAlive {
  end(): void;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const keepAlive = (): KeptAlive => {
  const timer = setInterval(() => {}, LONGEST_TIMER_MS);
  return { end: () => clearInterval(timer) };
};
