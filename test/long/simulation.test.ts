/** Ten thousand histories of the simulated world, two thousand with optimistic steps, and two thousand of careless authors. A seed that fails here is replayed with `RUNSTREAM_SEED` by test/simulation. */
import { describe, expect, test } from "vitest";
import { CARELESS_SEEDS, OPTIMISTIC_SEEDS } from "../simulation/seeds.ts";
import { report, simulate } from "../simulation/simulate.ts";

const HISTORIES = 10_000;
const OPTIMISTIC_HISTORIES = 2_000;
const CARELESS_HISTORIES = 2_000;
const PER_TEST = 1_000;

/** The first seed of each test. */
const FIRST_SEEDS = [
  ...Array.from({ length: HISTORIES / PER_TEST }, (_, part) => 1 + part * PER_TEST),
  ...Array.from({ length: OPTIMISTIC_HISTORIES / PER_TEST }, (_, part) => OPTIMISTIC_SEEDS + part * PER_TEST),
  ...Array.from({ length: CARELESS_HISTORIES / PER_TEST }, (_, part) => CARELESS_SEEDS + part * PER_TEST),
];

describe("a simulated world keeps every law", () => {
  for (const first of FIRST_SEEDS) {
    test(`in the histories from seed ${first} on`, async () => {
      for (let seed = first; seed < first + PER_TEST; seed += 1) {
        await simulate(seed).catch(async () => expect.fail(await report(seed)));
      }
    });
  }
});
