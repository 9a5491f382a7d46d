/**
 * Opens, works and stops a Runstream a few times on `<store>` (memory, or a file), and says as JSON what is left of it: timers (also
 * those that keep nothing alive), resources, open files. Then it has nothing more to do, and must end by itself.
 */
import { createHook } from "node:async_hooks";
import { readdirSync, readlinkSync } from "node:fs";
import { openRunstream } from "../../src/embedded/runstream.ts";
import { workflow } from "../../src/engine/workflow.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { until } from "./until.ts";

const timers = new Map<number, string>();
createHook({
  init: (id, type) => {
    if (type === "Timeout") timers.set(id, String(new Error("set").stack).split("\n").slice(2, 8).join("\n"));
  },
  destroy: (id) => timers.delete(id),
}).enable();

const busy = workflow({
  run: async (_input, ctx) => {
    await ctx.step("one", () => 1);
    await ctx.sleep("short", 5);
    const answer = await ctx.waitFor(`t-${ctx.runId}`, { timeoutMs: 86_400_000 });
    await ctx.step("two", () => 2);
    return answer;
  },
});

const where = process.argv[2] as string;
const memory = createMemoryLog();
for (let round = 0; round < 5; round += 1) {
  const rs = openRunstream({ store: where === "memory" ? memory : where, workflows: { busy } });
  rs.work();
  const runIds = await Promise.all(Array.from({ length: 10 }, () => rs.start(busy)));
  const outcomes = runIds.map((runId) => rs.result(runId));
  for (const outcome of outcomes.slice(5)) outcome.catch(() => {});
  for (const runId of runIds.slice(0, 5))
    await until(`hook of ${runId}`, () => rs.signal(`t-${runId}`, "go"));
  await Promise.all(outcomes.slice(0, 5));
  await rs.stop();
}
await new Promise((resolve) => setImmediate(resolve));

const files = readdirSync("/proc/self/fd").flatMap((fd) => {
  try {
    const target = readlinkSync(`/proc/self/fd/${fd}`);
    return target.startsWith(where) ? [target] : [];
  } catch {
    return [];
  }
});
const resources = process.getActiveResourcesInfo().filter((kind) => !/Pipe|TTY|FSReq/.test(kind));
process.stdout.write(`${JSON.stringify({ timers: [...timers.values()], resources, files })}\n`);
