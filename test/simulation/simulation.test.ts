/**
 * Histories of a simulated world, 300 of them and those that once went wrong. `RUNSTREAM_SEED=<seed>` lives through that one alone and
 * tells what happens in it; test/long has ten thousand.
 */
import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { GOLDEN_PROGRAMS, GOLDEN_SEEDS } from "./golden-seeds.ts";
import { contractOnly } from "./mutants.ts";
import { CARELESS_SEEDS, OPTIMISTIC_SEEDS } from "./seeds.ts";
import { normalised, report, simulate } from "./simulate.ts";
import type { Surroundings } from "./surroundings.ts";

const chosen = process.env.RUNSTREAM_SEED;

/** Fails with the trace of the first seed whose history breaks a law. */
const everyLawHolds = async (seed: number, surroundings?: Surroundings) =>
  simulate(seed, surroundings).catch(async () => expect.fail(await report(seed, surroundings)));

if (chosen !== undefined) {
  test(`every law holds in the history of seed ${chosen}`, async () => {
    const told = await report(Number(chosen));
    process.stdout.write(`${told}\n`);
    expect(told).toContain(`seed ${chosen}: every law holds`);
  });
} else {
  describe("a simulated world", () => {
    test("keeps every law in 300 histories, in which everything happens that may happen", async () => {
      const types = new Map<string, number>();
      const ends = new Map<string, number>();
      for (let seed = 1; seed <= 300; seed += 1) {
        const { ledger } = await everyLawHolds(seed);
        for (const { decoded, state } of ledger.runs.values()) {
          for (const { type } of decoded) types.set(type, (types.get(type) ?? 0) + 1);
          ends.set(state.status, (ends.get(state.status) ?? 0) + 1);
        }
      }
      expect([...types.keys()].sort()).toEqual([
        "AttemptClaimed",
        "AttemptReleased",
        "HookClosed",
        "HookDelivered",
        "HookOpened",
        "RunCancelled",
        "RunCompleted",
        "RunCreated",
        "RunFailed",
        "RunStarted",
        "SleepElapsed",
        "SleepScheduled",
        "SleepWoken",
        "StepRetried",
        "StepSettled",
      ]);
      expect(ends.get("completed")).toBeGreaterThan(200);
      expect(ends.get("failed")).toBeGreaterThan(50);
    }, 60_000);

    test("keeps every law but L3, which they give up, in 150 histories of programs with optimistic steps", async () => {
      const ends = new Map<string, number>();
      for (let seed = OPTIMISTIC_SEEDS; seed < OPTIMISTIC_SEEDS + 150; seed += 1) {
        const { ledger } = await everyLawHolds(seed);
        for (const { state } of ledger.runs.values())
          ends.set(state.status, (ends.get(state.status) ?? 0) + 1);
      }
      expect(ends.get("completed")).toBeGreaterThan(100);
    }, 60_000);

    test("keeps every law in 150 rough histories of authors who catch everything and go on", async () => {
      const ends = new Map<string, number>();
      for (let seed = CARELESS_SEEDS; seed < CARELESS_SEEDS + 150; seed += 1) {
        const { ledger } = await everyLawHolds(seed);
        for (const { state } of ledger.runs.values())
          ends.set(state.status, (ends.get(state.status) ?? 0) + 1);
      }
      expect(ends.get("completed")).toBeGreaterThan(30);
      expect(ends.get("failed")).toBeGreaterThan(50);
    }, 60_000);

    test("has in the worlds of golden seeds the programs it had when they were found", async () => {
      const programs: unknown[] = [];
      for (const [seed] of GOLDEN_SEEDS)
        programs.push((await everyLawHolds(seed)).runs.map(({ program }) => program));
      expect(hash("sha256", JSON.stringify(programs), "hex").slice(0, 16)).toBe(GOLDEN_PROGRAMS);
    });

    test.each(GOLDEN_SEEDS)("keeps every law in the history of seed %i, where once %s", async (seed) => {
      await everyLawHolds(seed);
    });

    test("keeps the laws of the contract on a journal that can do no more than that", async () => {
      for (let seed = 1; seed <= 100; seed += 1)
        await everyLawHolds(seed, { plain: true, journal: contractOnly });
    }, 60_000);

    test("keeps every law on a store that answers within the turn that asks it", async () => {
      for (let seed = 1; seed <= 100; seed += 1) await everyLawHolds(seed, { prompt: true });
    }, 60_000);

    test("is the same world for the same seed, event by event", async () => {
      for (let seed = 1; seed <= 300; seed += 12) {
        const [once, again] = [await everyLawHolds(seed), await everyLawHolds(seed)];
        expect(normalised(again.ledger.lines)).toEqual(normalised(once.ledger.lines));
        expect(again.turns).toBe(once.turns);
      }
    }, 60_000);
  });
}
