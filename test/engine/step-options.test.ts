/** What a step's options say about its tries: waits, limits, and what becomes of a step that failed for good. */
import { expect, test, vi } from "vitest";
import { StepTimeoutError } from "../../src/engine/attempts/step-timeout-error.ts";
import { FatalError, RetryableError } from "../../src/engine/step-errors.ts";
import type { StepAttempt, StepFailure, StepOptions, WorkflowContext } from "../../src/index.ts";
import { workflow } from "../../src/index.ts";
import { runWorkflow } from "../../src/testing/index.ts";

type Body = (ctx: WorkflowContext) => unknown;

const run = async (body: Body) => {
  const handle = await runWorkflow(workflow({ run: async (_input, ctx) => body(ctx) }), {});
  const [step] = handle.steps;
  return { status: handle.status, output: handle.output, error: handle.error, step };
};

const failing = (errors: readonly unknown[]) => {
  const left = [...errors];
  return () => {
    if (left.length > 0) throw left.shift();
    return "at last";
  };
};

/** The waits that a step made between its tries, as the narration of its failed tries tells them. */
const waitsOf = async (errors: readonly unknown[], options: StepOptions): Promise<(number | undefined)[]> => {
  const delays: (number | undefined)[] = [];
  const timer = vi.spyOn(globalThis, "setTimeout").mockImplementation(((fire: () => void, ms?: number) => {
    delays.push(ms);
    setImmediate(fire);
    return undefined;
  }) as unknown as typeof setTimeout);
  try {
    await run((ctx) => ctx.step("work", failing(errors), options));
  } finally {
    timer.mockRestore();
  }
  return delays.filter((ms) => ms !== undefined && ms > 0);
};

test("a policy says how often and how long; maxAttempts counts before its own", async () => {
  const retry = { maxAttempts: 3, initialIntervalMs: 100, jitter: false };
  const errors = [new Error("1"), new Error("2"), new Error("3"), new Error("4")];
  expect(await waitsOf(errors, { retry })).toEqual([100, 200]);
  expect(await waitsOf(errors, { retry, maxAttempts: 4 })).toEqual([100, 200, 400]);
});

test("a RetryableError says the least that is waited, and nothing is waited for longer than half a minute", async () => {
  const patient = new RetryableError("later", { retryAfter: 20_000 });
  const retry = { maxAttempts: 3, initialIntervalMs: 10, jitter: false };
  const [asked, own] = await waitsOf([patient, new Error("x")], { retry });
  expect(asked).toBeGreaterThan(15_000);
  expect(own).toBe(20);
  const long = { ...retry, initialIntervalMs: 600_000, maxIntervalMs: 600_000 };
  expect(await waitsOf([new Error("x")], { retry: long })).toEqual([30_000]);
});

test.each([
  ["a FatalError", new FatalError("over"), { maxAttempts: 5 }],
  ["what retryOn refuses", new Error("over"), { maxAttempts: 5, retryOn: () => false }],
  [
    "what a retryOn that throws was asked about",
    new Error("over"),
    {
      maxAttempts: 5,
      retryOn: () => {
        throw new Error("of the rule");
      },
    },
  ],
])("%s is not repeated", async (_, error, retry) => {
  const { status, step } = await run((ctx) => ctx.step("work", failing([error]), { retry }));
  expect(status).toBe("failed");
  expect(step).toMatchObject({ status: "failed", attempts: 1, error: "over" });
});

test("a try that exceeds its limit has failed, and its signal is aborted", async () => {
  const signals: AbortSignal[] = [];
  const body = ({ attempt, signal }: StepAttempt) => {
    signals.push(signal);
    if (attempt === 2) return "second";
    return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("too late")));
  };
  const { output, step } = await run((ctx) => ctx.step("work", body, { timeout: { runMs: 5 } }));
  expect(output).toBe("second");
  expect(step?.attempts).toBe(2);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

test("a step that falls silent has exceeded its idle limit; one that beats has not", async () => {
  const beating = async ({ heartbeat }: StepAttempt) => {
    for (let n = 0; n < 5; n += 1) {
      heartbeat();
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    return "alive";
  };
  const options = { maxAttempts: 1, timeout: { idleMs: 5_000 } };
  expect((await run((ctx) => ctx.step("work", beating, options))).output).toBe("alive");
  const failures: StepFailure[] = [];
  const silent = await run((ctx) =>
    ctx.step("work", () => new Promise<string>(() => {}), {
      maxAttempts: 1,
      timeout: { idleMs: 3 },
      onError: (failure) => {
        failures.push(failure);
        return "given up";
      },
    }),
  );
  expect(silent.output).toBe("given up");
  expect(StepTimeoutError.is(failures[0]?.error)).toBe(true);
  expect(failures[0]?.error).toMatchObject({ stepName: "work", kind: "idle", timeoutMs: 3 });
});

test("what onError returns is the step's result, recorded once; what it throws is the step's error", async () => {
  let asked = 0;
  const handle = await runWorkflow(
    workflow({
      run: async (_input, ctx) => {
        const charge = await ctx.step(
          "charge",
          (): string => {
            throw new Error("declined");
          },
          {
            maxAttempts: 2,
            onError: ({ name, key, attempts, error }) => {
              asked += 1;
              return [name, key, attempts, (error as Error).message].join(" ");
            },
          },
        );
        await ctx.sleep("pause", 1_000);
        return charge;
      },
    }),
    {},
  );
  await handle.advanceSleep();
  expect(handle.output).toBe("charge charge#0 2 declined");
  expect(asked).toBe(1);
  expect(handle.steps).toMatchObject([{ status: "ok", attempts: 2, output: "charge charge#0 2 declined" }]);
  const thrown = await run((ctx) =>
    ctx.step("charge", failing([new FatalError("declined")]), {
      onError: () => {
        throw new Error("nor refunded");
      },
    }),
  );
  expect(thrown.step).toMatchObject({ status: "failed", attempts: 1, error: "nor refunded" });
});

test("onError is not asked about a refusal", async () => {
  const onError = vi.fn(() => undefined);
  const { status, error } = await run((ctx) => ctx.step("napper", () => ctx.sleep("nap", 1), { onError }));
  expect(status).toBe("failed");
  expect(String(error)).toContain("may not wait");
  expect(onError).not.toHaveBeenCalled();
});
