/** What the tests of the executor share: parameters, a registered step, its input, and rejections that nobody looked at. */
import { afterEach, beforeEach, expect } from "vitest";
import {
  dehydrate,
  hydrate,
  registerStep,
  type StepExecutorParams,
  type StepFunction,
} from "../../src/executor/index.ts";
import { ScriptedWorld } from "./scripted-world.ts";

export const STEP_ID = "step_1";
export const STEP_NAME = "step";

/** The input of a step that is called with these arguments. */
export const inputOf = (...args: unknown[]): Promise<Uint8Array> =>
  dehydrate({ args, thisVal: undefined, closureVars: undefined });

/** Registers the step, and counts its calls. */
export const counted = (
  body: (...args: never[]) => unknown,
  maxRetries?: number,
): { calls: () => number } => {
  let calls = 0;
  const fn: StepFunction = async (...args) => {
    calls++;
    return body(...args);
  };
  registerStep(STEP_NAME, fn, maxRetries === undefined ? {} : { maxRetries });
  return { calls: () => calls };
};

export const paramsFor = (
  world: ScriptedWorld,
  more: Partial<StepExecutorParams> = {},
): StepExecutorParams => ({
  world,
  workflowRunId: "wrun_1",
  workflowName: "workflow",
  workflowStartedAt: 0,
  stepId: STEP_ID,
  stepName: STEP_NAME,
  ...more,
});

/** A World with the step created and not started. */
export const worldWithStep = async (...args: unknown[]): Promise<ScriptedWorld> =>
  new ScriptedWorld().given({ stepId: STEP_ID, input: await inputOf(...args) });

/** The error that the step failed with, or was retried for. */
export const recordedError = async (world: ScriptedWorld, type: string): Promise<unknown> => {
  const [call, ...rest] = world.asked(type);
  expect(rest).toEqual([]);
  return hydrate((call!.request.eventData as { error: unknown }).error);
};

/** A promise, and what settles it. */
export const later = <T>() => Promise.withResolvers<T>();

/** Lets everything that is ready run. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Waits, turn by turn and without a timer, until something holds. */
export const until = async (holds: () => boolean): Promise<void> => {
  for (let turn = 0; turn < 10_000 && !holds(); turn++) await settle();
  expect(holds()).toBe(true);
};

/** Every test of the file fails if a rejection was left unhandled in it. */
export const watchRejections = (): void => {
  const seen: unknown[] = [];
  const note = (reason: unknown): void => {
    seen.push(reason);
  };
  beforeEach(() => {
    seen.length = 0;
    process.on("unhandledRejection", note);
  });
  afterEach(async () => {
    await settle();
    process.off("unhandledRejection", note);
    expect(seen).toEqual([]);
  });
};
