/** The executor over Runstream's own World instead of a scripted one: steps that live, are retried, raced for and cut off. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  dehydrate,
  type Event,
  executeStep,
  hydrate,
  registerStep,
  type StepExecutionResult,
  type StepExecutorParams,
} from "../../src/executor/index.ts";
import { createWorld, type RunstreamWorld } from "../../src/integrations/workflow-sdk/index.ts";
import { watchRejections } from "./scene.ts";

watchRejections();

let world: RunstreamWorld;
let steps = 0;

beforeAll(() => {
  world = createWorld({ store: ":memory:" });
});
afterAll(() => world.close?.());

const startedRun = async (): Promise<string> => {
  const { run } = await world.events.create(null, {
    eventType: "run_created",
    specVersion: 5,
    eventData: { deploymentId: "dpl_1", workflowName: "workflow", input: await dehydrate([]) },
  });
  await world.events.create(run!.runId, { eventType: "run_started", specVersion: 5 });
  return run!.runId;
};

const paramsOf = async (
  workflowRunId: string,
  stepName: string,
  more: Partial<StepExecutorParams> = {},
): Promise<StepExecutorParams> => ({
  world,
  workflowRunId,
  workflowName: "workflow",
  workflowStartedAt: Date.now(),
  stepId: `step_${++steps}`,
  stepName,
  runSpecVersion: 5,
  lazyStepInput: await dehydrate({ args: [20, 22] }),
  ...more,
});

const eventsOf = async (runId: string): Promise<Event[]> =>
  (await world.events.list({ runId, pagination: { limit: 1000 } })).data;

const typesOf = async (runId: string): Promise<string[]> =>
  (await eventsOf(runId)).map(({ eventType }) => eventType).filter((type) => type.startsWith("step_"));

describe("a step on Runstream's World", () => {
  it("is made, run and recorded, and answers the events since a cursor", async () => {
    registerStep("add", async (a: number, b: number) => a + b);
    const runId = await startedRun();
    const { cursor } = await world.events.list({ runId });
    const verdict = await executeStep(await paramsOf(runId, "add", { inlineDeltaSinceCursor: cursor! }));
    expect(verdict).toMatchObject({ type: "completed", hasPendingOps: false });
    const { inlineDelta } = verdict as Extract<StepExecutionResult, { type: "completed" }>;
    const since = await world.events.list({ runId, pagination: { cursor: cursor! } });
    expect(inlineDelta).toEqual({ events: since.data, cursor: since.cursor, hasMore: since.hasMore });
    expect((await typesOf(runId)).sort()).toEqual(["step_completed", "step_created", "step_started"]);
    const completed = since.data.find(({ eventType }) => eventType === "step_completed")!;
    expect(await hydrate((completed.eventData as { result: unknown }).result)).toBe(42);
  });

  it("is retried with the attempts counted by the log, until it fails", async () => {
    const attempts: number[] = [];
    registerStep(
      "flaky",
      async () => {
        attempts.push(attempts.length + 1);
        throw new TypeError("no");
      },
      { maxRetries: 2 },
    );
    const runId = await startedRun();
    const { lazyStepInput, ...params } = await paramsOf(runId, "flaky");
    expect((await executeStep({ ...params, lazyStepInput })).type).toBe("retry");
    expect((await executeStep(params)).type).toBe("retry");
    expect((await executeStep(params)).type).toBe("failed");
    expect((await executeStep(params)).type).toBe("skipped");
    expect(attempts).toEqual([1, 2, 3]);
  });

  it.each([
    ["awaited", {}, 1],
    ["optimistic", { forceOptimisticStart: true }, 8],
  ])("that eight race for, %s, is recorded once", async (_, how, bodies) => {
    let calls = 0;
    registerStep("raced", async () => ++calls);
    const runId = await startedRun();
    const params = await paramsOf(runId, "raced", how);
    const verdicts = await Promise.all(Array.from({ length: 8 }, () => executeStep(params)));
    expect(verdicts.map(({ type }) => type).sort()).toEqual(["completed", ...Array(7).fill("skipped")]);
    expect(calls).toBe(bodies);
    expect((await typesOf(runId)).sort()).toEqual(["step_completed", "step_created", "step_started"]);
  });

  it("of a run that is over is not begun, and one under way still ends", async () => {
    const runId = await startedRun();
    registerStep("ends the run", async () => {
      await world.events.create(runId, { eventType: "run_cancelled", specVersion: 5 });
    });
    registerStep("late", async () => 1);
    expect((await executeStep(await paramsOf(runId, "ends the run"))).type).toBe("completed");
    expect((await executeStep(await paramsOf(runId, "late"))).type).toBe("skipped");
  });

  it("that is not to be tried yet says in how many seconds", async () => {
    registerStep("later", async () => {
      throw Object.assign(new Error("busy"), {
        name: "RetryableError",
        retryAfter: new Date(Date.now() + 3_600_000),
      });
    });
    const runId = await startedRun();
    const { lazyStepInput, ...params } = await paramsOf(runId, "later");
    const first = await executeStep({ ...params, lazyStepInput });
    const again = await executeStep(params);
    for (const verdict of [first, again]) {
      expect(verdict.type).toBe("retry");
      const { timeoutSeconds } = verdict as Extract<StepExecutionResult, { type: "retry" }>;
      expect(timeoutSeconds).toBeGreaterThan(3_500);
      expect(timeoutSeconds).toBeLessThanOrEqual(3_600);
    }
  });

  it("returns a stream that can be read while and after it is written", async () => {
    registerStep("streams", async () => ReadableStream.from([{ n: 1 }, { n: 2 }]));
    const runId = await startedRun();
    expect(await executeStep(await paramsOf(runId, "streams"))).toEqual({
      type: "completed",
      hasPendingOps: false,
    });
    const completed = (await eventsOf(runId)).find(({ eventType }) => eventType === "step_completed")!;
    const { result } = completed.eventData as { result: Uint8Array };
    const seen: unknown[] = [];
    registerStep("reads", async (stream: ReadableStream) => {
      for await (const chunk of stream) seen.push(chunk);
    });
    const [, name] = /^devl\[\["ReadableStream",1\],\{"name":2\},"(.*)"\]$/.exec(
      Buffer.from(result).toString(),
    )!;
    const input = Buffer.from(`devl[{"args":1},[2],["ReadableStream",3],{"name":4},"${name}"]`);
    expect((await executeStep(await paramsOf(runId, "reads", { lazyStepInput: input }))).type).toBe(
      "completed",
    );
    expect(seen).toEqual([{ n: 1 }, { n: 2 }]);
  });
});
