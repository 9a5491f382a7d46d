/**
 * Any number of executions of one step, one after another and at once, started in any way, over a World that refuses whatever it likes:
 * what is in the log and what the callers were told is the same story.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  EntityConflictError,
  executeStep,
  FatalError,
  PreconditionFailedError,
  RunExpiredError,
  registerStep,
  type StepExecutionResult,
  type StepExecutorParams,
  ThrottleError,
  TooEarlyError,
  WorkflowWorldError,
} from "../../src/executor/index.ts";
import { inputOf, paramsFor, STEP_ID, STEP_NAME, settle, watchRejections } from "./scene.ts";
import { ScriptedWorld } from "./scripted-world.ts";

watchRejections();

const ERRORS: Record<string, () => Error> = {
  "409": () => new EntityConflictError("m"),
  "410": () => new RunExpiredError("m"),
  "412": () => new PreconditionFailedError("m"),
  "425": () => new TooEarlyError("m"),
  "429": () => new ThrottleError("m"),
  "500": () => new WorkflowWorldError("m", { status: 500 }),
};

const BODIES: Record<string, () => unknown> = {
  result: () => 1,
  failure: () => {
    throw new Error("x");
  },
  fatal: () => {
    throw new FatalError("x");
  },
  unstorable: () => () => 1,
};

interface Execution {
  readonly mode: "bare" | "owned" | "lazy" | "optimistic" | "barrier";
  readonly body: string;
  readonly turns: number;
  readonly together: boolean;
  readonly ceiling: boolean;
}

interface Refusal {
  readonly type: string;
  readonly error: string | undefined;
  readonly turns: number;
}

const execution: fc.Arbitrary<Execution> = fc.record({
  mode: fc.constantFrom("bare", "owned", "lazy", "optimistic", "barrier"),
  body: fc.constantFrom(...Object.keys(BODIES)),
  turns: fc.integer({ min: 0, max: 3 }),
  together: fc.boolean(),
  ceiling: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
});

const refusal: fc.Arbitrary<Refusal> = fc.record({
  type: fc.constantFrom("step_started", "step_completed", "step_failed", "step_retrying"),
  error: fc.option(fc.constantFrom(...Object.keys(ERRORS)), { nil: undefined }),
  turns: fc.integer({ min: 0, max: 3 }),
});

const pause = async (turns: number): Promise<void> => {
  for (let turn = 0; turn < turns; turn++) await settle();
};

const paramsOf = async (world: ScriptedWorld, { mode, ceiling }: Execution): Promise<StepExecutorParams> =>
  paramsFor(world, {
    ...(mode === "owned" ? { ownerMessageId: "m1" } : {}),
    ...(mode === "bare" || mode === "owned" ? {} : { lazyStepInput: await inputOf() }),
    ...(mode === "optimistic" || mode === "barrier" ? { forceOptimisticStart: true } : {}),
    ...(mode === "barrier" ? { runReadyBarrier: pause(2) } : {}),
    ...(ceiling ? { authoritativeAttempt: 9 } : {}),
  });

const story = async (executions: readonly Execution[], refusals: readonly Refusal[]): Promise<void> => {
  const world = new ScriptedWorld();
  for (const { type, error, turns } of refusals) {
    world.on(type, async () => {
      await pause(turns);
      if (error !== undefined) throw ERRORS[error]!();
      return undefined;
    });
  }
  const verdicts: (StepExecutionResult | { type: "rejected"; error: Error })[] = [];
  let running: Promise<unknown>[] = [];
  for (const each of executions) {
    const params = await paramsOf(world, each);
    registerStep(
      STEP_NAME,
      async () => {
        await pause(each.turns);
        return BODIES[each.body]!();
      },
      { maxRetries: 1 },
    );
    running.push(
      executeStep(params).then(
        (verdict) => verdicts.push(verdict),
        (error: Error) => verdicts.push({ type: "rejected", error }),
      ),
    );
    if (each.together) continue;
    await Promise.all(running);
    running = [];
  }
  await Promise.all(running);

  const count = (type: string): number => world.log.filter(({ eventType }) => eventType === type).length;
  const told = (type: string): number => verdicts.filter((verdict) => verdict.type === type).length;
  expect(verdicts.length).toBe(executions.length);
  expect(count("step_completed") + count("step_failed")).toBeLessThanOrEqual(1);
  expect(told("completed")).toBe(count("step_completed"));
  expect(told("failed")).toBe(count("step_failed"));
  expect(told("retry")).toBeGreaterThanOrEqual(count("step_retrying"));
  expect(count("step_retrying")).toBeLessThanOrEqual(count("step_started"));
  const first = world.log.findIndex(({ eventType }) => eventType === "step_started");
  const completed = world.log.findIndex(({ eventType }) => eventType === "step_completed");
  if (completed >= 0) expect(first).toBeGreaterThanOrEqual(0);
  if (completed >= 0) expect(completed).toBeGreaterThan(first);
  for (const verdict of verdicts) {
    if (verdict.type === "rejected") expect(verdict.error).toBeInstanceOf(WorkflowWorldError);
  }
  const entity = world.entities.get(STEP_ID);
  if (count("step_completed") === 1) expect(entity?.status).toBe("completed");
  if (count("step_failed") === 1) expect(entity?.status).toBe("failed");
};

describe("executions of one step", () => {
  it("tell what the log tells, whatever the World refuses and however they meet", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(execution, { minLength: 1, maxLength: 6 }),
        fc.array(refusal, { maxLength: 6 }),
        story,
      ),
      { numRuns: 400 },
    );
  });
});
