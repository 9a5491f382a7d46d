/** Which seed makes a world of which kind. */

/** From this seed on, the programs of a world have optimistic steps. */
export const OPTIMISTIC_SEEDS = 1_000_000;
/** From this seed on, worlds are rough, and the programs in them those of careless authors. */
export const CARELESS_SEEDS = 2_000_000;
