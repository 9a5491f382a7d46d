/** The time to a run's first step, and between its steps, from its events alone. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HistoryEvent, RunEvent } from "../../src/events/catalogue.ts";
import { CLOCK_SKEW_MS, latencyOf } from "../../src/projections/latency.ts";
import { anyEvent } from "../events/arbitraries.ts";
import { asleep, created, delivered, elapsed, opened, started } from "./scene.ts";

const claimed = (key: string, at: number): RunEvent => ({
  type: "AttemptClaimed",
  data: { key, holder: "h", at },
});
const settled = (key: string, finishedAt: number): RunEvent => ({
  type: "StepSettled",
  data: { key, name: key, status: "ok", attempts: 1, finishedAt },
});
const of = (...events: readonly HistoryEvent[]) => latencyOf(events.map((event) => ({ event })));

describe("the time to the first step", () => {
  it("is from the creation to the first charge, whichever step settles first (D1)", () => {
    const run = [created("w", 1_000), started(1_010), claimed("a", 1_020), claimed("b", 1_025)];
    expect(of(...run, settled("b", 1_030))).toEqual({ timeToFirstStepMs: 20 });
    expect(of(...run, claimed("a", 9_000), settled("a", 9_500))).toMatchObject({ timeToFirstStepMs: 20 });
  });

  it("is none before there is a step, after a wait, and after a recorded read it is as without it (D1)", () => {
    expect(of(created("w", 1_000), started(1_010))).toEqual({});
    expect(
      of(created("w", 1_000), asleep("sleep!s#0", 5_000), elapsed("sleep!s#0", 5_000), claimed("a", 5_001)),
    ).toEqual({});
    expect(
      of(created("w", 1_000), opened("hook!t#0", "t"), delivered("hook!t#0"), claimed("a", 5_001)),
    ).toEqual({});
    expect(of(created("w", 1_000), settled("now!#0", 1_005), claimed("a", 1_006))).toEqual({
      timeToFirstStepMs: 6,
    });
  });

  it("is 0 where clocks differ a little, and none where they differ by more (D3)", () => {
    expect(of(created("w", 100_000), claimed("a", 100_000 - CLOCK_SKEW_MS))).toEqual({
      timeToFirstStepMs: 0,
    });
    expect(of(created("w", 100_000), claimed("a", 99_999 - CLOCK_SKEW_MS))).toEqual({});
  });
});

describe("the time between steps", () => {
  const stepToStep = (...events: readonly RunEvent[]) => of(created("w", 1_000), ...events).stepToStep;

  it("is from a step's end to the next one's charge (D2)", () => {
    expect(
      stepToStep(
        ...[claimed("a", 1_001), settled("a", 1_010), claimed("b", 1_012), settled("b", 1_020)],
        ...[claimed("c", 1_025), settled("c", 1_030), claimed("d", 1_040), settled("d", 1_050)],
      ),
    ).toEqual({ count: 3, medianMs: 5, maxMs: 10 });
    expect(
      stepToStep(
        ...[
          claimed("a", 1_001),
          settled("a", 1_010),
          claimed("b", 1_012),
          settled("b", 1_020),
          claimed("c", 1_025),
        ],
      ),
    ).toEqual({ count: 2, medianMs: 3.5, maxMs: 5 });
  });

  it("is counted once for steps that are begun together, from the last that settled before them (D2)", () => {
    expect(
      stepToStep(
        ...[claimed("a", 1_001), claimed("b", 1_002), settled("b", 1_030), settled("a", 1_020)],
        ...[claimed("c", 1_034), claimed("d", 1_035)],
      ),
    ).toEqual({ count: 1, medianMs: 4, maxMs: 4 });
  });

  it("is none while another step is under way, or after one that another begins again (D2)", () => {
    expect(stepToStep(claimed("a", 1), claimed("b", 1), settled("a", 5), claimed("c", 6))).toBeUndefined();
    expect(
      stepToStep(claimed("a", 1), settled("a", 5), claimed("b", 6), claimed("b", 900), settled("b", 901)),
    ).toEqual({ count: 1, medianMs: 1, maxMs: 1 });
  });

  it("is none across a sleep or a hook, also one that is open all the while (D2)", () => {
    const [a, A] = [claimed("a", 1_001), settled("a", 1_010)];
    expect(
      stepToStep(a, A, asleep("sleep!s#0", 9), elapsed("sleep!s#0", 9), claimed("b", 5_000)),
    ).toBeUndefined();
    expect(stepToStep(opened("hook!t#0", "t"), a, A, claimed("b", 1_011))).toBeUndefined();
    expect(
      stepToStep(
        ...[opened("hook!t#0", "t"), asleep("hookTimeout!t#0", 9_000, "hookTimeout"), delivered("hook!t#0")],
        ...[a, A, claimed("b", 1_013)],
      ),
    ).toEqual({ count: 1, medianMs: 3, maxMs: 3 });
  });
});

it("is a fold of any events: never negative, and of no more steps than settled", () => {
  const events = fc.array(anyEvent as fc.Arbitrary<HistoryEvent>, { maxLength: 40 });
  fc.assert(
    fc.property(events, (history) => {
      const whole = of(...history);
      expect(whole.timeToFirstStepMs ?? 0).toBeGreaterThanOrEqual(0);
      expect(whole.stepToStep?.medianMs ?? 0).toBeGreaterThanOrEqual(0);
      expect(whole.stepToStep?.count ?? 0).toBeLessThanOrEqual(
        history.filter(({ type }) => type === "StepSettled").length,
      );
    }),
  );
});
