/** What a run's first step and the steps after it say about their own delay: who is measured, what is taken off, what is dropped. */
import { describe, expect, it, vi } from "vitest";
import {
  computeStepLatencyEventData,
  computeStepLatencyTracking,
  type Event,
  executeStep,
  FatalError,
  runIdCreatedAt,
  type StepExecutorParams,
  type StepLatencyEventData,
  type StepLatencyMoment,
  type StepLatencyTracking,
  type StepLatencyView,
} from "../../src/executor/index.ts";
import {
  counted,
  inputOf,
  later,
  paramsFor,
  STEP_ID,
  settle,
  watchRejections,
  worldWithStep,
} from "./scene.ts";
import { ScriptedWorld } from "./scripted-world.ts";

watchRejections();

const event = (eventType: string, atMs = 0, more: Partial<Event> = {}): Event =>
  ({ eventType, createdAt: new Date(atMs), runId: "wrun_1", eventId: "evnt_1", ...more }) as unknown as Event;

const NEW_RUN = [event("run_created"), event("run_started")];

const view = (more: Partial<StepLatencyView> = {}): StepLatencyView => ({
  events: NEW_RUN,
  invocationStartedClean: true,
  runCreatedAtMs: 1_000,
  runStartedReceivedAtMs: 1_100,
  replayMs: 4,
  preStepBlockingMs: 0,
  preStepBlockingBeforeAttrMs: undefined,
  suspensionHasWaits: false,
  suspensionCreatedHooks: false,
  turbo: false,
  ...more,
});

const FIRST: StepLatencyTracking = {
  ttfsAnchorMs: 1_000,
  preStepBlockingMs: 0,
  rsfsAnchorMs: 1_100,
  replayMs: 4,
  turbo: false,
};

describe("the first step", () => {
  it.each<[string, Partial<StepLatencyView>, StepLatencyTracking | undefined]>([
    ["of a new run", {}, FIRST],
    ["in the fast mode", { turbo: true }, { ...FIRST, turbo: true }],
    [
      "after an attribute",
      { events: [...NEW_RUN, event("attr_set", 1_200)] },
      { ...FIRST, preStepAttrStartMs: 1_200 },
    ],
    [
      "after two attributes: the earlier one",
      { events: [...NEW_RUN, event("attr_set", 1_300), event("attr_set", 1_200)] },
      { ...FIRST, preStepAttrStartMs: 1_200 },
    ],
    [
      "after an attribute with a time of its own",
      { events: [...NEW_RUN, event("attr_set", 1_300, { occurredAt: new Date(1_250) })] },
      { ...FIRST, preStepAttrStartMs: 1_250 },
    ],
    ["after hooks were written", { preStepBlockingMs: 30 }, { ...FIRST, preStepBlockingMs: 30 }],
    [
      "after hooks and an attribute: what was before the attribute",
      {
        events: [...NEW_RUN, event("attr_set", 1_200)],
        preStepBlockingMs: 30,
        preStepBlockingBeforeAttrMs: 10,
      },
      { ...FIRST, preStepBlockingMs: 10, preStepAttrStartMs: 1_200 },
    ],
    [
      "after hooks and an attribute of another delivery: nothing",
      { events: [...NEW_RUN, event("attr_set", 1_200)], preStepBlockingMs: 30 },
      { ...FIRST, preStepBlockingMs: 0, preStepAttrStartMs: 1_200 },
    ],
    ["beside a hook that is open", { events: [...NEW_RUN, event("hook_created", 1_200)] }, FIRST],
    ["of a suspension that made hooks", { suspensionCreatedHooks: true }, FIRST],
    [
      "where nobody saw the answer to run_started",
      { runStartedReceivedAtMs: undefined },
      { ttfsAnchorMs: 1_000, preStepBlockingMs: 0, turbo: false },
    ],
    ["of a run whose creation is not known", { runCreatedAtMs: undefined }, undefined],
    ["of a delivery that found more", { invocationStartedClean: false }, undefined],
    ["of a suspension with a wait", { suspensionHasWaits: true }, undefined],
    ["after a wait", { events: [...NEW_RUN, event("wait_created")] }, undefined],
    ["after a signal", { events: [...NEW_RUN, event("hook_received")] }, undefined],
    ["beside a step that was created", { events: [...NEW_RUN, event("step_created")] }, undefined],
    ["of an empty log", { events: [] }, FIRST],
  ])("%s", (_, more, tracking) => {
    expect(computeStepLatencyTracking(view(more))).toEqual(tracking);
  });
});

