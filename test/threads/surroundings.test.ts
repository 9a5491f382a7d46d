/** C and D: what a run is given from around it: a lifecycle, a tenant, a principal, metadata, and a control. */
import { describe, expect, test } from "vitest";
import {
  type GraphDrainedError,
  type OperationLifecycleLike,
  RunControl,
  type WorkflowContext,
  workflow,
} from "../../src/threads/index.ts";
import { noteStore } from "./note-store.ts";
import { failureOf, last, listed } from "./reading.ts";
import { onEach, STORES } from "./stores.ts";
import { inTime, turns, withTimeAtRest } from "./time.ts";

withTimeAtRest();

/** A lifecycle that writes down what it is told, in order. */
const recording = (refusal?: Error) => {
  const told: unknown[] = [];
  const lifecycle: OperationLifecycleLike = {
    async start(operation, options) {
      told.push(["start", operation, ...(options?.signal === undefined ? [] : ["with a signal"])]);
      if (refusal !== undefined) throw refusal;
      const descriptor = { requestId: "r-1", ...operation };
      const signal = options?.signal ?? new AbortController().signal;
      return {
        descriptor,
        context: { requestId: "r-1", signal },
        reserve: async () => void told.push(["reserve"]),
        succeed: async () => void told.push(["succeed"]),
        fail: async (error) => void told.push(["fail", error]),
      };
    },
  };
  return { told, lifecycle };
};

onEach(STORES, "lifecycles", (store) => {
  const operation = (threadId: string, more: object = {}) => [
    "start",
    { family: "graph", operation: "workflow.echo", metadata: { threadId, graph: "echo", ...more } },
  ];
  const echo = (lifecycle: OperationLifecycleLike, body: (context: WorkflowContext) => unknown) =>
    workflow((_: undefined, context) => body(context), {
      name: "echo",
      lifecycle,
      checkpointer: store().worker(),
    });

  test("C1 19.4/33 a run is one operation, which succeeds when the run completes", async () => {
    const { told, lifecycle } = recording();
    const run = echo(lifecycle, ({ step }) => step("one", () => "echoed"));
    expect((await run.invoke(undefined, { threadId: "t" })).output).toBe("echoed");
    expect(told).toEqual([operation("t"), ["succeed"]]);
    await listed(run.continue("t"));
    expect(told).toEqual([operation("t"), ["succeed"], operation("t"), ["succeed"]]);
  });

  test("19.4/33 tenant and user are in the operation's metadata, and the run's signal goes with it", async () => {
    const { told, lifecycle } = recording();
    await echo(lifecycle, () => 1).invoke(undefined, {
      threadId: "t",
      principal: { tenantId: "acme", userId: "erin" },
      signal: new AbortController().signal,
    });
    expect(told[0]).toEqual([...operation("t", { tenantId: "acme", userId: "erin" }), "with a signal"]);
  });

  test("C2 19.4/33 what is refused never runs, and leaves nothing", async () => {
    const refusal = new Error("too many at once");
    const { told, lifecycle } = recording(refusal);
    const ran: string[] = [];
    const run = echo(lifecycle, () => ran.push("run"));
    expect(await failureOf(run.invoke(undefined, { threadId: "t" }))).toBe(refusal);
    expect([ran, told]).toEqual([[], [operation("t")]]);
    expect(await run.state("t")).toBeUndefined();
  });

  test("what is wrong is told in this order: two tenants, a refusal, a thread that is not there", async () => {
    const refusal = new Error("too many at once");
    const { told, lifecycle } = recording(refusal);
    const run = echo(lifecycle, () => 1);
    const differing = { tenantId: "acme", principal: { tenantId: "globex" } };
    expect(await failureOf(listed(run.continue("nobody", differing)))).toBeInstanceOf(TypeError);
    expect(told).toEqual([]);
    expect(await failureOf(listed(run.continue("nobody")))).toBe(refusal);
    const admitting = recording();
    const missing = await failureOf(listed(echo(admitting.lifecycle, () => 1).continue("nobody")));
    expect(missing).toMatchObject({ name: "GraphThreadNotFoundError" });
    expect(admitting.told).toEqual([operation("nobody"), ["fail", missing]]);
  });

  test.each(["question", "abort"])("19.4/33 a run that ends with a %s is a success", async (ending) => {
    const stop = new AbortController();
    const { told, lifecycle } = recording();
    const run = echo(lifecycle, ({ interrupt }) =>
      ending === "abort" ? stop.abort() : interrupt({ reason: "well?" }),
    );
    await run.invoke(undefined, { threadId: "t", signal: stop.signal });
    expect(told).toEqual([[...operation("t"), "with a signal"], ["succeed"]]);
  });

  test.each(["failure", "drain"])(
    "19.4/33 a run that ends with a %s is a failure, with its error",
    async (ending) => {
      const { told, lifecycle } = recording();
      const control = { draining: ending === "drain", reason: "scale down" };
      const run = echo(lifecycle, ({ step }) =>
        step("one", () => {
          throw new Error("broken");
        }),
      );
      const error = await failureOf(run.invoke(undefined, { threadId: "t", control }));
      expect((error as Error).name).toBe(ending === "drain" ? "GraphDrainedError" : "Error");
      expect(told.slice(1)).toEqual([["fail", error]]);
      expect((told[1] as unknown[])[1]).toBe(error);
    },
  );
});

