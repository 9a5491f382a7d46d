/** Keeps the process alive on purpose: the engine's own timers never do, but somebody who waits for a run, or works, means to stay. */
import { LONGEST_TIMER_MS } from "../engine/deadline.ts";

export interface KeptAlive {
  end(): void;
}

export const keepAlive = (): KeptAlive => {
  const timer = setInterval(() => {}, LONGEST_TIMER_MS);
  return { end: () => clearInterval(timer) };
};
