/** Decisions, given the facts: when a command comes, then these events and this answer. */
import { isLeft } from "fp-ts/lib/Either.js";
import { describe, expect, test } from "vitest";
import type { RunEvent } from "../../events/catalogue.ts";
import { foldRun } from "../../projections/run-state.ts";
import type { Decide } from "./decision.ts";
import { closeHook, deliverHook, openHook } from "./hooks.ts";
import { createRun, moveStatus } from "./run.ts";
import { elapseDue, reachSleep, scheduleSleep, wakeSleeps } from "./sleeps.ts";
import { claimAttempt, noteRetry, releaseAttempt, settleStep } from "./steps.ts";

const CREATED: RunEvent = {
  type: "RunCreated",
  data: { workflow: "job", createdAt: 1, input: { json: {} } },
};
const STARTED: RunEvent = { type: "RunStarted", data: { at: 2 } };
const COMPLETED: RunEvent = { type: "RunCompleted", data: { at: 9 } };
const CANCELLED: RunEvent = { type: "RunCancelled", data: { at: 9 } };
const entry = {
  key: "a#0",
  name: "a",
  status: "ok",
  output: { json: 1 },
  attempts: 1,
  finishedAt: 5,
} as const;
const SETTLED: RunEvent = { type: "StepSettled", data: entry };
const claimed = (holder: string, at: number): RunEvent => ({
  type: "AttemptClaimed",
  data: { key: "a#0", holder, at },
});
const slept = (key: string, wakeAt: number, more: object = {}): RunEvent => ({
  type: "SleepScheduled",
  data: { key, wakeAt, kind: "sleep", at: 3, ...more },
});
const OPENED: RunEvent = { type: "HookOpened", data: { key: "hook!t#0", token: "t", at: 3 } };
const DELIVERED: RunEvent = { type: "HookDelivered", data: { key: "hook!t#0", payload: { json: 1 }, at: 4 } };
const CLOSED: RunEvent = { type: "HookClosed", data: { key: "hook!t#0", at: 4 } };

/** What a command decides on these facts: a rejection's tag, or the events' types and the answer. */
const given =
  (...events: RunEvent[]) =>
  <A>(command: Decide<A>): string | [string[], A] => {
    const decision = command(foldRun(events));
    if (isLeft(decision)) return decision.left._tag;
    return [decision.right.events.map(({ type }) => type), decision.right.answer];
  };

const running = given(CREATED, STARTED);
const over = given(CREATED, STARTED, OPENED, slept("s", 10), claimed("w", 1), COMPLETED);
const nothing = given();

describe("a run's life", () => {
  const create = createRun({ workflow: "job", createdAt: 1, input: { json: {} } });

  test("is created once", () => {
    expect(nothing(create)).toEqual([["RunCreated"], undefined]);
    expect(given(CREATED)(create)).toBe("RunExists");
    expect(over(create)).toBe("RunExists");
  });

  test("may be created further on, with the facts that brought it there", () => {
    expect(nothing(createRun({ workflow: "job", createdAt: 1 }, "running"))).toEqual([
      ["RunCreated", "RunStarted"],
      undefined,
    ]);
    expect(nothing(createRun({ workflow: "job", createdAt: 1 }, "cancelled"))).toEqual([
      ["RunCreated", "RunCancelled"],
      undefined,
    ]);
  });

  test.each([
    [
      "pending to running",
      given(CREATED),
      moveStatus("running", {}, ["pending", "running"], 2),
      [["RunStarted"], true],
    ],
    ["running stays running", running, moveStatus("running", {}, ["pending", "running"], 2), [[], true]],
    ["running to completed", running, moveStatus("completed", {}, ["running"], 2), [["RunCompleted"], true]],
    ["running to failed", running, moveStatus("failed", {}, ["running"], 2), [["RunFailed"], true]],
    [
      "pending to cancelled",
      given(CREATED),
      moveStatus("cancelled", {}, undefined, 2),
      [["RunCancelled"], true],
    ],
    [
      "L4: over, and expected to run",
      over,
      moveStatus("cancelled", {}, ["pending", "running"], 2),
      [[], false],
    ],
    ["L4: over, and nothing expected", over, moveStatus("failed", {}, undefined, 2), [[], true]],
    ["not what was expected", given(CREATED), moveStatus("completed", {}, ["running"], 2), [[], false]],
    ["unknown", nothing, moveStatus("running", {}, undefined, 2), [[], false]],
  ] as const)("%s", (_, facts, command, decided) => {
    expect(facts(command)).toEqual(decided);
  });
});

