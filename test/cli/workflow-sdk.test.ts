/** Runs of the Workflow SDK in the command line: listed beside the engine's, shown with what they were given, ended by the World's rules. */
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openRunstream, workflow } from "../../src/index.ts";
import { createWorld } from "../../src/integrations/workflow-sdk/index.ts";
import { bytes, hook, newRun, requests, send, step } from "../workflow-sdk/worlds.ts";
import { type Ended, folder, runstream } from "./command-line.ts";

const cwd = folder();
const store = join(cwd, "runstream.db");
const ids: Record<"done" | "failed" | "waiting" | "sealed" | "doomed" | "doomed2", string> = {} as never;

beforeAll(async () => {
  const world = createWorld({ store });
  for (const name of ["done", "failed", "waiting", "doomed", "doomed2"] as const)
    ids[name] = await newRun(world);
  const secret = { deploymentId: "d", workflowName: "secrets", input: new Uint8Array([0xff, 1, 2]) };
  const { run: made } = await world.events.create(null, { eventType: "run_created", eventData: secret });
  ids.sealed = made!.runId;
  await send(
    world,
    ids.done,
    step.lazy("step_01KBAAAAAA"),
    step.retrying("step_01KBAAAAAA"),
    step.started("step_01KBAAAAAA"),
    step.completed("step_01KBAAAAAA"),
    step.lazy("step_01KBBBBBBB"),
    step.completed("step_01KBBBBBBB"),
    requests.completed,
  );
  await send(
    world,
    ids.failed,
    step.lazy("step_01KBCCCCCC"),
    step.failed("step_01KBCCCCCC"),
    requests.failed,
  );
  await send(world, ids.waiting, hook.created("hook_1", "approve/1"));
  await world.close();
  const engine = openRunstream({ store, workflows: { wf: workflow({ run: async () => 1 }) } });
  await engine.start("wf", {}, { runId: "engine-1" });
  expect((await engine.list()).runs.map(({ runId }) => runId)).toEqual(["engine-1"]);
  expect((await engine.list({ kind: "sdk" })).runs).toHaveLength(6);
  expect((await engine.recent("wf")).map(({ runId }) => runId)).toEqual(["engine-1"]);
  await engine.stop();
});

const run = (...args: string[]): Promise<Ended> => runstream(args, { cwd });
const json = async (...args: string[]): Promise<Record<string, unknown>> => {
  const { stdout, code, stderr } = await run(...args, "--json");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout) as Record<string, unknown>;
};

