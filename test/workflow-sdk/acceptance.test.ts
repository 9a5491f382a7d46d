/** The acceptance rules of a World, one by one (docs/how-to/workflow-sdk.md). */
import { decodeTime } from "ulid";
import { describe, expect, it } from "vitest";
import { bytes, hook, logOf, memoryWorld, newRun, requests, send, step, textOf, wait } from "./worlds.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const END = { completed: requests.completed, failed: requests.failed, cancelled: requests.cancelled };

describe("rule 1: a run is created once", () => {
  it("under an id that the World makes, or that the client brings", async () => {
    const world = memoryWorld();
    const made = await world.events.create(null, requests.created);
    expect(made.run).toMatchObject({ status: "pending", workflowName: "wf", attributes: {}, specVersion: 5 });
    expect(made.run?.runId).toMatch(/^wrun_[0-9A-HJKMNP-TV-Z]{26}$/);
    const mine = `wrun_${world.createRunId()}`;
    const { run, event } = await world.events.create(mine, requests.created);
    expect(run?.runId).toBe(mine);
    expect(event).toMatchObject({ eventType: "run_created", runId: mine, specVersion: 5 });
    await expect(world.events.create(mine, requests.created)).rejects.toMatchObject({
      name: "EntityConflictError",
      status: 409,
    });
    expect(await logOf(world, mine)).toEqual(["run_created"]);
  });

  it("and not under an id that is no ULID, too old or too far ahead", async () => {
    let now = Date.now();
    const world = memoryWorld({ clock: () => now });
    const id = `wrun_${world.createRunId()}`;
    await expect(world.events.create("wrun_nonsense", requests.created)).rejects.toThrow(
      /is not "wrun_" and a ULID/,
    );
    now += 24 * HOUR + MINUTE;
    await expect(world.events.create(id, requests.created)).rejects.toThrow(/ago; at most 24 h/);
    now -= 24 * HOUR + 8 * MINUTE;
    await expect(world.events.create(id, requests.created)).rejects.toThrow(/ahead of this clock/);
  });

  it("under an id that the World made after its clock was set back", async () => {
    let now = Date.now();
    const world = memoryWorld({ clock: () => now });
    await world.events.create(`wrun_${world.createRunId()}`, requests.created);
    now -= 20 * MINUTE;
    const ids = [0, 1, 2].map(() => `wrun_${world.createRunId()}`);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids)
      expect((await world.events.create(id, requests.created)).run).toMatchObject({ runId: id });
    now -= 20 * MINUTE;
    const { run } = await world.events.create(null, requests.created);
    await expect(world.events.create(`wrun_${world.createRunId()}`, requests.created)).resolves.toBeDefined();
    expect(decodeTime(String(run?.runId).slice("wrun_".length))).toBe(now);
  });
});

