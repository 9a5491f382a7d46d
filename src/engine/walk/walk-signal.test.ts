import { describe, expect, test } from "vitest";
import { walkSignal } from "./walk-signal.ts";

describe("walk signal", () => {
  test("the caller ends it, with the caller's reason", () => {
    const [cancelled, caller] = [new AbortController(), new AbortController()];
    const { signal } = walkSignal(cancelled.signal, caller.signal);
    expect(signal.aborted).toBe(false);
    caller.abort("the worker stops");
    expect([signal.aborted, signal.reason, cancelled.signal.aborted]).toEqual([
      true,
      "the worker stops",
      false,
    ]);
  });

  test("the cancellation ends it, and whoever comes later changes nothing", () => {
    const [cancelled, caller] = [new AbortController(), new AbortController()];
    const { signal } = walkSignal(cancelled.signal, caller.signal);
    cancelled.abort("cancelled");
    caller.abort("the worker stops");
    expect(signal.reason).toBe("cancelled");
  });

  test("a caller that has ended it before ends it at once", () => {
    const { signal } = walkSignal(new AbortController().signal, AbortSignal.abort("too late"));
    expect([signal.aborted, signal.reason]).toEqual([true, "too late"]);
  });

  test("without a caller it is the cancellation's", () => {
    const cancelled = new AbortController();
    const { signal, release } = walkSignal(cancelled.signal, undefined);
    release();
    cancelled.abort("cancelled");
    expect([signal, signal.reason]).toEqual([cancelled.signal, "cancelled"]);
  });

  test("L10: released, it no longer listens to the caller", () => {
    const caller = new AbortController();
    const { signal, release } = walkSignal(new AbortController().signal, caller.signal);
    release();
    caller.abort();
    expect(signal.aborted).toBe(false);
  });
});
