import fc from "fast-check";
import { decodeTime, isValid } from "ulid";
import { describe, expect, it } from "vitest";
import { newMessageId, newRunId, newUlid, nextEventId, runIdFault } from "./ids.ts";
import { timeOfId } from "./run-fold.ts";

const NOW = 1_796_000_000_000;
const MINUTE = 60_000;

/** Clocks that stand still, go on, and are set back and ahead by minutes. */
const clock = fc.oneof(
  fc.constant(NOW),
  fc.integer({ min: NOW, max: NOW + 5 }),
  fc.integer({ min: NOW - 60 * MINUTE, max: NOW + 60 * MINUTE }),
);

describe("ids of runs and messages (I1)", () => {
  it("are ULIDs of the clock as it is, however it stood before", () => {
    fc.assert(
      fc.property(fc.array(clock, { minLength: 1, maxLength: 20 }), (times) => {
        for (const now of times) {
          const bare = newUlid(now);
          expect(isValid(bare)).toBe(true);
          expect(decodeTime(bare)).toBe(now);
          expect(timeOfId(newMessageId(now))).toBe(now);
          expect(runIdFault(newRunId(now), now)).toBeUndefined();
        }
      }),
    );
  });

  it("grow in one millisecond", () => {
    const ids = Array.from({ length: 20_000 }, () => newUlid(NOW));
    expect(ids).toEqual([...new Set(ids)].sort());
  });
});

describe("ids of events (I2)", () => {
  it("grow strictly, whatever the clock does, and get a millisecond of their own where they come from outside", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(clock, fc.boolean()), { minLength: 2, maxLength: 50 }), (asked) => {
        let lastId: string | undefined;
        let lastTime = 0;
        for (const [now, fromOutside] of asked) {
          const id = nextEventId({ lastId, lastTime }, now, fromOutside);
          const time = timeOfId(id);
          expect(isValid(id.slice("evnt_".length))).toBe(true);
          if (lastId !== undefined) expect(id > lastId).toBe(true);
          expect(time).toBeGreaterThanOrEqual(Math.max(now, lastTime));
          expect(time).toBeLessThanOrEqual(Math.max(now, lastTime + 1));
          if (fromOutside) expect(time).toBeGreaterThan(lastTime);
          lastId = id;
          lastTime = time;
        }
      }),
    );
  });

  it("of several runs that one process makes in one millisecond are in the order in which they were made", () => {
    const ids: string[] = [];
    const lastOf = new Map<number, string>();
    for (let made = 0; made < 300; made += 1) {
      const run = (made * 7) % 11;
      const lastId = lastOf.get(run);
      ids.push(nextEventId({ lastId, lastTime: lastId === undefined ? 0 : NOW }, NOW, false));
      lastOf.set(run, ids.at(-1) as string);
    }
    expect(ids).toEqual([...new Set(ids)].sort());
  });

  it("count up within a millisecond that is ahead, and go on in the next one when that is full", () => {
    const after = (lastId: string) => nextEventId({ lastId, lastTime: timeOfId(lastId) }, NOW - 1, false);
    const first = `evnt_${newUlid(NOW).slice(0, 10)}`;
    expect(after(`${first}0000000012345678`)).toMatch(new RegExp(`^${first}00000001[0-9A-Z]{8}$`));
    expect(after(`${first}0GZZZZZZ12345678`)).toMatch(new RegExp(`^${first}0H000000[0-9A-Z]{8}$`));
    expect(timeOfId(after(`${first}ZZZZZZZZ12345678`))).toBe(NOW + 1);
  });

  it("differ between two that go on from the same one", () => {
    const last = { lastId: `evnt_${newUlid(NOW)}`, lastTime: NOW };
    expect(nextEventId(last, NOW, false)).not.toBe(nextEventId(last, NOW, false));
  });

  it("of one run are not those of a clock that another run has seen", () => {
    nextEventId({ lastId: undefined, lastTime: 0 }, NOW + 60 * MINUTE, false);
    expect(timeOfId(nextEventId({ lastId: undefined, lastTime: 0 }, NOW, false))).toBe(NOW);
  });
});
