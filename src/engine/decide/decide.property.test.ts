/** Properties of all decisions and of the fold, on facts in any order, sensible or not. */
import fc from "fast-check";
import { isLeft } from "fp-ts/lib/Either.js";
import { describe, expect, test } from "vitest";
import type { RunEvent } from "../../events/catalogue.ts";
import { emptyRun, evolve, foldRun, type RunState, speculate } from "../../projections/run-state.ts";
import type { Decide } from "./decision.ts";
import { closeHook, deliverHook, openHook } from "./hooks.ts";
import { createRun, moveStatus } from "./run.ts";
import { elapseDue, reachSleep, scheduleSleep, wakeSleeps } from "./sleeps.ts";
import { claimAttempt, releaseAttempt, settleStep } from "./steps.ts";

const keys = fc.constantFrom("a#0", "a#1", "sleep!a#0", "hook!t#0", "__proto__");
const instants = fc.nat(20);
const holders = fc.constantFrom("w1", "w2", "w3");
const tokens = fc.constantFrom("t", "u");
const payloads = fc.option(
  fc.nat(9).map((json) => ({ json })),
  { nil: undefined },
);
const kinds = fc.constantFrom("sleep" as const, "hookTimeout" as const);
const ids = fc.option(fc.constantFrom("x", ""), { nil: undefined });
const entries = fc.tuple(keys, payloads, instants).map(([key, output, finishedAt]) => ({
  key,
  name: "a",
  status: "ok" as const,
  ...(output !== undefined && { output }),
  attempts: 1,
  finishedAt,
}));
const ends = fc.constantFrom("completed" as const, "failed" as const, "cancelled" as const);

const events: fc.Arbitrary<RunEvent> = fc.oneof(
  instants.map((createdAt): RunEvent => ({ type: "RunCreated", data: { workflow: "job", createdAt } })),
  instants.map((at): RunEvent => ({ type: "RunStarted", data: { at } })),
  fc
    .tuple(keys, holders, instants)
    .map(([key, holder, at]): RunEvent => ({ type: "AttemptClaimed", data: { key, holder, at } })),
  fc
    .tuple(keys, holders, instants)
    .map(([key, holder, at]): RunEvent => ({ type: "AttemptReleased", data: { key, holder, at } })),
  entries.map((data): RunEvent => ({ type: "StepSettled", data })),
  fc.tuple(keys, instants, kinds, ids).map(
    ([key, wakeAt, kind, correlationId]): RunEvent => ({
      type: "SleepScheduled",
      data: { key, wakeAt, kind, at: 0, ...(correlationId !== undefined && { correlationId }) },
    }),
  ),
  fc.tuple(keys, instants).map(([key, at]): RunEvent => ({ type: "SleepElapsed", data: { key, at } })),
  fc.tuple(keys, instants).map(([key, at]): RunEvent => ({ type: "SleepWoken", data: { key, at } })),
  fc
    .tuple(keys, tokens)
    .map(([key, token]): RunEvent => ({ type: "HookOpened", data: { key, token, at: 0 } })),
  fc.tuple(keys, payloads).map(
    ([key, payload]): RunEvent => ({
      type: "HookDelivered",
      data: { key, at: 0, ...(payload !== undefined && { payload }) },
    }),
  ),
  keys.map((key): RunEvent => ({ type: "HookClosed", data: { key, at: 0 } })),
  { weight: 1, arbitrary: instants.map((at): RunEvent => ({ type: "RunCompleted", data: { at } })) },
);
const histories = fc.array(events, { maxLength: 25 });
/** Mostly runs that exist, so that commands find something. */
const created = histories.map((rest): RunEvent[] => [
  { type: "RunCreated", data: { workflow: "job", createdAt: 0 } },
  ...rest,
]);

