import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comparePositions } from "../events/event-log.ts";
import { BEGINNING, positionOf, serverPosition } from "./positions.ts";

const place = fc.record({
  commit: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
  prepare: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
});

describe("positions", () => {
  it("come back as they were given, and order as the server's log does", () => {
    fc.assert(
      fc.property(place, place, (a, b) => {
        const [one, two] = [positionOf(a)!, positionOf(b)!];
        expect(serverPosition(one)).toEqual(a);
        const order = a.commit === b.commit ? Number(a.prepare - b.prepare) : Number(a.commit - b.commit);
        expect(Math.sign(comparePositions(one, two))).toBe(Math.sign(order));
        expect(comparePositions(BEGINNING, one)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it("what a server sends for none is none", () => {
    const poison = 2n ** 64n - 1n;
    expect(positionOf({ commit: poison, prepare: poison })).toBeUndefined();
    expect(positionOf(undefined)).toBeUndefined();
    expect(serverPosition("17" as typeof BEGINNING)).toBeUndefined();
  });
});
