/** A run's history, and the run as it was at any revision. */
import { describe, expect, it } from "vitest";
import { StoreError } from "../../src/events/store-error.ts";
import { readHistory, stateAt } from "../../src/projections/history.ts";
import { foldRun } from "../../src/projections/run-state.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { all, asleep, completed, created, elapsed, ofNewerVersion, put, started } from "./scene.ts";

const RUN = "r\0\ud800";
const EVENTS = [created(), started(), asleep("sleep!x#0", 70), elapsed("sleep!x#0"), completed()];

const seeded = async () => {
  const log = createMemoryLog({ clock: () => 42 });
  await put(log, "other", created());
  await put(log, RUN, ...EVENTS);
  return log;
};

describe("readHistory", () => {
  it("answers every event of the run, decoded, in order, with where and when it was recorded", async () => {
    const log = await seeded();
    const history = await all(readHistory(log, RUN));
    expect(history.map(({ event }) => event)).toEqual(EVENTS);
    expect(history.map(({ revision }) => revision)).toEqual([0, 1, 2, 3, 4]);
    expect(history.every(({ recordedAt, id }) => recordedAt === 42 && id.length === 36)).toBe(true);
    expect(history.at(-1)?.position).toBe(await log.head());
  });

  it("answers the part that is asked for, both ends included", async () => {
    const log = await seeded();
    const part = async (from: number | undefined, upTo: number | undefined): Promise<number[]> =>
      (
        await all(
          readHistory(log, RUN, {
            ...(from === undefined ? {} : { from }),
            ...(upTo === undefined ? {} : { upTo }),
          }),
        )
      ).map(({ revision }) => revision);
    expect(await part(undefined, 0)).toEqual([0]);
    expect(await part(1, 2)).toEqual([1, 2]);
    expect(await part(3, undefined)).toEqual([3, 4]);
    expect(await part(3, 99)).toEqual([3, 4]);
    expect(await part(3, 2)).toEqual([]);
    expect(await part(99, undefined)).toEqual([]);
  });

  it("answers nothing for an unknown run", async () => {
    expect(await all(readHistory(await seeded(), "unknown"))).toEqual([]);
  });

  it("stops at an event that cannot be read, naming the run and the revision, after all before it", async () => {
    const log = createMemoryLog();
    await put(log, "r", created(), started(), ofNewerVersion(asleep("sleep!x#0", 1)), completed());
    const seen: number[] = [];
    const refused = await (async () => {
      for await (const { revision } of readHistory(log, "r")) seen.push(revision);
    })().catch((error: unknown) => error);
    expect(seen).toEqual([0, 1]);
    expect(StoreError.is(refused) && refused.error._tag).toBe("Corrupt");
    expect((refused as Error).message).toContain('run "r" cannot be read at revision 2');
    expect(await all(readHistory(log, "r", { upTo: 1 }))).toHaveLength(2);
  });

  it("refuses a revision that is none", async () => {
    const log = await seeded();
    for (const revision of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(all(readHistory(log, RUN, { from: revision }))).rejects.toThrow(RangeError);
      await expect(stateAt(log, RUN, revision)).rejects.toThrow(RangeError);
    }
  });
});

describe("stateAt", () => {
  it("is the fold of the prefix up to that revision, and past the end the run as it is", async () => {
    const log = await seeded();
    for (let revision = 0; revision < EVENTS.length; revision++)
      expect(await stateAt(log, RUN, revision)).toEqual(foldRun(EVENTS.slice(0, revision + 1)));
    expect(await stateAt(log, RUN, 99)).toEqual(foldRun(EVENTS));
    expect((await stateAt(log, RUN, 2))?.status).toBe("running");
  });

  it("is undefined for an unknown run", async () => {
    expect(await stateAt(await seeded(), "unknown", 3)).toBeUndefined();
  });

  it("reaches back before an event that cannot be read", async () => {
    const log = createMemoryLog();
    await put(log, "r", created(), started(), ofNewerVersion(completed()));
    expect((await stateAt(log, "r", 1))?.status).toBe("running");
    await expect(stateAt(log, "r", 2)).rejects.toThrow(/revision 2/);
  });
});
