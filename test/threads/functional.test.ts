/** A: what a workflow function is for, on every kind of checkpointer. Each test is named after the case of the contract it shows. */
import { expect, test } from "vitest";
import { WorkflowStepTimeoutError, workflow } from "../../src/threads/index.ts";
import { failureOf, last, listed, listener, stepsIn } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { aborted, inTime, pause, withTimeAtRest } from "./time.ts";

withTimeAtRest();

onEach(STORES, "threads", (store) => {
  test("A1 each step runs once, and what it answered is recorded", async () => {
    const ran: string[] = [];
    const refunds = workflow(
      async (order: { id: string }, { step }) => {
        const loaded = await step("load", () => {
          ran.push("load");
          return { id: order.id, total: 40 };
        });
        const double = await step("double", async () => {
          ran.push("double");
          return loaded.total * 2;
        });
        return { id: loaded.id, double };
      },
      { name: "refunds", checkpointer: store().worker() },
    );
    const output = { id: "o-1", double: 80 };
    expect(await refunds.invoke({ id: "o-1" }, { threadId: "t-1" })).toEqual({
      threadId: "t-1",
      status: "completed",
      output,
      steps: 2,
      state: {
        input: { id: "o-1" },
        steps: { load: { value: { id: "o-1", total: 40 } }, double: { value: 80 } },
        output,
      },
    });
    expect(ran).toEqual(["load", "double"]);
    const stored = await refunds.state("t-1");
    expect([stored?.status, stored?.metadata?.graph]).toEqual(["completed", "refunds"]);
  });

  test("A2 a failure between steps: another worker goes on, and the step before it does not run again", async () => {
    const ran: string[] = [];
    let roadClosed = true;
    const worker = () =>
      workflow(
        async (order: string, { step }) => {
          const charged = await step("charge", () => {
            ran.push("charge");
            return `charged ${order}`;
          });
          const shipped = await step("ship", () => {
            ran.push("ship");
            if (roadClosed) throw new Error("the road is closed");
            return "shipped";
          });
          return [charged, shipped];
        },
        { checkpointer: store().worker() },
      );
    await expect(worker().invoke("order-7", { threadId: "order-7" })).rejects.toThrow("the road is closed");
    expect((await worker().state("order-7"))?.status).toBe("failed");
    roadClosed = false;
    expect(await last(worker().continue("order-7"))).toMatchObject({
      type: "done",
      output: ["charged order-7", "shipped"],
    });
    expect(ran).toEqual(["charge", "ship", "ship"]);
  });

  const approval = (ran: string[]) =>
    workflow(
      async (total: number, { step, interrupt }) => {
        const order = await step("load", () => {
          ran.push("load");
          return { id: "o-3", total };
        });
        const approved = interrupt<boolean>({ reason: `Refund ${order.total}?`, payload: order });
        if (!approved) return "declined";
        return step("refund", () => {
          ran.push("refund");
          return `refunded ${order.total}`;
        });
      },
      { name: "approval", checkpointer: store().worker() },
    );

  test("A3 a question stops the run, and another worker goes on with the answer", async () => {
    const ran: string[] = [];
    const asked = await approval(ran).invoke(25, { threadId: "t-3" });
    const question = {
      id: "approval:interrupt:0",
      reason: "Refund 25?",
      payload: { id: "o-3", total: 25 },
      node: "approval",
      step: 1,
      index: 0,
      requestedAt: "2026-03-01T12:00:00.000Z",
    };
    expect(asked).toEqual({
      threadId: "t-3",
      status: "awaiting_input",
      steps: 1,
      state: { input: 25, steps: { load: { value: { id: "o-3", total: 25 } } } },
      interrupt: question,
      interrupts: [question],
    });
    const answered = await approval(ran).resumeWith("t-3", true);
    expect([answered.status, answered.output, answered.steps]).toEqual(["completed", "refunded 25", 2]);
    expect(answered).not.toHaveProperty("interrupt");
    expect(ran).toEqual(["load", "refund"]);
    expect(await failureOf(listed(approval(ran).resume("t-3", true)))).toMatchObject({
      name: "GraphNotInterruptedError",
      message: expect.stringContaining("not awaiting input"),
      status: "completed",
      threadId: "t-3",
    });
  });

  test("A3 the other answer takes the other way", async () => {
    const ran: string[] = [];
    await approval(ran).invoke(25, { threadId: "t-3" });
    expect((await approval(ran).resumeWith("t-3", false)).output).toBe("declined");
    expect(ran).toEqual(["load"]);
  });

  test("A4 so many steps at once and no more; those beside a failure are kept", async () => {
    const ran: string[] = [];
    let running = 0;
    let most = 0;
    let broken = true;
    const parallel = workflow(
      async (_: undefined, { step }) => {
        const one = (name: string) =>
          step(name, async () => {
            ran.push(name);
            running += 1;
            most = Math.max(most, running);
            await pause(10);
            running -= 1;
            if (name === "c" && broken) throw new Error("c is broken");
            return name.toUpperCase();
          });
        return Promise.all([one("a"), one("b"), one("c"), one("d")]);
      },
      { maxConcurrency: 2, checkpointer: store().worker() },
    );
    const failure = await failureOf(inTime(parallel.invoke(undefined, { threadId: "t-4" })));
    expect(failure).toMatchObject({ message: "c is broken" });
    expect(most).toBe(2);
    expect(Object.keys(stepsIn(await parallel.state("t-4"))).sort()).toEqual(["a", "b", "d"]);
    broken = false;
    expect(await inTime(last(parallel.continue("t-4")))).toMatchObject({
      type: "done",
      output: ["A", "B", "C", "D"],
    });
    expect(ran.sort()).toEqual(["a", "b", "c", "c", "d"]);
  });

  test("A5 retries are counted, and a name used twice is numbered", async () => {
    const { of, onEvent } = listener();
    let attempts = 0;
    let ticks = 0;
    const retrying = workflow(
      async (_: undefined, { step }) => {
        const ok = await step(
          "flaky",
          ({ attempt }) => {
            attempts = attempt;
            if (attempt < 3) throw new Error(`attempt ${attempt}`);
            return "ok";
          },
          { retry: { maxAttempts: 3, initialIntervalMs: 1, jitter: false } },
        );
        const tick = () => {
          ticks += 1;
          return ticks;
        };
        return [ok, await step("tick", tick), await step("tick", tick)].join(",");
      },
      { checkpointer: store().worker() },
    );
    const result = await inTime(retrying.invoke(undefined, { threadId: "t-5", onEvent }));
    expect([result.output, attempts]).toEqual(["ok,1,2", 3]);
    expect(Object.keys(result.state.steps)).toEqual(["flaky", "tick", "tick#2"]);
    expect(of("task_retry")).toHaveLength(2);
    expect(of("checkpoint")).toContainEqual(expect.objectContaining({ status: "completed" }));
  });

  test("A5 a step that outlives its limit fails, also when it answers because its signal aborted", async () => {
    const slow = workflow(
      (_: undefined, { step }) =>
        step("slow", ({ signal }) => aborted(signal).then(() => "too late"), { timeoutMs: 10 }),
      { checkpointer: store().worker() },
    );
    const failure = await failureOf(inTime(slow.invoke(undefined, { threadId: "t-5" })));
    expect(failure).toBeInstanceOf(WorkflowStepTimeoutError);
    expect(failure).toMatchObject({
      code: "WORKFLOW_STEP_TIMEOUT",
      stepName: "slow",
      timeoutMs: 10,
      kind: "run",
      message: expect.stringMatching(/slow.*10 ms|10 ms.*slow/),
    });
    expect((failure as Error).message).toContain("timeout");
  });

  test("A6 a cancelled run is interrupted, and continues; what answered undefined is replayed as undefined", async () => {
    const stop = new AbortController();
    const seen: unknown[] = [];
    let sideEffects = 0;
    const cancelled = workflow(
      async (_: undefined, { step }) => {
        seen.push(
          await step("side-effect", () => {
            sideEffects += 1;
          }),
        );
        await step("wait", ({ signal }) => {
          queueMicrotask(() => stop.abort());
          return aborted(signal);
        });
        return "the end";
      },
      { checkpointer: store().worker() },
    );
    const stopped = await cancelled.invoke(undefined, { threadId: "t-6", signal: stop.signal });
    expect([stopped.status, stopped.output]).toEqual(["interrupted", undefined]);
    expect(await last(cancelled.continue("t-6"))).toMatchObject({ type: "done", output: "the end" });
    expect([sideEffects, seen]).toEqual([1, [undefined, undefined]]);
    expect(cancelled.describe().nodes[0]?.id).toBe("workflow");
  });
});
