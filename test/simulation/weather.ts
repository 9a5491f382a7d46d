/** How rough a simulated world is: drawn once for each history, so that calm ones and terrible ones both come up. */
import type { LogFaults } from "./faulty-log.ts";
import type { Random } from "./random.ts";

/** Probabilities, and weights of what may happen next. */
export interface Weather {
  /** Nothing goes wrong at all. */
  readonly calm: boolean;
  readonly faults: LogFaults;
  readonly crashes: number;
  /** Of deliveries. */
  loss: number;
  readonly duplication: number;
  readonly busyOperator: number;
  /** Does the operator cancel runs? */
  readonly cancels: boolean;
  /** Do clocks go back, and hours pass at once? */
  readonly jumpy: number;
  readonly stepConcurrency: number;
}

export const drawWeather = (random: Random): Weather => {
  const calm = random.chance(0.15);
  const harsh = (chance: number, rates: readonly number[]): number =>
    !calm && random.chance(chance) ? random.pick(rates) : 0;
  const faults: LogFaults = {
    append: harsh(0.5, [0.02, 0.1, 0.3]),
    read: harsh(0.3, [0.02, 0.1]),
    slow: random.pick([0, 0.2, 0.6]),
  };
  const crashes = harsh(0.6, [0.1, 0.4, 1]);
  const loss = harsh(0.5, [0.1, 0.4]);
  const duplication = harsh(0.5, [0.1, 0.4]);
  const busyOperator = random.pick([0.2, 1, 2]);
  const cancels = random.chance(0.2);
  const jumpy = harsh(0.5, [0.3, 1]);
  const stepConcurrency = random.pick([1, 2, 16, 16]);
  return { calm, faults, crashes, loss, duplication, busyOperator, cancels, jumpy, stepConcurrency };
};
