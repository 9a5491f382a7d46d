import { describe, expect, it } from "vitest";
import { randomFraction } from "./random-fraction.ts";

describe("the randomness of ids", () => {
  it("is every one of 256 fractions about as often, over many fillings of the pool", () => {
    const counts = new Map<number, number>();
    for (let i = 0; i < 256 * 1_000; i += 1) {
      const fraction = randomFraction();
      counts.set(fraction * 256, (counts.get(fraction * 256) ?? 0) + 1);
    }
    expect([...counts.keys()].sort((a, b) => a - b)).toEqual(Array.from({ length: 256 }, (_, i) => i));
    // Ten standard deviations: a fair source fails this less than once in 10^20 times.
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(320);
  });

  it("does not come again with the next filling", () => {
    const filling = () => Array.from({ length: 4_096 }, randomFraction).join();
    expect(filling()).not.toBe(filling());
  });
});
