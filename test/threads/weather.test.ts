/**
 * A random body of steps, questions, retries, recoveries, limits and branches answers the same, whatever the sequence of crashes, drains,
 * aborts, answers and workers. A failure prints the seed, the program and the weather, shrunk.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { expected, programs } from "./programs.ts";
import { onEach, STORES } from "./stores.ts";
import { withTimeAtRest } from "./time.ts";
import { days, liveThrough } from "./weather.ts";

withTimeAtRest();

onEach(STORES, "a random thread", (store) => {
  test("comes to the end that its program says, in any weather", async () => {
    let threads = 0;
    await fc.assert(
      fc.asyncProperty(programs, days(false), async (program, weather) => {
        threads += 1;
        const { last, history } = await liveThrough(store(), `t-${threads}`, program, weather, () => false);
        const { output, steps } = expected(program);
        expect(last.state).toEqual({ input: "input", steps, output });
        // Checkpoints are cumulative: none says less of a step than the one before it, and none says something else.
        for (const checkpoint of history) expect(steps).toMatchObject(checkpoint.state.steps as object);
      }),
      { numRuns: 30 },
    );
  });
});
