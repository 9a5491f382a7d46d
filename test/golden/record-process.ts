/**
 * Records the streams of the golden workflows, once per released version of the events: `node test/golden/record-process.ts <folder>`.
 * A folder that exists is not written again, because what is golden stays.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createJournal, createMemoryStreams, createWorkflowEngine, openRunIndex } from "../../src/index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { goldenWorkflows } from "./workflows.ts";

const folder = process.argv[2];
if (folder === undefined || existsSync(folder)) throw new Error("Name a folder that does not exist yet.");
mkdirSync(folder, { recursive: true });

let now = Date.UTC(2026, 0, 1);
const clock = (): number => {
  now += 1;
  return now;
};

for (const name of Object.keys(goldenWorkflows)) {
  const log = createMemoryLog({ clock });
  const journal = createJournal(log, { index: () => openRunIndex(log), clock });
  const engine = createWorkflowEngine({
    workflows: goldenWorkflows,
    journal,
    streams: createMemoryStreams(),
    dispatch: () => {},
    newRunId: () => `golden-${name}`,
    clock,
  });
  const runId = await engine.start(name, [{}]);
  await engine.execute(runId);
  if (name === "waits") {
    await engine.signal(`answer:${runId}`, "yes");
    await engine.execute(runId);
    await engine.wakeUp(runId, ["hurry"]);
    await engine.execute(runId);
    now += 2_000;
    await engine.execute(runId);
  }
  if (name === "cancelled") await engine.cancel(runId);
  const events = [];
  for await (const event of log.readAll()) events.push(event);
  const record = await engine.getRun(runId);
  const outcome = {
    status: record?.status,
    output: record?.output ?? null,
    error: record?.error?.message ?? null,
  };
  writeFileSync(
    join(folder, `${name}.json`),
    `${JSON.stringify({ workflow: name, runId, outcome, events }, null, 1)}\n`,
  );
}
