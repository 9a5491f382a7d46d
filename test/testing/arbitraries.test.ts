/** The arbitraries keep what they promise, and the oracle of programs says what the engine does. */
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryJournal } from "../../src/embedded/memory-journal.ts";
import { workflow } from "../../src/engine/workflow.ts";
import type { RunEvent } from "../../src/events/catalogue.ts";
import { decodeRunEvent, encodeEvent } from "../../src/events/codec.ts";
import type { Position } from "../../src/events/event-log.ts";
import { decodePayload, encodePayload } from "../../src/events/payload.ts";
import { foldRun } from "../../src/projections/run-state.ts";
import { runstreamArbitraries } from "../../src/testing/arbitraries.ts";
import { runWorkflow } from "../../src/testing/run-workflow.ts";
import { outcomeOf } from "../../src/testing/workflow-program-oracle.ts";
import { bodyOf, type WorkflowProgram } from "../../src/testing/workflow-programs.ts";
import { createReferenceJournal } from "../reference-journal/reference-journal.ts";
import { drive, expectOutcome } from "./program-driver.ts";

const arbitraries = runstreamArbitraries(fc);
const SEED = 20_260_101;
const sampled = <T>(arbitrary: fc.Arbitrary<T>, numRuns: number): T[] =>
  fc.sample(arbitrary, { numRuns, seed: SEED });

/** The smallest value for which `wanted` holds, as fast-check finds it. */
const smallest = <T>(arbitrary: fc.Arbitrary<T>, wanted: (value: T) => boolean): T | undefined => {
  const details = fc.check(
    fc.property(arbitrary, (value) => !wanted(value)),
    { seed: SEED, numRuns: 1_000 },
  );
  return details.counterexample?.[0];
};

const within = (value: unknown): unknown[] => {
  if (value === null || typeof value !== "object") return [value];
  if (value instanceof Map) return [value, ...[...value].flat().flatMap(within)];
  if (value instanceof Set || Array.isArray(value)) return [value, ...[...value].flatMap(within)];
  return [value, ...Object.values(value).flatMap(within)];
};

describe("arbitrary payloads", () => {
  it("are values that the codec carries, unchanged", () => {
    fc.assert(
      fc.property(arbitraries.payload(), (value) =>
        isDeepStrictEqual(decodePayload(encodePayload(value)), value),
      ),
      { numRuns: 500 },
    );
  });

  it("are of every type that a payload may have", () => {
    const values = sampled(arbitraries.payload(), 1_000).flatMap(within);
    const has = (test: (value: unknown) => boolean): boolean => values.some(test);
    for (const Kind of [Date, Map, Set, Uint8Array, URL, Error, RegExp, Array]) {
      expect(has((value) => value instanceof Kind)).toBe(true);
    }
    for (const value of [null, undefined, Number.NaN, -0, true]) {
      expect(has((candidate) => Object.is(candidate, value))).toBe(true);
    }
    expect(has((value) => typeof value === "bigint")).toBe(true);
    expect(has((value) => typeof value === "string" && !value.isWellFormed())).toBe(true);
    expect(
      has((value) => typeof value === "object" && value !== null && Object.getPrototypeOf(value) === null),
    ).toBe(true);
    expect(
      has((value) => typeof value === "object" && value !== null && Object.hasOwn(value, "__proto__")),
    ).toBe(true);
  });

  it("shrink to the least that is wrong", () => {
    expect(smallest(arbitraries.payload(), () => true)).toBe(null);
    expect(smallest(arbitraries.payload(), (value) => value instanceof Map)).toEqual(new Map());
  });
});

describe("arbitrary names", () => {
  it("are never empty, and hold what stores trip over", () => {
    const names = sampled(arbitraries.name(), 1_000);
    expect(names.every((name) => name.length > 0)).toBe(true);
    expect(names).toContain("__proto__");
    expect(names.some((name) => name.includes("\u0000"))).toBe(true);
    expect(names.some((name) => name.includes("#"))).toBe(true);
    expect(names.some((name) => !name.isWellFormed())).toBe(true);
    expect(names.some((name) => name.length === 2_000)).toBe(true);
  });

  it("shrink to a letter", () => {
    expect(smallest(arbitraries.token(), () => true)).toBe("a");
  });
});

const ENDS = ["RunCompleted", "RunFailed", "RunCancelled"];

const recorded = (event: RunEvent, revision: number) => ({
  ...encodeEvent(event),
  stream: "run-x",
  revision,
  position: String(revision) as Position,
  recordedAt: 0,
});

