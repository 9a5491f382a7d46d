/** Ten thousand histories of the simulated world. A seed that fails here is replayed with `RUNSTREAM_SEED` by test/simulation. */
import { describe, expect, test } from "vitest";
import { report, simulate } from "../simulation/simulate.ts";

const HISTORIES = 10_000;
const PER_TEST = 1_000;

describe("a simulated world keeps every law", () => {
  for (let first = 1; first <= HISTORIES; first += PER_TEST) {
    test(`in the histories from seed ${first} on`, async () => {
      for (let seed = first; seed < first + PER_TEST; seed += 1) {
        await simulate(seed).catch(async () => expect.fail(await report(seed)));
      }
    });
  }
});