describe("a step", () => {
  test("settles once: who comes second is answered with the entry that stands", () => {
    expect(running(settleStep(entry))).toEqual([["StepSettled"], { entry, mine: true }]);
    const second = { ...entry, output: { json: 2 }, finishedAt: 8 };
    expect(given(CREATED, STARTED, SETTLED)(settleStep(second))).toEqual([[], { entry, mine: false }]);
  });

  test("of a run that is over is answered and not recorded", () => {
    expect(over(settleStep(entry))).toEqual([[], { entry, mine: false }]);
    expect(nothing(settleStep(entry))).toBe("RunMissing");
  });

  test.each([
    ["the first", [], "w1", [["AttemptClaimed"], 1]],
    ["beside a live one", [claimed("w1", 100)], "w2", [["AttemptClaimed"], 2]],
    ["again: neither counted nor renewed", [claimed("w1", 100)], "w1", [[], 1]],
    ["beside one exactly as old as the lease", [claimed("w1", 50)], "w2", [["AttemptClaimed"], 2]],
    ["beside a dead one", [claimed("w1", 49)], "w2", [["AttemptClaimed"], 1]],
    ["again, after one's own died", [claimed("w1", 49)], "w1", [["AttemptClaimed"], 1]],
  ] as const)("is charged: %s", (_, facts, holder, decided) => {
    const claim = claimAttempt({ key: "a#0", holder, leaseMs: 60, at: 110 });
    expect(given(CREATED, STARTED, ...facts)(claim)).toEqual(decided);
  });

  test("is charged by nobody once the run is over", () => {
    expect(over(claimAttempt({ key: "a#0", holder: "w", leaseMs: 1, at: 1 }))).toBe("RunSettled");
    expect(nothing(claimAttempt({ key: "a#0", holder: "w", leaseMs: 1, at: 1 }))).toBe("RunMissing");
  });

  test("gives back exactly one holder's charge", () => {
    const held = given(CREATED, claimed("w1", 1), claimed("w2", 1));
    expect(held(releaseAttempt("a#0", "w1", 2))).toEqual([["AttemptReleased"], undefined]);
    expect(held(releaseAttempt("a#0", "w3", 2))).toEqual([[], undefined]);
    expect(over(releaseAttempt("a#0", "w", 2))).toEqual([[], undefined]);
    expect(nothing(releaseAttempt("a#0", "w", 2))).toBe("RunMissing");
  });

  test("a failed try is noted while the run lives", () => {
    const note = noteRetry({
      key: "a#0",
      attempt: 1,
      maxAttempts: 3,
      error: { message: "no" },
      delayMs: 0,
      at: 3,
    });
    expect(running(note)).toEqual([["StepRetried"], undefined]);
    expect(over(note)).toEqual([[], undefined]);
  });
});