describe.concurrent("a run of the Workflow SDK", () => {
  test("is listed beside the engine's, with its kind", async () => {
    const { stdout } = await run("ls", "--workflow", "wf", "--status", "completed", "--status", "pending");
    const [head, ...rows] = stdout.trimEnd().split("\n");
    expect(head).toMatch(/^RUN +WORKFLOW +STATUS +CREATED \(UTC\) +KIND +KEY/);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/^engine-1 +wf +pending +\d{4}-\S+ \S+ +run/);
    expect(rows[1]).toMatch(new RegExp(`^${ids.done} +wf +completed +\\d{4}-\\S+ \\S+ +sdk`));
    const { runs } = (await json("ls", "--kind", "sdk", "--status", "completed,failed")) as {
      runs: object[];
    };
    expect(runs).toMatchObject([
      { runId: ids.failed, kind: "sdk", workflow: "wf", status: "failed" },
      { runId: ids.done, kind: "sdk", workflow: "wf", status: "completed" },
    ]);
    const own = await run("ls", "--kind", "run", "--latency");
    expect(own.stdout).toMatch(/^RUN +WORKFLOW +STATUS +CREATED \(UTC\) +KEY/);
    expect(own.stdout).not.toContain(ids.done);
  });

  test("a kind that there is not is refused, with the nearest", async () => {
    const { code, stderr } = await run("ls", "--kind", "sdks");
    expect(code).toBe(2);
    expect(stderr).toContain('There is no kind "sdks". Did you mean "sdk"? A run is run, thread, sdk.');
  });

  test("is shown with its input, its output and its steps by attempts", async () => {
    const { code, stdout } = await run("show", ids.done);
    expect(code).toBe(0);
    expect(stdout).toMatch(/status +completed/);
    expect(stdout).toMatch(/kind +run of the Workflow SDK/);
    expect(stdout).toMatch(/input +devl\["in"\]\n/);
    expect(stdout).toMatch(/output +devl\["out"\]\n/);
    expect(stdout).toMatch(/step add …AAAAAA +\S+ ms +ok, 2 attempts\n/);
    expect(stdout).toMatch(/step add …BBBBBB +\S+ ms +ok, 1 attempt\n/);
    expect(stdout).not.toContain("Begun more than once");
    expect(await json("show", ids.done)).toMatchObject({
      kind: "sdk",
      workflow: "wf",
      status: "completed",
      input: { text: 'devl["in"]' },
      output: { text: 'devl["out"]' },
      steps: { ok: 2, failed: 0, running: 0 },
      retries: 1,
      begunAgain: [],
      rows: [
        { kind: "step", name: "add", status: "ok", attempts: 2 },
        { kind: "step", name: "add", status: "ok", attempts: 1 },
      ],
    });
    expect(await json("show", "engine-1")).toMatchObject({ kind: "run" });
  });

  test("is shown with what it failed with, and a payload that nobody can read by its size", async () => {
    const { stdout } = await run("show", ids.failed);
    expect(stdout).toMatch(/status +failed: USER_ERROR\n/);
    expect(stdout).toMatch(/error +devl\["bad"\]\n/);
    expect(stdout).toMatch(/step add …CCCCCC +\S+ ms +failed, 1 attempt: devl\[0\]\n/);
    const failed = await json("show", ids.failed);
    expect(failed).toMatchObject({ reason: "USER_ERROR", error: { text: 'devl["bad"]' } });
    expect((await run("show", ids.sealed)).stdout).toMatch(/input +compressed or encrypted, 3 bytes\n/);
    expect(await json("show", ids.sealed)).toMatchObject({ input: { base64: "/wEC" } });
  });

  test("waits for a hook that signal refuses, naming what answers it", async () => {
    const { code, stdout, stderr } = await run("signal", "approve/1", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual({ token: "approve/1", accepted: false });
    expect(stderr).toContain(`Run ${ids.waiting} is one of the Workflow SDK`);
    expect(stderr).toContain('resumeHook("approve/1", payload)');
    expect((await run("signal", "approve/2")).stderr).toContain('Nobody waits for "approve/2"');
  });

  test("is not woken by wake, which says so", async () => {
    const { code, stderr } = await run("wake", ids.waiting);
    expect(code).toBe(1);
    expect(stderr).toContain(`Run ${ids.waiting} is one of the Workflow SDK`);
  });

  test("is ended by cancel as the SDK's own does it, once", async () => {
    expect(await json("cancel", ids.doomed, "--reason", "ordered twice")).toEqual({
      runId: ids.doomed,
      cancelled: true,
      status: "cancelled",
    });
    const again = await run("cancel", ids.doomed);
    expect(again.code).toBe(1);
    expect(again.stderr).toContain(
      `Run ${ids.doomed} is over already: it is cancelled. Nothing was changed.`,
    );
    const over = await run("cancel", ids.done, "--json");
    expect(over.code).toBe(1);
    expect(JSON.parse(over.stdout)).toEqual({ runId: ids.done, cancelled: false, status: "completed" });
    const { stdout } = await run("history", ids.doomed, "--json");
    const events = stdout.trimEnd().split("\n");
    expect(events).toHaveLength(3);
    expect(JSON.parse(events[2]!)).toMatchObject({
      type: "SdkRunCancelled",
      data: { specVersion: 5, eventData: { cancelReason: "ordered twice" } },
    });
  });

  test("a reason that the World refuses changes nothing", async () => {
    const { code, stderr } = await run("cancel", ids.doomed2, "--reason", "x".repeat(513));
    expect(code).toBe(1);
    expect(stderr).toContain("The reason for cancelling has 513 characters; 512 is the most.");
    expect(await json("show", ids.doomed2)).toMatchObject({ status: "running" });
  });
});

test("a World goes on with what the command line has ended", async () => {
  const world = createWorld({ store });
  const runId = await newRun(world);
  expect((await run("cancel", runId)).code).toBe(0);
  expect((await world.runs.get(runId)).status).toBe("cancelled");
  const late = world.events.create(runId, {
    eventType: "run_completed",
    eventData: { output: bytes("devl[1]") },
  });
  await expect(late).rejects.toMatchObject({ name: "EntityConflictError" });
  await world.close();
});
