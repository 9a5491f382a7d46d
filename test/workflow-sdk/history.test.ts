/** A run of the Workflow SDK read by Runstream's own tools: lines, timeline, report, JSON; and refused by what is not for it. */
import { expect, it } from "vitest";
import { eventJson } from "../../src/cli/event-json.ts";
import { describeEvent } from "../../src/projections/event-line.ts";
import { type HistoryEntry, readHistory, stateAt } from "../../src/projections/history.ts";
import { reportOf } from "../../src/projections/run-report.ts";
import { timelineOf } from "../../src/projections/timeline.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { hook, newRun, requests, send, step, wait, worldOver } from "./worlds.ts";

const AT = Date.UTC(2030, 0, 1);

const told = async (): Promise<{
  runId: string;
  entries: HistoryEntry[];
  log: ReturnType<typeof createMemoryLog>;
}> => {
  const log = createMemoryLog();
  let now = Date.now();
  const world = worldOver(log, { clock: () => now++ });
  const runId = await newRun(world);
  const other = await newRun(world);
  await send(world, other, hook.created("hook_9", "taken"));
  await send(
    world,
    runId,
    step.lazy("step_000001"),
    step.retrying("step_000001"),
    step.started("step_000001"),
    step.completed("step_000001"),
    wait.created("wait_000002", new Date(AT)),
    wait.completed("wait_000002"),
    hook.created("hook_000003", "approve"),
    hook.received("hook_000003"),
    hook.created("hook_000004", "taken"),
    step.lazy("step_000005"),
    step.failed("step_000005"),
    {
      eventType: "attr_set",
      eventData: { changes: [{ key: "a", value: "b" }], writer: { type: "workflow" } },
    },
    requests.failed,
  );
  const entries: HistoryEntry[] = [];
  for await (const entry of readHistory(log, runId)) entries.push(entry);
  return { runId, entries, log };
};

it("every event has its line", async () => {
  const { entries } = await told();
  const lines = entries.map(describeEvent);
  expect(lines.map((line) => line.replace(/held by run wrun_\w+/, "held by run X"))).toEqual([
    'Run of workflow "wf" created, input devl["in"]',
    "Run started",
    'Step "add" …000001 created, input devl[1]',
    'Step "add" …000001 started',
    'Step "add" …000001 failed, to be tried again: devl[0]',
    'Step "add" …000001 started',
    'Step "add" …000001 succeeded, result devl[3]',
    "Wait …000002 until 2030-01-01T00:00:00.000Z",
    "Wait …000002 over",
    'Hook …000003 opened under "approve"',
    "Hook …000003 received devl[5]",
    'Hook …000004 refused: "taken" is held by run X',
    'Step "add" …000005 created, input devl[1]',
    'Step "add" …000005 started',
    'Step "add" …000005 failed for good: devl[0]',
    'Attributes set: [{"key":"a","value":"b"}]',
    'Run failed (USER_ERROR): devl["bad"]',
  ]);
});

it("its timeline and report are those of a run", async () => {
  const { entries } = await told();
  const timeline = timelineOf(entries);
  expect(timeline).toMatchObject({ workflow: "wf", status: "failed", reason: "USER_ERROR", revision: 16 });
  expect(timeline.rows).toMatchObject([
    {
      kind: "step",
      name: "add",
      status: "ok",
      begun: 2,
      attempts: 2,
      retries: [{ attempt: 1, message: "devl[0]", delayMs: 0 }],
    },
    { kind: "sleep", status: "elapsed", wakeAt: AT },
    { kind: "hook", token: "approve", status: "open" },
    { kind: "step", status: "failed", error: "devl[0]", attempts: 1 },
  ]);
  expect(reportOf(timeline)).toMatchObject({ steps: { ok: 1, failed: 1, running: 0 }, retries: 1 });
  expect(reportOf(timeline)).toMatchObject({ sdk: true, begunAgain: [] });
  const prefix = timelineOf(entries.slice(0, 4));
  expect(prefix.rows).toMatchObject([{ kind: "step", status: "running", begun: 1 }]);
});

it("an attempt that no failure came before is a step begun more than once", async () => {
  const log = createMemoryLog();
  const world = worldOver(log);
  const runId = await newRun(world);
  await send(world, runId, step.lazy("s"), step.started("s"), step.retrying("s"), step.started("s"));
  const entries: HistoryEntry[] = [];
  for await (const entry of readHistory(log, runId)) entries.push(entry);
  expect(reportOf(timelineOf(entries)).begunAgain).toEqual([{ key: "s", name: "add", begun: 3 }]);
});

it("a try that failed says why, and how long the next one is put off", async () => {
  const log = createMemoryLog();
  const world = worldOver(log, { clock: () => AT });
  const runId = await newRun(world);
  await send(world, runId, step.lazy("step_000001"), step.retrying("step_000001", new Date(AT + 60_000)));
  const entries: HistoryEntry[] = [];
  for await (const entry of readHistory(log, runId)) entries.push(entry);
  expect(describeEvent(entries.at(-1)!)).toBe(
    'Step "add" …000001 failed, to be tried again from 2030-01-01T00:01:00.000Z on: devl[0]',
  );
  expect(timelineOf(entries).rows).toMatchObject([
    { kind: "step", retries: [{ attempt: 1, message: "devl[0]", delayMs: 60_000, at: AT }] },
  ]);
});

it("its JSON gives the data as it is stored", async () => {
  const { runId, entries } = await told();
  expect(eventJson(runId, entries[7]!)).toMatchObject({
    runId,
    revision: 7,
    type: "SdkWaitCreated",
    data: {
      correlationId: "wait_000002",
      eventData: { resumeAt: "2030-01-01T00:00:00.000Z" },
      specVersion: 5,
    },
  });
  expect(eventJson(runId, entries[6]!).data).toMatchObject({ bytes: { text: "devl[3]" } });
});

it("the engine's own views refuse it, and say whose it is", async () => {
  const { runId, log } = await told();
  await expect(stateAt(log, runId, 3)).rejects.toThrow(/belongs to a run of the Workflow SDK/);
});
