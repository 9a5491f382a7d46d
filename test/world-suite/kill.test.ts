/** kill -9 in the middle of 50 runs, and a restart: all of them complete, and nothing is in the log twice. */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { createWorld } from "../../src/integrations/workflow-sdk/index.ts";
import type { Order, Said } from "./app.ts";

const RUNS = 50;
const STEPS = 4;
const STEP_MS = 20;
const folder = mkdtempSync(join(tmpdir(), "runstream-kill-"));
const store = join(folder, "runs.db");
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const app = (hear: (said: Said, child: ChildProcess) => void): ChildProcess => {
  const env = {
    ...process.env,
    WORKFLOW_TARGET_WORLD: "../../src/integrations/workflow-sdk/index.ts",
    RUNSTREAM_STORE: store,
  };
  const child = fork(join(import.meta.dirname, "app.ts"), {
    env,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  children.push(child);
  child.on("message", (said: Said) => hear(said, child));
  return child;
};

it("fifty runs go on after kill -9, and all complete", { timeout: 300_000 }, async () => {
  const started = new Set<string>();
  const ended = new Map<string, string>();
  const killed = Promise.withResolvers<void>();
  const first = app((said, child) => {
    const order: Order = {
      workflowId: "workflow//./workflows//slowSequence",
      args: [STEPS, STEP_MS],
      runs: RUNS,
      inFlight: RUNS,
    };
    if (said.said === "listening") child.send(order);
    if (said.said === "started") started.add(said.runId);
    if (said.said === "ended") ended.set(said.runId, said.as);
    // Some are over, some have begun, some wait for their first delivery.
    if (started.size === RUNS && ended.size >= 5) child.kill("SIGKILL");
  });
  first.on("exit", () => killed.resolve());
  await killed.promise;
  expect(started.size).toBe(RUNS);
  expect(ended.size).toBeLessThan(RUNS);

  const all = Promise.withResolvers<void>();
  const count = (): void => {
    if (ended.size === RUNS) all.resolve();
  };
  app((said) => {
    if (said.said === "ended") ended.set(said.runId, said.as);
    count();
  });
  // What the first process recorded and did not live to say counts too.
  const world = createWorld({ store });
  for (const runId of started) {
    const { status } = await world.runs.get(runId);
    if (status === "completed") ended.set(runId, "run_completed");
  }
  count();
  await all.promise;

  expect(new Set(ended.values())).toEqual(new Set(["run_completed"]));
  expect([...ended.keys()].sort()).toEqual([...started].sort());
  for (const runId of started) {
    const { data } = await world.events.list({ runId });
    const once = data
      .filter(({ eventType }) => eventType !== "step_started")
      .map(({ eventType, correlationId }) => `${eventType} ${correlationId ?? ""}`);
    expect(new Set(once).size).toBe(once.length);
    const steps = once.filter((line) => line.startsWith("step_completed"));
    expect(steps).toHaveLength(STEPS);
    expect(data.at(-1)?.eventType).toBe("run_completed");
  }
  await world.close();
});
