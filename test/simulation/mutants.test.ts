import { afterEach, describe, expect, test } from "vitest";
import { GOLDEN_SEEDS } from "./golden-seeds.ts";
import { mutants } from "./mutants.ts";
import { lawBrokenBy } from "./simulate.ts";

/** Histories within which every defect has to show: those that went wrong before, then any. */
const SEEDS = [
  ...GOLDEN_SEEDS.map(([seed]) => seed),
  ...Array.from({ length: 200 }, (_, index) => index + 1),
];

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
});
