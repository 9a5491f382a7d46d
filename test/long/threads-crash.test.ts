/**
 * The heavy variant of the crashes of threads: random bodies, killed at every operation, and killed a second time while somebody goes on;
 * and long weather. The harness and what it checks are those of test/threads.
 */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CRASH_BODIES } from "../threads/crash-bodies.ts";
import { killEverywhere, killTwice } from "../threads/crash-harness.ts";
import { expected, programs, runProgram } from "../threads/programs.ts";
import { LOGGED_STORES, STORES, type ThreadStore } from "../threads/stores.ts";
import { withTimeAtRest } from "../threads/time.ts";
import { days, liveThrough } from "../threads/weather.ts";

withTimeAtRest();

const stage = (open: () => ThreadStore): (() => ThreadStore) => {
  let store: ThreadStore;
  beforeEach(() => {
    store = open();
  });
  afterEach(() => store.close());
  return () => store;
};

/** An fsync for each write, and thousands of lives: fewer of them where that is what a life costs. */
const bodiesIn = (name: string): number => (name.includes("SQLite") ? 6 : 25);

describe.each(STORES)("threads kept in %s", (name, open) => {
  const store = stage(open);

  test("F10 a random body comes to the same end, whenever its worker dies", async () => {
    let lives = 0;
    let bodies = 0;
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        bodies += 1;
        const body = runProgram.bind(undefined, program);
        lives += await killEverywhere(store(), body, `t-${bodies}`);
      }),
      { numRuns: bodiesIn(name) },
    );
    expect(lives).toBeGreaterThan(100);
  });

  test.each(Object.entries(CRASH_BODIES))(
    "F10 killed twice, it comes to the same end: %s",
    async (_name, body) => {
      expect(await killTwice(store(), body)).toBeGreaterThanOrEqual(30);
    },
  );

  test("a random thread comes to its end in any weather", async () => {
    let threads = 0;
    await fc.assert(
      fc.asyncProperty(programs, days(false), async (program, weather) => {
        threads += 1;
        const { last } = await liveThrough(store(), `t-${threads}`, program, weather, () => false);
        const { output, steps } = expected(program);
        expect(last.state).toEqual({ input: "input", steps, output });
      }),
      { numRuns: 200 },
    );
  });
});

describe.each(LOGGED_STORES)("threads kept in %s", (_, open) => {
  const store = stage(open);

  test("a random thread comes to its end with two workers at a time, in any weather", async () => {
    const lost = (error: unknown): boolean =>
      error instanceof Error && ["ThreadConflictError", "GraphNotInterruptedError"].includes(error.name);
    let threads = 0;
    await fc.assert(
      fc.asyncProperty(programs, days(true), async (program, weather) => {
        threads += 1;
        const { last } = await liveThrough(store(), `t-${threads}`, program, weather, lost);
        const { output, steps } = expected(program);
        expect(last.state).toEqual({ input: "input", steps, output });
      }),
      { numRuns: 200 },
    );
  });
});
