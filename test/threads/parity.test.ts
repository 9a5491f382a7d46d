/** B: limits, recovery, drains and tenants, as the steps of a graph have them. B6 is about another API and has no test here. */
import { expect, test } from "vitest";
import { RunControl, WorkflowStepTimeoutError, workflow } from "../../src/threads/index.ts";
import { noteStore } from "./note-store.ts";
import { failureOf, last, listener, stepsIn } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { inTime, pause, withTimeAtRest } from "./time.ts";

withTimeAtRest();

onEach(STORES, "threads", (store) => {
  test("B1 a slow step that shows progress is not idle", async () => {
    const beating = workflow(
      (_: undefined, { step }) =>
        step(
          "upload",
          async ({ heartbeat }) => {
            for (let beat = 0; beat < 6; beat += 1) {
              await pause(20);
              heartbeat();
            }
            return "uploaded";
          },
          { timeout: { idleMs: 60 } },
        ),
      { checkpointer: store().worker() },
    );
    expect((await inTime(beating.invoke(undefined))).output).toBe("uploaded");
  });

  test.each([
    ["its own idle limit", { timeout: { idleMs: 40 } }, {}, 40],
    ["the idle limit of all steps", {}, { stepDefaults: { timeout: { idleMs: 30 } } }, 30],
  ])("B1 a silent step fails by %s", async (_, stepOptions, options, limit) => {
    const silent = workflow((_input: undefined, { step }) => step("mute", () => pause(200), stepOptions), {
      ...options,
      checkpointer: store().worker(),
    });
    const failure = await failureOf(inTime(silent.invoke(undefined)));
    expect(failure).toBeInstanceOf(WorkflowStepTimeoutError);
    expect(failure).toMatchObject({
      kind: "idle",
      timeoutMs: limit,
      stepName: "mute",
      message: expect.stringContaining(`no progress for ${limit} ms`),
    });
  });

  test("B1 heartbeats do not extend the run limit", async () => {
    const beating = workflow(
      (_: undefined, { step }) =>
        step(
          "endless",
          async ({ heartbeat }) => {
            for (let beat = 0; beat < 10; beat += 1) {
              await pause(15);
              heartbeat();
            }
          },
          { timeout: { runMs: 50, idleMs: 1_000 } },
        ),
      { checkpointer: store().worker() },
    );
    expect(await failureOf(inTime(beating.invoke(undefined)))).toMatchObject({
      name: "WorkflowStepTimeoutError",
      kind: "run",
      timeoutMs: 50,
    });
  });

  test("B2 what onError answers is recorded as the step's result, and is not asked for again", async () => {
    let charges = 0;
    let recoveries = 0;
    const { of, onEvent } = listener();
    const worker = () =>
      workflow(
        async (_: undefined, { step, interrupt }) => {
          const charge = await step(
            "charge",
            (): { refunded: number; because: string } => {
              charges += 1;
              throw new Error("the card is declined");
            },
            {
              retry: { maxAttempts: 2, initialIntervalMs: 1, jitter: false },
              onError: ({ attempts, error }) => {
                recoveries += 1;
                return { refunded: attempts, because: (error as Error).message };
              },
            },
          );
          return { charge, answer: interrupt<string>({ reason: "what now?" }) };
        },
        { checkpointer: store().worker() },
      );
    const value = { refunded: 2, because: "the card is declined" };
    const asked = await inTime(worker().invoke(undefined, { threadId: "t-charge", onEvent }));
    expect(asked.status).toBe("awaiting_input");
    const recovered = { error: { name: "Error", message: "the card is declined" }, attempts: 2 };
    expect(asked.state.steps).toEqual({ charge: { value, recovered } });
    expect((await worker().state("t-charge"))?.state.steps).toEqual({ charge: { value, recovered } });
    expect(of("task_failed")).toMatchObject([
      { taskId: "charge", node: "charge", attempts: 2, error: "the card is declined", recovered: true },
    ]);
    const done = await inTime(worker().resumeWith("t-charge", "go on"));
    expect([done.status, done.output]).toEqual(["completed", { charge: value, answer: "go on" }]);
    expect([charges, recoveries]).toEqual([2, 1]);
  });

  test("B2 an onError that throws fails the step with what it threw", async () => {
    const worse = new Error("the refund failed too");
    const { of, onEvent } = listener();
    const failing = workflow(
      (_: undefined, { step }) =>
        step(
          "charge",
          () => {
            throw new Error("declined");
          },
          {
            onError: () => {
              throw worse;
            },
          },
        ),
      { checkpointer: store().worker() },
    );
    expect(await failureOf(failing.invoke(undefined, { threadId: "t", onEvent }))).toBe(worse);
    expect(of("task_failed")).toMatchObject([{ attempts: 1, error: "declined", recovered: false }]);
    expect(await failing.state("t")).toMatchObject({
      status: "failed",
      error: { name: "Error", message: "the refund failed too" },
      state: { steps: {} },
    });
  });

  test("B3 a drain lets the step in flight end, and another worker runs what is left", async () => {
    const ran: string[] = [];
    const control = new RunControl();
    const worker = () =>
      workflow(
        async (_: undefined, { step }) => {
          for (const name of ["one", "two", "three", "four", "five"]) {
            await step(name, async () => {
              ran.push(name);
              await pause(10);
              if (ran.length === 2) control.drain("scale down");
              await pause(10);
            });
          }
          return ran.length;
        },
        { checkpointer: store().worker() },
      );
    expect(await failureOf(inTime(worker().invoke(undefined, { threadId: "t", control })))).toMatchObject({
      name: "GraphDrainedError",
      code: "GRAPH_DRAINED",
      threadId: "t",
      step: 3,
      reason: "scale down",
    });
    const stored = await worker().state("t");
    expect(stored).toMatchObject({ status: "interrupted", step: 3, drained: { reason: "scale down" } });
    expect(Object.keys(stepsIn(stored))).toEqual(["one", "two"]);
    expect(await inTime(last(worker().continue("t")))).toMatchObject({ type: "done", output: 5 });
    expect(ran).toEqual(["one", "two", "three", "four", "five"]);
  });

  test("B4 a thread belongs to its tenant, and so does its memory", async () => {
    const notes = noteStore();
    const worker = () =>
      workflow(
        async (_: undefined, { step, interrupt, store: memory, tenantId }) => {
          await step("note", async () => {
            await memory?.put(["notes"], "n-1", { text: "seen" });
          });
          return [tenantId, interrupt<string>({ reason: "go on?" })];
        },
        { checkpointer: store().worker(), store: notes },
      );
    const asked = await worker().invoke(undefined, { threadId: "t", tenantId: "acme" });
    expect(asked.status).toBe("awaiting_input");
    expect((await worker().state("t"))?.metadata?.tenantId).toBe("acme");

    const look = (tenantId: string) =>
      workflow(
        async (_: undefined, { store: memory }) =>
          [await memory?.get(["notes"], "n-1"), await memory?.search(["notes"])] as const,
        { checkpointer: store().worker(), store: notes },
      ).invoke(undefined, { tenantId, threadId: `look-${tenantId}` });
    const note = { namespace: ["notes"], key: "n-1", value: { text: "seen" } };
    expect((await look("acme")).output).toMatchObject([note, [note]]);
    const [missing, found] = (await look("globex")).output ?? [];
    expect([missing ?? undefined, found]).toEqual([undefined, []]);

    expect(await failureOf(worker().resumeWith("t", "yes", { tenantId: "globex" }))).toMatchObject({
      name: "GraphThreadNotFoundError",
      code: "GRAPH_THREAD_NOT_FOUND",
      threadId: "t",
    });
    expect(await failureOf(worker().invoke(undefined, { threadId: "t", tenantId: "globex" }))).toMatchObject({
      name: "GraphError",
      code: "GRAPH_VALIDATION_ERROR",
      message: expect.stringContaining("cannot be used by this tenant"),
    });
    const done = await worker().resumeWith("t", "yes");
    expect([done.status, done.output]).toEqual(["completed", ["acme", "yes"]]);
  });

  test("B5 a worker that is drained hands its threads over, and each step runs once on the two of them", async () => {
    const ran: string[] = [];
    const worker = (name: string) =>
      workflow(
        async (input: string, { step }) => {
          for (const key of ["one", "two", "three", "four", "five"]) {
            await step(key, async () => {
              ran.push(`${input} ${key}`);
              await pause(30);
              return name;
            });
          }
          return input;
        },
        { name: "served", checkpointer: store().worker() },
      );
    const first = new RunControl();
    const released: string[] = [];
    const serve = (threadId: string) =>
      worker("first")
        .invoke(threadId, { threadId, control: first, metadata: { runId: `run-${threadId}` } })
        .catch((error: Error) => {
          if (error.name !== "GraphDrainedError") throw error;
          released.push(threadId);
        });
    const served = Promise.all(["a", "b"].map(serve));
    await pausedUntil(() => ran.filter((body) => body.startsWith("a")).length === 2);
    first.drain("a new release");
    await inTime(served);
    expect(released.sort()).toEqual(["a", "b"]);
    for (const threadId of released) {
      expect(await inTime(last(worker("second").continue(threadId)))).toMatchObject({
        type: "done",
        output: threadId,
      });
      const finished = (await worker("second").state(threadId))!;
      expect(finished.metadata?.runId).toBe(`run-${threadId}`);
      const { one, five } = stepsIn(finished);
      expect([one?.value, five?.value]).toEqual(["first", "second"]);
    }
    expect(new Set(ran).size).toBe(10);
    expect(ran).toHaveLength(10);
  });
});

/** Lets time pass until `holds`. */
const pausedUntil = (holds: () => boolean): Promise<void> =>
  inTime(
    (async () => {
      while (!holds()) await pause(1);
    })(),
  );
