/**
 * F10: a worker of a thread dies before, during or after any of its writes and any of its side effects, and leaves no word. Another one
 * goes on, and the thread comes to the end it would have come to. The heavy variant is in test/long.
 */
import { expect, test } from "vitest";
import { CRASH_BODIES } from "./crash-bodies.ts";
import { killEverywhere } from "./crash-harness.ts";
import { onEach, STORES } from "./stores.ts";
import { withTimeAtRest } from "./time.ts";

withTimeAtRest();

onEach(STORES, "a thread whose worker dies", (store) => {
  test.each(Object.entries(CRASH_BODIES))("F10 comes to the same end: %s", async (_, body) => {
    expect(await killEverywhere(store(), body)).toBeGreaterThanOrEqual(15);
  });
});
