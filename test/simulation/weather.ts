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

/**
 * The same weather where deliveries overlap most of the time, and where stores fail, workers die and clocks jump a little at least: what
 * uses up the budgets of steps whose first walk is still in them.
 */
export const roughened = (weather: Weather): Weather => ({
  ...weather,
  calm: false,
  faults: {
    append: Math.max(weather.faults.append, 0.05),
    read: Math.max(weather.faults.read, 0.02),
    slow: Math.max(weather.faults.slow, 0.2),
  },
  crashes: Math.max(weather.crashes, 0.3),
  duplication: Math.max(weather.duplication, 0.7),
  jumpy: Math.max(weather.jumpy, 1),
});
