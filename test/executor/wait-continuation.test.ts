/** The delay and the key of a wait's continuation: ten cases. */
import { describe, expect, it } from "vitest";
import {
  getWaitContinuationDispatch,
  NEAR_ELAPSED_WAIT_THRESHOLD_SECONDS,
  WAIT_CONTINUATION_MAX_DELAY_SECONDS,
} from "../../src/executor/index.ts";

const NOW = 1_700_000_000_400;
const SECOND = 1_700_000_000;
const HOP = WAIT_CONTINUATION_MAX_DELAY_SECONDS;

describe("a continuation", () => {
  it.each([
    ["with a second left", 1, 1, `wait_1:${SECOND}`],
    ["at the threshold", NEAR_ELAPSED_WAIT_THRESHOLD_SECONDS, 2, `wait_1:${SECOND}`],
    ["just past the threshold", 3, 3, "wait_1"],
    ["of an hour", 3_600, 3_600, "wait_1"],
    ["of the longest delay", HOP, HOP, "wait_1"],
    ["of a second more", HOP + 1, HOP, "wait_1:hop-2"],
    ["of two hops", 2 * HOP, HOP, "wait_1:hop-2"],
    ["of two hops and a second", 2 * HOP + 1, HOP, "wait_1:hop-3"],
  ])("%s", (_, timeoutSeconds, delaySeconds, idempotencyKey) => {
    expect(getWaitContinuationDispatch(timeoutSeconds, "wait_1", NOW)).toEqual({
      delaySeconds,
      idempotencyKey,
    });
  });

  it("that came early sends the next one under another key", () => {
    const early = getWaitContinuationDispatch(1, "wait_1", NOW).idempotencyKey;
    expect(getWaitContinuationDispatch(1, "wait_1", NOW + 1_000).idempotencyKey).not.toBe(early);
    expect(getWaitContinuationDispatch(1, "wait_1", NOW + 100).idempotencyKey).toBe(early);
  });

  it("of a long wait goes down hop by hop, each under a key of its own, to the end", () => {
    const keys: string[] = [];
    for (let left = 5 * HOP - 10; left > 0; ) {
      const { delaySeconds, idempotencyKey } = getWaitContinuationDispatch(left, "wait_1", NOW);
      keys.push(idempotencyKey);
      left -= delaySeconds;
    }
    expect(keys).toEqual(["wait_1:hop-5", "wait_1:hop-4", "wait_1:hop-3", "wait_1:hop-2", "wait_1"]);
  });
});