describe("rule 2: a run that is over", () => {
  it.each(["completed", "failed", "cancelled"] as const)("stays %s", async (status) => {
    const world = memoryWorld();
    const id = await newRun(world);
    await send(
      world,
      id,
      step.lazy("s1"),
      step.created("s2"),
      wait.created("w1", new Date(0)),
      hook.created("h1", "t"),
    );
    await send(world, id, END[status]);
    const outcomes = await send(
      world,
      id,
      requests.started,
      requests.completed,
      requests.failed,
      step.created("s3"),
      step.lazy("s4"),
      hook.created("h2", "u"),
      wait.created("w2", new Date(0)),
      {
        eventType: "attr_set",
        eventData: { changes: [{ key: "a", value: "b" }], writer: { type: "workflow" } },
      },
      step.started("s2"),
      step.completed("s2"),
      step.started("s1"),
      hook.received("h1"),
      hook.disposed("h1"),
      wait.completed("w1"),
    );
    expect(outcomes).toEqual([
      "RunExpiredError",
      "EntityConflictError",
      "EntityConflictError",
      "EntityConflictError",
      "EntityConflictError",
      "EntityConflictError",
      "EntityConflictError",
      "EntityConflictError",
      "RunExpiredError",
      "RunExpiredError",
      "RunExpiredError",
      "HookNotFoundError",
      "HookNotFoundError",
      "WorkflowWorldError",
    ]);
    expect(await send(world, id, requests.cancelled)).toEqual([
      status === "cancelled" ? "run_cancelled" : "EntityConflictError",
    ]);
    expect(await send(world, id, step.completed("s1"))).toEqual(["step_completed"]);
    const run = await world.runs.get(id);
    expect(run.status).toBe(status);
    expect(run.completedAt).toBeInstanceOf(Date);
    expect(
      (await logOf(world, id)).filter((line) => /^run_(completed|failed|cancelled)$/.test(line)),
    ).toHaveLength(1);
  });

  it("has its output or its error", async () => {
    const world = memoryWorld();
    const [one, two] = [await newRun(world), await newRun(world)];
    await send(world, one, requests.completed);
    await send(world, two, requests.failed);
    expect(textOf((await world.runs.get(one)).output)).toBe('devl["out"]');
    const failed = await world.runs.get(two);
    expect(textOf(failed.error)).toBe('devl["bad"]');
    expect(failed.errorCode).toBe("USER_ERROR");
    expect(await world.runs.get(one, { resolveData: "none" })).toMatchObject({
      input: undefined,
      output: undefined,
    });
  });
});

describe("rules 3 to 8: steps and waits", () => {
  it("3: an event of a step that is not there is refused", async () => {
    const world = memoryWorld();
    const id = await newRun(world);
    for (const request of [step.started("s"), step.completed("s"), step.failed("s"), step.retrying("s")])
      await expect(world.events.create(id, request)).rejects.toMatchObject({
        name: "WorkflowWorldError",
        message: `Step s of run ${id} not found.`,
      });
  });

  it("4: a step ends once", async () => {
    const world = memoryWorld();
    const id = await newRun(world);
    expect(
      await send(
        world,
        id,
        step.created("s"),
        step.started("s"),
        step.completed("s"),
        step.completed("s"),
        step.failed("s"),
        step.retrying("s"),
        step.started("s"),
      ),
    ).toEqual(["step_created", "step_started", "step_completed", ...Array(4).fill("EntityConflictError")]);
    const done = await world.steps.get(id, "s");
    expect(done).toMatchObject({ status: "completed", attempt: 1, stepName: "add", stepId: "s", runId: id });
    expect([textOf(done.input), textOf(done.output)]).toEqual(["devl[1]", "devl[3]"]);
  });

  it("5: a running step may be started again, and remembers its first start", async () => {
    let now = Date.now();
    const world = memoryWorld({ clock: () => now });
    const id = await newRun(world);
    await send(world, id, step.created("s"), step.started("s"));
    const first = (await world.steps.get(id, "s")).startedAt;
    now += 1_000;
    await send(world, id, step.started("s"));
    expect(await world.steps.get(id, "s")).toMatchObject({ status: "running", attempt: 2, startedAt: first });
  });

  it("6: a lazy start makes its step, and is refused where there is one", async () => {
    const world = memoryWorld();
    const id = await newRun(world);
    const won = await world.events.create(id, step.lazy("s", "msg_1"));
    expect(won).toMatchObject({ stepCreated: true, step: { status: "running", attempt: 1 } });
    expect(won.event?.eventData).toEqual({ stepName: "add", workflowName: "wf", ownerMessageId: "msg_1" });
    expect(textOf(won.step?.input)).toBe("devl[1]");
    expect(await send(world, id, step.lazy("s"), step.created("s"))).toEqual(
      Array(2).fill("EntityConflictError"),
    );
    await send(world, id, step.created("t"));
    expect(await send(world, id, step.lazy("t"))).toEqual(["EntityConflictError"]);
    const { data } = await world.events.list({ runId: id });
    expect(data.slice(2, 4)).toMatchObject([
      { eventType: "step_created", correlationId: "s", eventData: { stepName: "add", workflowName: "wf" } },
      { eventType: "step_started", correlationId: "s", eventData: { ownerMessageId: "msg_1" } },
    ]);
    const bare = await world.events.create(id, step.started("t"));
    expect(bare.stepCreated).toBe(undefined);
  });

  it("7: a step that is to be tried later is not started sooner", async () => {
    let now = Date.now();
    const world = memoryWorld({ clock: () => now });
    const id = await newRun(world);
    await send(world, id, step.lazy("s"), step.retrying("s", new Date(now + 1_500)));
    expect(await world.steps.get(id, "s")).toMatchObject({ status: "pending", attempt: 1 });
    await expect(world.events.create(id, step.started("s"))).rejects.toMatchObject({
      name: "TooEarlyError",
      status: 425,
      retryAfter: 2,
    });
    now += 1_500;
    expect(await send(world, id, step.started("s"))).toEqual(["step_started"]);
    const running = await world.steps.get(id, "s");
    expect(running).toMatchObject({ status: "running", attempt: 2 });
    expect(running.retryAfter).toBe(undefined);
    expect(textOf(running.error)).toBe("devl[0]");
  });

  it("8: steps and waits are created once, and waits end once", async () => {
    const world = memoryWorld();
    const id = await newRun(world);
    const at = new Date(1_800_000_000_000);
    expect(
      await send(
        world,
        id,
        step.created("s"),
        step.created("s"),
        wait.created("w", at),
        wait.created("w", at),
        wait.completed("w"),
        wait.completed("w"),
        wait.completed("unknown"),
      ),
    ).toEqual([
      "step_created",
      "EntityConflictError",
      "wait_created",
      "EntityConflictError",
      "wait_completed",
      "EntityConflictError",
      "WorkflowWorldError",
    ]);
    const { data } = await world.events.list({ runId: id });
    expect(data.find(({ eventType }) => eventType === "wait_created")?.eventData).toEqual({ resumeAt: at });
  });

  it("8: what the workflow sets on its run is set once", async () => {
    const world = memoryWorld();
    const id = await newRun(world);
    const set = (writer: { type: "workflow" } | { type: "step"; stepId: string; attempt: number }) => ({
      eventType: "attr_set" as const,
      correlationId: "a1",
      eventData: { changes: [{ key: "k", value: "v" }], writer },
    });
    const step1 = { type: "step" as const, stepId: "s", attempt: 1 };
    expect(
      await send(world, id, set({ type: "workflow" }), set({ type: "workflow" }), set(step1), set(step1)),
    ).toEqual(["attr_set", "EntityConflictError", "attr_set", "attr_set"]);
  });
});

