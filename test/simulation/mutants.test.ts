import { afterEach, describe, expect, test } from "vitest";
import { GOLDEN_SEEDS } from "./golden-seeds.ts";
import { mutants } from "./mutants.ts";
import { CARELESS_SEEDS } from "./seeds.ts";
import { lawBrokenBy } from "./simulate.ts";

const twoHundred = (first: number): number[] => Array.from({ length: 200 }, (_, index) => first + index);

/** Histories within which every defect has to show: those that went wrong before, then any. */
const SEEDS = [...GOLDEN_SEEDS.map(([seed]) => seed), ...twoHundred(1), ...twoHundred(CARELESS_SEEDS)];

let mend: (() => void) | undefined;
afterEach(() => {
  mend?.();
  mend = undefined;
});

describe("the simulation notices an engine in which", () => {
  test.each(mutants)(
    "$defect",
    async ({ surroundings, patch }) => {
      mend = patch?.();
      let law: string | undefined;
      for (const seed of SEEDS) {
        law = await lawBrokenBy(seed, surroundings);
        if (law !== undefined) break;
      }
      expect(law, `no law is broken in ${SEEDS.length} histories`).toBeDefined();
    },
    60_000,
  );

  test("careless authors show by several histories that a walk goes on after what its body caught", async () => {
    mend = mutants.find(({ defect }) => defect.startsWith("a walk goes on after a refusal"))?.patch?.();
    expect(mend).toBeDefined();
    let broken = 0;
    for (const seed of twoHundred(CARELESS_SEEDS)) if ((await lawBrokenBy(seed)) !== undefined) broken += 1;
    expect(broken).toBeGreaterThanOrEqual(3);
  }, 60_000);
});