const commands: fc.Arbitrary<Decide<unknown>> = fc.oneof(
  fc.constant(createRun({ workflow: "job", createdAt: 0 })),
  fc.tuple(ends, instants).map(([end, at]) => moveStatus(end, {}, undefined, at)),
  fc.tuple(ends, instants).map(([end, at]) => moveStatus(end, {}, ["running"], at)),
  instants.map((at) => moveStatus("running", {}, ["pending", "running"], at)),
  entries.map((entry) => settleStep(entry)),
  fc
    .tuple(keys, holders, instants, instants)
    .map(([key, holder, at, leaseMs]) => claimAttempt({ key, holder, at, leaseMs })),
  fc.tuple(keys, holders, instants).map(([key, holder, at]) => releaseAttempt(key, holder, at)),
  fc
    .tuple(keys, instants, kinds, ids, instants)
    .map(([key, wakeAt, kind, correlationId, at]) => scheduleSleep({ key, wakeAt, kind, correlationId, at })),
  fc
    .tuple(keys, instants, kinds, ids, instants)
    .map(([key, wakeAt, kind, correlationId, at]) => reachSleep({ key, wakeAt, kind, correlationId, at })),
  fc
    .tuple(fc.option(fc.array(fc.constantFrom("x", "")), { nil: undefined }), instants)
    .map(([some, at]) => wakeSleeps(some, at)),
  instants.map((at) => elapseDue(at)),
  fc.tuple(keys, tokens, instants).map(([key, token, at]) => openHook(key, token, at)),
  fc
    .tuple(keys, tokens, payloads, instants)
    .map(([key, token, payload, at]) => deliverHook(key, token, payload, at)),
  fc.tuple(keys, instants).map(([key, at]) => closeHook(key, at)),
);

/** A state as plain data, whichever kind of map it holds. */
const plain = (state: RunState) => ({
  ...state,
  steps: new Map(state.steps.entries()),
  charges: new Map(state.charges.entries()),
  sleeps: new Map(state.sleeps.entries()),
  hooks: new Map(state.hooks.entries()),
});

const facts = fc.oneof(histories, created);

describe("decisions", () => {
  test("any command twice = once: the second time nothing is left to record", () => {
    fc.assert(
      fc.property(facts, commands, (history, command) => {
        const state = foldRun(history);
        const first = command(state);
        if (isLeft(first)) return;
        for (const event of first.right.events) evolve(state, event, state.revision + 1);
        const second = command(state);
        expect(isLeft(second) ? [] : second.right.events).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  test("are total, and leave the state they decide on as it was", () => {
    fc.assert(
      fc.property(facts, commands, (history, command) => {
        const state = foldRun(history);
        const before = structuredClone(plain(state));
        command(state);
        expect(plain(state)).toEqual(before);
      }),
      { numRuns: 1_000 },
    );
  });

  test("every event that is decided changes the state, but a narrated try", () => {
    fc.assert(
      fc.property(facts, commands, (history, command) => {
        const state = foldRun(history);
        const decision = command(state);
        if (isLeft(decision)) return;
        for (const event of decision.right.events) {
          const { revision: _, ...before } = structuredClone(plain(state));
          evolve(state, event, state.revision + 1);
          const { revision: __, ...after } = plain(state);
          expect(after).not.toEqual(before);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("the fold", () => {
  test("S3: fold(prefix) then fold(rest) = fold(all)", () => {
    fc.assert(
      fc.property(histories, fc.nat(25), (history, cut) => {
        const state = foldRun(history.slice(0, cut));
        for (const event of history.slice(cut)) evolve(state, event, state.revision + 1);
        expect(plain(state)).toEqual(plain(foldRun(history)));
      }),
    );
  });

  test("S3: going on from a state in a layer of its own leaves that state as it is, and comes to the same", () => {
    fc.assert(
      fc.property(histories, fc.array(fc.nat(25), { minLength: 1, maxLength: 3 }), (history, cuts) => {
        const [cut = 0] = cuts;
        const base = foldRun(history.slice(0, cut));
        const before = structuredClone(plain(base));
        const layer = speculate(base);
        for (const event of history.slice(cut)) evolve(layer, event, layer.revision + 1);
        expect(plain(base)).toEqual(before);
        const { settled, ...whole } = plain(foldRun(history));
        expect({ ...plain(layer), settled: [...base.settled, ...layer.settled] }).toEqual({
          ...whole,
          settled,
        });
        expect(layer.sleeps.size).toBe([...layer.sleeps.entries()].length);
        expect([...layer.steps.values()]).toEqual([...layer.steps.entries()].map(([, value]) => value));
      }),
    );
  });

  test("S1: L4 holds in any order of events: what is settled stays as it is", () => {
    fc.assert(
      fc.property(histories, events, (history, last) => {
        const state = foldRun(history);
        const before = structuredClone(plain(state));
        evolve(state, last, state.revision + 1);
        if (["completed", "failed", "cancelled"].includes(before.status))
          expect(state.status).toBe(before.status);
        for (const [key, entry] of before.steps) expect(state.steps.get(key)).toEqual(entry);
        for (const [key, hook] of before.hooks)
          if (hook.status !== "open") expect(state.hooks.get(key)).toEqual(hook);
        expect(state.settled.slice(0, before.settled.length)).toEqual(before.settled);
      }),
    );
  });

  test("of nothing is a run that is not there", () => {
    expect(foldRun([])).toEqual(emptyRun());
  });
});
