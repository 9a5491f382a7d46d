/**
 * F10: a worker of a thread dies before, during or after any of its writes and any of its side effects, and leaves no word. Another one
 * goes on, and the thread comes to the end it would have come to. And a random body of steps, questions, retries, recoveries, limits and
 * branches answers the same, whatever the sequence of crashes, drains, aborts, answers and workers: a failure prints the seed, the program
 * and the weather, shrunk. The heavy variants are in test/long.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { CRASH_BODIES } from "./crash-bodies.ts";
import { killEverywhere } from "./crash-harness.ts";
import { expected, programs } from "./programs.ts";
import { stepsIn } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { withTimeAtRest } from "./time.ts";
import { days, liveThrough } from "./weather.ts";

withTimeAtRest();

onEach(STORES, "a thread whose worker dies", (store) => {
  test.each(Object.entries(CRASH_BODIES))(
    "F10 comes to the same end: %s",
    async (_, body) => {
      expect(await killEverywhere(store(), body)).toBeGreaterThanOrEqual(15);
    },
    60_000,
  );
});

onEach(STORES, "a random thread", (store) => {
  test("comes to the end that its program says, in any weather", async () => {
    let threads = 0;
    await fc.assert(
      fc.asyncProperty(programs, days(false), async (program, weather) => {
        threads += 1;
        const { last, history } = await liveThrough(store(), `t-${threads}`, program, weather, () => false);
        const { output, steps } = expected(program);
        expect(last.state).toEqual({ input: "input", steps, output });
        // Checkpoints are cumulative: each says what the one before it says of the steps, and nothing that is not true in the end.
        const counts = history.map((checkpoint) => Object.keys(stepsIn(checkpoint)).length);
        expect(counts).toEqual(counts.toSorted((a, b) => b - a));
        for (const checkpoint of history) expect(steps).toMatchObject(stepsIn(checkpoint));
      }),
      { numRuns: 30 },
    );
  }, 60_000);
});
