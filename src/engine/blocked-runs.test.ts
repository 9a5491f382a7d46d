import { describe, expect, test } from "vitest";
import type { AppendError } from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";
import { BlockedRuns, FIRST_LOOK_MS, isBlocking, LONGEST_LOOK_MS, lookAgainMs } from "./blocked-runs.ts";
import { RejectionError } from "./rejection-error.ts";

const store = (error: Exclude<AppendError, { _tag: "WrongExpectedRevision" }>) => new StoreError("no", error);
const erased = new RejectionError("PayloadsErased", "r");

describe("a run is blocked", () => {
  test.for<readonly [string, unknown, boolean]>([
    ["payloads without their key", erased, true],
    ["payloads where no keys were given", new RejectionError("PayloadsLocked", "r"), true],
    ["an append that wants for a key", store({ _tag: "Unavailable", reason: "no key", cause: erased }), true],
    ["what cannot be read", store({ _tag: "Corrupt", reason: "newer" }), true],
    ["a stream that is gone", store({ _tag: "StreamGone", stream: "run-r" }), true],
    ["a store that is away", store({ _tag: "Unavailable", reason: "busy" }), false],
    ["an outcome that is open", store({ _tag: "UnknownOutcome", reason: "cut off", cause: "socket" }), false],
    ["a walk that was overtaken", new RejectionError("Superseded", "r"), false],
    ["anything else", new Error("boom"), false],
    ["nothing", undefined, false],
  ])("by %s: %s", ([, error, blocking]) => expect(isBlocking(error)).toBe(blocking));

  test("and looked at again after a wait that doubles up to an hour", () => {
    expect([0, 1, 2, 20].map(lookAgainMs)).toEqual([
      FIRST_LOOK_MS,
      2 * FIRST_LOOK_MS,
      4 * FIRST_LOOK_MS,
      LONGEST_LOOK_MS,
    ]);
  });

  test("and said once, again for another reason and after it went on, in bounded memory", () => {
    const runs = new BlockedRuns();
    expect([runs.add("a", "x"), runs.add("a", "x"), runs.add("a", "y")]).toEqual([true, false, true]);
    runs.delete("a");
    expect(runs.add("a", "y")).toBe(true);
    for (let n = 0; n < 10_000; n += 1) runs.add(`r${n}`, "x");
    expect([runs.add("a", "y"), runs.add("r9999", "x")]).toEqual([true, false]);
  });
});