onEach(STORES, "tenants", (store) => {
  const who = () =>
    workflow(
      async (_: undefined, context) => {
        const { step, interrupt, principal, tenantId } = context;
        await step("one", () => 1);
        const present = ["tenantId", "principal", "store"].filter((name) => name in context);
        interrupt({ reason: "go on?" });
        return { user: principal?.userId, tenantId, present };
      },
      { checkpointer: store().worker() },
    );
  const erin = { userId: "erin", tenantId: "acme", roles: ["clerk"] };

  test("D1 a run sees its principal and the principal's tenant, and stores who and where", async () => {
    const greeted = workflow(
      (_: undefined, { principal, tenantId }) => [`${principal?.userId}@${tenantId}`, principal === erin],
      { checkpointer: store().worker() },
    );
    const result = await greeted.invoke(undefined, { threadId: "t", principal: erin });
    expect(result.output).toEqual(["erin@acme", true]);
    expect((await greeted.state("t"))?.metadata).toEqual({
      graph: "workflow",
      userId: "erin",
      tenantId: "acme",
    });
  });

  test("D1 a principal of one tenant cannot run for another", async () => {
    const failure = await failureOf(who().invoke(undefined, { principal: erin, tenantId: "globex" }));
    expect(failure).toBeInstanceOf(TypeError);
    expect((failure as Error).message).toContain("differ");
    const other = { principal: { userId: "gil", tenantId: "globex" }, threadId: "t" };
    await who().invoke(undefined, { threadId: "t", principal: erin });
    expect(await failureOf(who().invoke(undefined, other))).toMatchObject({
      code: "GRAPH_VALIDATION_ERROR",
      message: expect.stringContaining("cannot be used by this tenant"),
    });
    expect(await failureOf(who().resumeWith("t", 1, other))).toMatchObject({
      name: "GraphThreadNotFoundError",
    });
  });

  test("19.4/22 metadata is on every checkpoint: the thread's, the workflow's name, the caller's, the user, the tenant", async () => {
    const metadata = { graph: "renamed", userId: "nobody", tenantId: "nowhere", ticket: 7 };
    await who().invoke(undefined, { threadId: "t", metadata, principal: erin });
    const first = { graph: "renamed", userId: "erin", tenantId: "acme", ticket: 7 };
    expect((await who().history("t")).map((one) => one.metadata)).toEqual([first, first]);
    await listed(who().continue("t", { metadata: { ticket: 8 } }));
    const second = { graph: "workflow", userId: "erin", tenantId: "acme", ticket: 8 };
    expect((await who().state("t"))?.metadata).toEqual(second);
    await who().resumeWith("t", "yes");
    expect((await who().state("t"))?.metadata).toEqual(second);
  });

  test("19.4/22 a run that starts over takes no metadata from the one before", async () => {
    await who().invoke(undefined, { threadId: "t", metadata: { ticket: 7 } });
    await who().invoke(undefined, { threadId: "t" });
    expect((await who().state("t"))?.metadata).toEqual({ graph: "workflow" });
  });

  test("19.4/23 the principal is not stored: who resumes without one has the user's id in the metadata alone", async () => {
    await who().invoke(undefined, { threadId: "t", principal: erin });
    const done = await who().resumeWith("t", "yes");
    expect(done.output).toEqual({ user: undefined, tenantId: "acme", present: ["tenantId"] });
    expect((await who().state("t"))?.metadata?.userId).toBe("erin");
  });

  test("19.4/24 a thread that nobody owns belongs to the first tenant that goes on with it", async () => {
    await who().invoke(undefined, { threadId: "t" });
    expect((await who().resumeWith("t", "yes", { tenantId: "acme" })).output).toMatchObject({
      tenantId: "acme",
    });
    expect((await who().state("t"))?.metadata?.tenantId).toBe("acme");
    expect(await failureOf(listed(who().continue("t", { tenantId: "globex" })))).toMatchObject({
      name: "GraphThreadNotFoundError",
    });
  });

  test("what is read of a thread does not ask for its tenant", async () => {
    await who().invoke(undefined, { threadId: "t", tenantId: "acme" });
    expect([(await who().state("t"))?.step, (await who().history("t")).length]).toEqual([2, 2]);
  });
});