describe("arbitrary lives of a run", () => {
  it("begin with the creation, end at most once, and nothing follows the end", () => {
    fc.assert(
      fc.property(arbitraries.runLife(), (events) => {
        const types = events.map(({ type }) => type);
        expect(types.lastIndexOf("RunCreated")).toBe(0);
        expect(types.filter((type) => type === "RunStarted").length).toBeLessThanOrEqual(1);
        const ends = types.flatMap((type, index) => (ENDS.includes(type) ? [index] : []));
        expect(ends.length === 0 || (ends.length === 1 && ends[0] === types.length - 1)).toBe(true);
      }),
    );
  });

  it("say no fact twice and none that contradicts one before it", () => {
    fc.assert(
      fc.property(arbitraries.runLife(), (events) => {
        const once = new Set<string>();
        for (const [index, { type, data }] of events.entries()) {
          const key = "key" in data && type !== "RunCreated" ? data.key : "";
          const before = foldRun(events.slice(0, index));
          if (type === "StepSettled" && data.attempts > 0) {
            expect(before.charges.get(data.key)?.length).toBeGreaterThan(0);
          }
          if (type === "SleepElapsed") {
            expect(before.sleeps.get(data.key)?.wakeAt).toBeLessThanOrEqual(data.at);
          }
          if (type === "SleepWoken") expect(before.sleeps.get(data.key)?.wakeAt).toBeGreaterThan(data.at);
          if (type === "HookDelivered" || type === "HookClosed") {
            expect(before.hooks.get(data.key)?.status).toBe("open");
          }
          if (type === "StepSettled" || type === "SleepScheduled" || type === "HookOpened") {
            expect(once.has(`${type} ${key}`)).toBe(false);
            once.add(`${type} ${key}`);
          }
        }
      }),
    );
  });

  it("are events that a stream can hold, and time does not run backwards in them", () => {
    fc.assert(
      fc.property(arbitraries.runLife(), (events) => {
        let last = Number.NEGATIVE_INFINITY;
        for (const [revision, event] of events.entries()) {
          const read = decodeRunEvent(recorded(event, revision));
          expect(read._tag).toBe("Right");
          if (read._tag === "Right") expect(read.right.data).toEqual(event.data);
          const at = "at" in event.data ? event.data.at : undefined;
          if (at !== undefined) {
            expect(at).toBeGreaterThanOrEqual(last);
            last = at;
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  it("make use of every event there is", () => {
    const seen = new Set(
      sampled(arbitraries.runLife(), 500).flatMap((events) => events.map(({ type }) => type)),
    );
    expect([...seen].sort()).toEqual([
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
  });

  it("shrink to the fewest events that are needed", () => {
    const life = smallest(arbitraries.runLife(), (events) =>
      events.some(({ type }) => type === "StepSettled"),
    );
    expect(life?.length).toBeLessThanOrEqual(4);
    expect(smallest(arbitraries.runLife(), () => true)?.map(({ type }) => type)).toEqual(["RunCreated"]);
  });
});

describe.each([
  ["a memory journal", createMemoryJournal],
  ["somebody else's journal", createReferenceJournal],
] as const)("arbitrary programs on %s", (_, makeJournal) => {
  it("end as their oracle says", async () => {
    await fc.assert(
      fc.asyncProperty(arbitraries.program({ windows: true }), async (program) => {
        const def = workflow({ run: bodyOf(program) });
        const handle = await runWorkflow(def, {}, { journal: makeJournal(), maxDeliveries: 2_000 });
        await drive(handle, program);
        expectOutcome(handle, program);
      }),
      { numRuns: 150 },
    );
  });

  it("end as their oracle says when they are killed at one of their steps", async () => {
    const killed = arbitraries
      .program({ windows: true })
      .chain((program) =>
        fc.tuple(
          fc.constant(program),
          fc.constantFrom("none", ...outcomeOf(program).keys.filter((key) => key.includes("#"))),
        ),
      );
    await fc.assert(
      fc.asyncProperty(killed, async ([program, key]) => {
        const def = workflow({ run: bodyOf(program) });
        const crashAt = key.slice(0, key.lastIndexOf("#"));
        const handle = await runWorkflow(def, {}, { journal: makeJournal(), maxDeliveries: 2_000, crashAt });
        await drive(handle, program);
        if (handle.crashed) await handle.restart();
        await drive(handle, program);
        expectOutcome(handle, program);
      }),
      { numRuns: 100 },
    );
  });
});

describe("arbitrary programs", () => {
  const kinds = (program: WorkflowProgram): string[] =>
    within(program).flatMap((part) =>
      typeof part === "object" && part !== null && "kind" in part ? [String(part.kind)] : [],
    );

  it("ask for everything that a body may ask for", () => {
    const all = new Set(sampled(arbitraries.program({ windows: true }), 500).flatMap(kinds));
    for (const kind of ["step", "sleep", "wait", "window", "read", "throw"]) expect(all).toContain(kind);
    for (const kind of ["sequence", "parallel", "race", "attempt", "repeat"]) expect(all).toContain(kind);
  });

  it("ask for what the options leave", () => {
    const plain = sampled(arbitraries.program({ failing: false }), 300);
    expect(new Set(plain.flatMap(kinds))).not.toContain("window");
    expect(plain.map((program) => outcomeOf(program).status)).not.toContain("failed");
    const shared = sampled(arbitraries.program({ sharedNames: true }), 300).flatMap(
      (program) => outcomeOf(program).keys,
    );
    expect(shared.some((key) => key === "a#1")).toBe(true);
  });

  it("shrink to a single step", () => {
    expect(smallest(arbitraries.program(), () => true)).toEqual({
      kind: "step",
      id: 0,
      plan: { ends: "ok", value: null, failures: 0 },
    });
  });

  it("shrink to the one part that is wrong", () => {
    const found = smallest(arbitraries.program(), (program) => kinds(program).includes("race"));
    expect(found).toEqual({
      kind: "race",
      id: 0,
      winner: { kind: "step", id: 1, plan: { ends: "ok", value: null, failures: 0 } },
      loserFirst: false,
    });
  });
});