describe("the next step", () => {
  const end = (type: string, id: string, atMs: number, more: Partial<Event> = {}): Event =>
    event(type, atMs, { correlationId: id, ...more } as Partial<Event>);
  const one = [...NEW_RUN, event("step_started"), end("step_completed", "s1", 2_000)];

  it.each<[string, Partial<StepLatencyView>, StepLatencyTracking | undefined]>([
    [
      "after a completed one",
      { events: one },
      { prevStepEndMs: 2_000, stepCount: 1, eventCount: 4, turbo: false },
    ],
    [
      "after a failed one",
      { events: [...NEW_RUN, end("step_failed", "s1", 2_000)] },
      { prevStepEndMs: 2_000, stepCount: 1, eventCount: 3, turbo: false },
    ],
    [
      "after one with a time of its own",
      { events: [...NEW_RUN, end("step_completed", "s1", 2_000, { occurredAt: new Date(1_900) })] },
      { prevStepEndMs: 1_900, stepCount: 1, eventCount: 3, turbo: false },
    ],
    [
      "after several: each once",
      { events: [...one, end("step_failed", "s2", 3_000), end("step_failed", "s2", 3_000)] },
      { prevStepEndMs: 3_000, stepCount: 2, eventCount: 6, turbo: false },
    ],
    ["after something else", { events: [...one, event("hook_received")] }, undefined],
    ["of a suspension with a wait", { events: one, suspensionHasWaits: true }, undefined],
    ["of a suspension that made hooks", { events: one, suspensionCreatedHooks: true }, undefined],
    ["after a retry", { events: [...one, event("step_retrying")] }, undefined],
  ])("%s", (_, more, tracking) => {
    expect(computeStepLatencyTracking(view(more))).toEqual(tracking);
  });
});

describe("what is written", () => {
  const moment = (
    tracking: StepLatencyTracking | undefined,
    more: Partial<StepLatencyMoment> = {},
  ): StepLatencyMoment => ({
    tracking,
    stepCodeStartedAtMs: 1_500,
    stepStartPostSentAtMs: 1_150,
    attempt: 1,
    lazyStepStart: true,
    optimisticStart: false,
    ...more,
  });
  const NEXT: StepLatencyTracking = { prevStepEndMs: 1_450, stepCount: 2, eventCount: 9, turbo: false };

  it.each<[string, StepLatencyMoment, StepLatencyEventData | undefined]>([
    [
      "of a first step",
      moment(FIRST),
      { ttfs: 500, rsfs: 50, finalSchedulingReplay: 4, optimizations: ["lazyStepStart"] },
    ],
    [
      "without the time of hooks",
      moment({ ...FIRST, preStepBlockingMs: 30 }),
      { ttfs: 470, rsfs: 50, finalSchedulingReplay: 4, optimizations: ["lazyStepStart"] },
    ],
    [
      "up to the first attribute",
      moment({ ...FIRST, preStepAttrStartMs: 1_200 }),
      { ttfs: 200, rsfs: 50, finalSchedulingReplay: 4, optimizations: ["lazyStepStart"] },
    ],
    [
      "with no anchor for the start",
      moment({ ttfsAnchorMs: 1_000, turbo: false }),
      { ttfs: 500, optimizations: ["lazyStepStart"] },
    ],
    [
      "with a start that was never sent",
      moment(FIRST, { stepStartPostSentAtMs: undefined }),
      { ttfs: 500, finalSchedulingReplay: 4, optimizations: ["lazyStepStart"] },
    ],
    [
      "of a next step",
      moment(NEXT),
      { stso: 50, stepCount: 2, eventCount: 9, optimizations: ["lazyStepStart"] },
    ],
    [
      "with every shortcut",
      moment({ ...NEXT, turbo: true }, { optimisticStart: true }),
      { stso: 50, stepCount: 2, eventCount: 9, optimizations: ["turbo", "lazyStepStart", "optimisticStart"] },
    ],
    [
      "with none",
      moment(NEXT, { lazyStepStart: false }),
      { stso: 50, stepCount: 2, eventCount: 9, optimizations: [] },
    ],
    [
      "by clocks a little apart",
      moment({ ...NEXT, prevStepEndMs: 1_600 }),
      { stso: 0, stepCount: 2, eventCount: 9, optimizations: ["lazyStepStart"] },
    ],
    [
      "by clocks a minute apart",
      moment({ ...NEXT, prevStepEndMs: 61_500 }),
      { stso: 0, stepCount: 2, eventCount: 9, optimizations: ["lazyStepStart"] },
    ],
    ["by clocks more than a minute apart", moment({ ...NEXT, prevStepEndMs: 61_501 }), undefined],
    ["of a first step by such clocks", moment({ ...FIRST, ttfsAnchorMs: 61_501 }), undefined],
    [
      "with a start before the answer to run_started",
      moment({ ...FIRST, rsfsAnchorMs: 9_000 }),
      { ttfs: 500, rsfs: 0, finalSchedulingReplay: 4, optimizations: ["lazyStepStart"] },
    ],
    [
      "with a replay of less than nothing",
      moment({ ...FIRST, replayMs: -1 }),
      { ttfs: 500, rsfs: 50, finalSchedulingReplay: 0, optimizations: ["lazyStepStart"] },
    ],
    ["of a second attempt", moment(FIRST, { attempt: 2 }), undefined],
    ["where nothing is measured", moment(undefined), undefined],
    ["of a tracking without an anchor", moment({ turbo: true }), undefined],
  ])("%s", (_, given, data) => {
    expect(computeStepLatencyEventData(given)).toEqual(data);
  });
});