describe("rules 10 to 12: runs", () => {
  it("10: an unknown run takes no events", async () => {
    const world = memoryWorld();
    const unknown = `wrun_${world.createRunId()}`;
    expect(
      await send(world, unknown, requests.failed, requests.started, step.created("s"), {
        eventType: "attr_set",
        eventData: { changes: [], writer: { type: "workflow" } },
      }),
    ).toEqual(Array(4).fill("WorkflowRunNotFoundError"));
    await expect(world.runs.get(unknown)).rejects.toMatchObject({
      name: "WorkflowRunNotFoundError",
      runId: unknown,
    });
    expect(await logOf(world, unknown)).toEqual([]);
  });

  it("10: but for a start that brings what it takes to create it", async () => {
    const world = memoryWorld();
    const id = `wrun_${world.createRunId()}`;
    const { run, event } = await world.events.create(id, requests.resilient);
    expect(run).toMatchObject({ status: "running", workflowName: "wf" });
    expect(textOf(run?.input)).toBe('devl["in"]');
    expect(event?.eventData).toBe(undefined);
    expect(await logOf(world, id)).toEqual(["run_created", "run_started"]);
    expect(await send(world, id, requests.created, requests.resilient)).toEqual([
      "EntityConflictError",
      "nothing",
    ]);
  });

  it("11: attributes have limits, also when a run is created with them", async () => {
    const world = memoryWorld();
    const id = await newRun(world);
    const set = (changes: { key: string; value: string | null }[], allow = false) =>
      send(world, id, {
        eventType: "attr_set",
        eventData: {
          changes,
          writer: { type: "step", stepId: "s", attempt: 1 },
          ...(allow && { allowReservedAttributes: true as const }),
        },
      });
    const many = (count: number, from = 0) =>
      Array.from({ length: count }, (_, index) => ({ key: `k${index + from}`, value: "v" }));
    const refused = ["AttributeValidationError"];
    expect(await set([{ key: "", value: "v" }])).toEqual(refused);
    expect(await set([{ key: "k".repeat(257), value: "v" }])).toEqual(refused);
    expect(await set([{ key: "k", value: "é".repeat(129) }])).toEqual(refused);
    expect(await set([{ key: "$k", value: "v" }])).toEqual(refused);
    expect(await set([...many(1), ...many(1)])).toEqual(refused);
    expect(await set(many(65))).toEqual(refused);
    expect(await set([{ key: "$root", value: "é".repeat(128) }], true)).toEqual(["attr_set"]);
    expect(await set(many(63))).toEqual(["attr_set"]);
    expect(await set(many(1, 63))).toEqual(refused);
    expect(await set([{ key: "k0", value: null }, ...many(1, 63)])).toEqual(["attr_set"]);
    const { attributes } = await world.runs.get(id);
    expect(Object.keys(attributes)).toHaveLength(64);
    expect([attributes.k0, attributes.k63]).toEqual([undefined, "v"]);
    const created = {
      ...requests.created,
      eventData: { ...requests.created.eventData, attributes: { $a: "b" } },
    };
    await expect(world.events.create(null, created)).rejects.toMatchObject({
      name: "AttributeValidationError",
    });
    const allowed = {
      ...created,
      eventData: { ...created.eventData, allowReservedAttributes: true as const },
    };
    expect((await world.events.create(null, allowed)).run?.attributes).toEqual({ $a: "b" });
  });

  it("12: a run of a newer spec version is not touched, and one from before there were events hardly", async () => {
    const world = memoryWorld();
    const newer = await world.events.create(null, { ...requests.created, specVersion: 6 });
    expect(await send(world, newer.run!.runId, requests.started)).toEqual(["RunNotSupportedError"]);
    const older = await world.events.create(null, { ...requests.created, specVersion: 1 });
    expect(await send(world, older.run!.runId, requests.started, requests.cancelled)).toEqual([
      "WorkflowWorldError",
      "run_cancelled",
    ]);
  });

  it("a start is done once, and says so without an event", async () => {
    const world = memoryWorld();
    const id = await newRun(world);
    const again = await world.events.create(id, requests.started);
    expect(again.event).toBe(undefined);
    expect(again.run?.status).toBe("running");
    expect(await logOf(world, id)).toEqual(["run_created", "run_started"]);
  });

  it("the reason for cancelling has at most 512 characters", async () => {
    const world = memoryWorld();
    const id = await newRun(world);
    const cancel = (cancelReason: string) => ({
      eventType: "run_cancelled" as const,
      eventData: { cancelReason },
    });
    expect(await send(world, id, cancel("x".repeat(513)), cancel("x".repeat(512)))).toEqual([
      "WorkflowWorldError",
      "run_cancelled",
    ]);
  });
});

it("a caller that edits what it is answered, or what it sent, changes nothing here", async () => {
  const world = memoryWorld();
  const id = await newRun(world);
  await send(world, id, hook.created("h", "t"));
  const held = await world.hooks.getByToken("t");
  held.metadata = "edited";
  (await world.runs.get(id)).attributes.x = "y";
  const { data } = await world.events.list({ runId: id });
  (data[2]!.eventData as { token: string }).token = "edited";
  const request = { ...requests.completed, eventData: { output: bytes("devl[9]") as unknown } };
  await world.events.create(id, request);
  request.eventData.output = "edited";
  expect(textOf((await world.runs.get(id)).output)).toBe("devl[9]");
  expect((await world.runs.get(id)).attributes).toEqual({});
  expect((await world.events.list({ runId: id })).data[2]?.eventData).toMatchObject({ token: "t" });
});