describe("long-term memory", () => {
  test.each(["", "a".repeat(129), "acme/globex", "ac me", "ä"])(
    "19.4/24 %j is no tenant's name where there is a store",
    async (tenantId) => {
      const ran: string[] = [];
      const remembering = workflow(() => ran.push("run"), { store: noteStore() });
      const failure = await failureOf(remembering.invoke(undefined, { threadId: "t", tenantId }));
      expect(failure).toBeInstanceOf(RangeError);
      expect(failure).toMatchObject({ name: "TenantIdError", code: "TENANT_ID_INVALID" });
      expect([ran, await remembering.state("t")]).toEqual([[], undefined]);
    },
  );

  test("any tenant's name will do where there is none", async () => {
    const forgetful = workflow((_: undefined, { tenantId }) => tenantId);
    expect((await forgetful.invoke(undefined, { tenantId: "ac me" })).output).toBe("ac me");
  });

  test("without a tenant a run sees the store itself, and a tenant's notes lie in its own namespace", async () => {
    const notes = noteStore();
    const writing = workflow(
      async (key: string, { store }) => {
        await store?.put(["notes"], key, { key });
        return store === notes;
      },
      { store: notes },
    );
    expect((await writing.invoke("open")).output).toBe(true);
    expect((await writing.invoke("owned", { tenantId: "acme" })).output).toBe(false);
    expect(notes.namespaces()).toEqual([["notes"], ["nexus:tenant", "acme", "notes"]]);
  });

  test("a search cannot leave the tenant's namespace", async () => {
    const notes = noteStore();
    const view = (tenantId: string) =>
      workflow(
        async (write: boolean, { store }) => {
          if (write) await store?.put(["notes"], "n", { of: tenantId });
          return (await store?.search([]))?.map(({ namespace, value }) => ({ namespace, value }));
        },
        { store: notes },
      ).invoke(tenantId === "acme", { tenantId });
    expect((await view("acme")).output).toEqual([{ namespace: ["notes"], value: { of: "acme" } }]);
    expect((await view("globex")).output).toEqual([]);
  });
});

test("a run carries on for the tenant of its thread, to the end", async () => {
  const owned = workflow(async (_: undefined, { interrupt, tenantId }) => {
    interrupt({ reason: "go on?" });
    return tenantId;
  });
  await owned.invoke(undefined, { threadId: "t", tenantId: "acme" });
  expect(await inTime(last(owned.resume("t", 1)))).toMatchObject({ output: "acme" });
});

test("a control drains once, and keeps the first reason", () => {
  const control = new RunControl();
  expect([control.draining, control.reason]).toEqual([false, undefined]);
  control.drain("scale down");
  control.drain("another reason");
  expect([control.draining, control.reason]).toEqual([true, "scale down"]);
});

test("who listens is told once, however others behave, and not afterwards", () => {
  const control = new RunControl();
  const told: string[] = [];
  control.onDrain(() => {
    told.push("first");
    throw new Error("a broken listener");
  });
  const leave = control.onDrain(() => told.push("left"));
  control.onDrain(() => told.push("second"));
  leave();
  control.drain();
  control.drain();
  control.onDrain(() => told.push("late"));
  expect(told).toEqual(["first", "second"]);
});

test("one control drains many runs", async () => {
  const control = new RunControl();
  let running = 0;
  const draining = workflow(async (_: undefined, { step }) => {
    await step("one", async () => {
      running += 1;
      while (running < 2) await turns(1);
      control.drain();
    });
    return step("two", () => 2);
  });
  const ends = await Promise.all(
    ["a", "b"].map((threadId) => failureOf(draining.invoke(undefined, { threadId, control }))),
  );
  expect(ends).toMatchObject([
    { name: "GraphDrainedError", threadId: "a", step: 2 },
    { name: "GraphDrainedError", threadId: "b", step: 2 },
  ]);
  expect((ends[0] as GraphDrainedError).reason).toBeUndefined();
});