describe("the event of a step", () => {
  const TRACKING: StepLatencyTracking = {
    prevStepEndMs: Date.now(),
    stepCount: 2,
    eventCount: 9,
    turbo: true,
  };
  const fieldsOf = (world: ScriptedWorld, type: string): string[] =>
    Object.keys(world.asked(type)[0]!.request.eventData!).sort();

  const run = async (body: () => unknown, more: Partial<StepExecutorParams> = {}): Promise<ScriptedWorld> => {
    const world = new ScriptedWorld();
    counted(body);
    await executeStep(
      paramsFor(world, { lazyStepInput: await inputOf(), latencyTracking: TRACKING, ...more }),
    );
    return world;
  };
  const MEASURED = ["eventCount", "optimizations", "stepCount", "stso"];

  it("that completed carries the measurement", async () => {
    const world = await run(() => 1);
    expect(fieldsOf(world, "step_completed")).toEqual(
      [...MEASURED, "result", "stepName", "workflowName"].sort(),
    );
    const data = world.asked("step_completed")[0]!.request.eventData as StepLatencyEventData;
    expect(data.optimizations).toEqual(["turbo", "lazyStepStart"]);
  });

  it("that failed for good does too", async () => {
    const world = await run(() => {
      throw new FatalError("no");
    });
    expect(fieldsOf(world, "step_failed")).toEqual([...MEASURED, "error", "stepName"].sort());
  });

  it("that is to be retried never does", async () => {
    const world = await run(() => {
      throw new Error("no");
    });
    expect(fieldsOf(world, "step_retrying")).toEqual(["error", "stepName"]);
  });

  it("whose body never ran does not", async () => {
    const world = await run(() => 1, { lazyStepInput: Buffer.from("devl[1]") });
    expect(fieldsOf(world, "step_retrying")).toEqual(["error", "stepName"]);
  });

  it("of a second attempt does not", async () => {
    const world = await worldWithStep();
    world.given({ ...world.entities.get(STEP_ID)!, attempt: 1 });
    counted(() => 1);
    await executeStep(paramsFor(world, { latencyTracking: TRACKING }));
    expect(fieldsOf(world, "step_completed")).toEqual(["result", "stepName", "workflowName"]);
  });

  it("says when the body overlapped its start", async () => {
    const world = await run(() => 1, { forceOptimisticStart: true });
    const data = world.asked("step_completed")[0]!.request.eventData as StepLatencyEventData;
    expect(data.optimizations).toEqual(["turbo", "lazyStepStart", "optimisticStart"]);
  });

  it("whose start waited for the run knows when it was sent", async () => {
    vi.useFakeTimers({ now: 10_000, toFake: ["Date"] });
    try {
      const world = new ScriptedWorld();
      const barrier = later<void>();
      counted(() => 1);
      const executing = executeStep(
        paramsFor(world, {
          lazyStepInput: await inputOf(),
          forceOptimisticStart: true,
          runReadyBarrier: barrier.promise,
          latencyTracking: { ttfsAnchorMs: 9_000, rsfsAnchorMs: 9_500, replayMs: 3, turbo: true },
        }),
      );
      for (let turn = 0; turn < 10; turn++) await settle();
      vi.setSystemTime(12_500);
      barrier.resolve();
      await executing;
      expect(world.asked("step_completed")[0]!.request.eventData).toMatchObject({
        ttfs: 1_000,
        rsfs: 3_000,
        finalSchedulingReplay: 3,
      });
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("the time in a run's id", () => {
  it.each([
    ["of a plain id", "wrun_01ARYZ6S41TSV4RRFFQ69G5FAV", 1_469_918_176_385],
    ["of an id that carries more than a time", "wrun_41ARYZ6S41TSV4RRFFQ69G5FAV", 1_469_918_176_385],
    ["of an id without its prefix", "01ARYZ6S41TSV4RRFFQ69G5FAV", 1_469_918_176_385],
    ["of no ULID", "wrun_test", undefined],
    ["of nothing", "", undefined],
  ])("%s", (_, runId, time) => {
    expect(runIdCreatedAt(runId)).toBe(time);
  });
});