describe("a wait", () => {
  const wait = { key: "s", wakeAt: 10, kind: "sleep", at: 5 } as const;

  test("L7: its deadline is taken once", () => {
    expect(running(scheduleSleep(wait))).toEqual([["SleepScheduled"], { wakeAt: 10, kind: "sleep" }]);
    expect(given(CREATED, slept("s", 7))(scheduleSleep(wait))).toEqual([[], { wakeAt: 7, kind: "sleep" }]);
    expect(over(scheduleSleep({ ...wait, key: "other" }))).toBe("RunSettled");
    expect(nothing(scheduleSleep(wait))).toBe("RunMissing");
  });

  test("is over in the decision that reaches it, when its deadline has passed", () => {
    expect(running(reachSleep({ ...wait, at: 10 }))).toEqual([
      ["SleepScheduled", "SleepElapsed"],
      { wakeAt: 10, kind: "sleep", over: "elapsed" },
    ]);
    expect(running(reachSleep({ ...wait, at: 9 }))).toEqual([
      ["SleepScheduled"],
      { wakeAt: 10, kind: "sleep" },
    ]);
    const woken: RunEvent = { type: "SleepWoken", data: { key: "s", at: 4 } };
    expect(given(CREATED, slept("s", 7), woken)(reachSleep({ ...wait, at: 20 }))).toEqual([
      [],
      { wakeAt: 7, kind: "sleep", over: "woken" },
    ]);
  });

  const waits = [
    slept("plain", 10),
    slept("named", 10, { correlationId: "x" }),
    slept("window", 10, { kind: "hookTimeout", correlationId: "x" }),
    slept("elapsed", 4, { correlationId: "x" }),
  ];
  test.each([
    ["without ids: sleeps only", undefined, ["plain", "named"]],
    ["with ids: whatever declared one", ["x", "y"], ["named", "window"]],
    ["no id at all matches nothing", [], []],
    ['"" matches no undeclared id', [""], []],
  ] as const)("trap 16: is cut short unless it has elapsed, %s", (_, ids, keys) => {
    const decision = wakeSleeps(ids, 5)(foldRun([CREATED, STARTED, ...waits]));
    if (isLeft(decision)) throw new Error("rejected");
    expect(decision.right.events.map(({ data }) => (data as { key: string }).key)).toEqual(keys);
    expect(decision.right.answer).toBe(keys.length);
  });

  test("those due together are over in the order of their deadlines, then of their keys", () => {
    const decision = elapseDue(10)(
      foldRun([CREATED, slept("c", 9), slept("b", 10), slept("a", 10), slept("d", 11)]),
    );
    if (isLeft(decision)) throw new Error("rejected");
    expect(decision.right.events.map(({ data }) => (data as { key: string }).key)).toEqual(["c", "a", "b"]);
  });

  test("ends with its run: nothing is woken and nothing elapses", () => {
    expect(over(wakeSleeps(undefined, 5))).toEqual([[], 0]);
    expect(over(elapseDue(50))).toEqual([[], 0]);
    expect(nothing(elapseDue(50))).toEqual([[], 0]);
  });
});

describe("a hook", () => {
  const open = openHook("hook!t#0", "t", 3);
  const deliver = deliverHook("hook!t#0", "t", { json: 1 }, 4);
  const close = closeHook("hook!t#0", 4);
  const facts = (...events: RunEvent[]) => given(CREATED, STARTED, ...events);

  test("is opened once, and keeps its record whatever becomes of it", () => {
    expect(running(open)).toEqual([["HookOpened"], { token: "t", status: "open" }]);
    expect(facts(OPENED, CLOSED)(open)).toEqual([[], { token: "t", status: "closed" }]);
    expect(given(CREATED, CANCELLED)(open)).toBe("RunSettled");
    expect(nothing(open)).toBe("RunMissing");
  });

  test("L5: takes one signal, and refuses every other one", () => {
    expect(facts(OPENED)(deliver)).toEqual([["HookDelivered"], true]);
    expect(facts(OPENED, DELIVERED)(deliver)).toEqual([[], false]);
    expect(facts(OPENED, CLOSED)(deliver)).toEqual([[], false]);
    expect(facts()(deliver)).toEqual([[], false]);
    expect(facts(OPENED)(deliverHook("hook!t#0", "u", undefined, 4))).toEqual([[], false]);
    expect(over(deliver)).toEqual([[], false]);
  });

  test("trap 10: closes unless it was answered", () => {
    expect(facts(OPENED)(close)).toEqual([["HookClosed"], true]);
    expect(facts(OPENED, CLOSED)(close)).toEqual([[], true]);
    expect(facts(OPENED, DELIVERED)(close)).toEqual([[], false]);
    expect(facts()(close)).toEqual([[], true]);
    expect(over(close)).toEqual([[], true]);
  });
});
