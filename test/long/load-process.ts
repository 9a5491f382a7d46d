/** One load in a process of its own: `load-process.ts <load> <folder>` does it on a SQLite file there and says as JSON how it went. */
import { readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { openRunstream, type Runstream } from "../../src/embedded/runstream.ts";
import { type AnyWorkflowDef, workflow } from "../../src/engine/workflow.ts";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";

const [load, folder] = process.argv.slice(2) as [string, string];
const gc = (globalThis as unknown as { gc: () => void }).gc;

const workflows: Record<string, AnyWorkflowDef> = {
  sequential: workflow({
    run: async ({ steps }: { steps: number }, ctx) => {
      let sum = 0;
      const laps: number[] = [];
      for (let n = 0; n < steps; n += 1) {
        if (n % 100 === 0) laps.push(performance.now());
        sum += await ctx.step("one", () => 1);
      }
      laps.push(performance.now());
      return { sum, first: laps[1]! - laps[0]!, last: laps.at(-1)! - laps.at(-2)! };
    },
  }),
  parallel: workflow({
    run: async ({ steps }: { steps: number }, ctx) => {
      const all = await Promise.all(Array.from({ length: steps }, (_, n) => ctx.step("one", () => n)));
      return { sum: all.reduce((sum, n) => sum + n, 0) };
    },
  }),
  short: workflow({
    run: async ({ n }: { n: number }, ctx) => {
      const half = await ctx.step("half", () => n / 2);
      return ctx.step("double", () => half * 2);
    },
  }),
  parked: workflow({
    run: async (_input, ctx) => ctx.waitFor(`go-${ctx.runId}`),
  }),
  sleeper: workflow({
    run: async ({ at }: { at: number }, ctx) => {
      await ctx.sleep("until", new Date(at));
      return Date.now() - at;
    },
  }),
};

const outputOf = async (rs: Runstream, runId: string): Promise<unknown> => {
  const outcome = await rs.result(runId);
  if (outcome.status !== "completed") throw new Error(`run ${runId} is ${JSON.stringify(outcome)}`);
  return outcome.output;
};

/** What of the folder this process holds open. */
const openFiles = (): string[] =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return target.startsWith(folder) ? [target] : [];
    } catch {
      return [];
    }
  });
const heap = (): number => {
  gc();
  gc();
  return process.memoryUsage().heapUsed / 2 ** 20;
};
const turn = (ms = 0): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const short = async (rs: Runstream, count: number): Promise<void> => {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) {
      const output = await outputOf(rs, await rs.start("short", { n }));
      if (output !== n) throw new Error(`run ${n} answered ${JSON.stringify(output)}`);
    }
  };
  await Promise.all(Array.from({ length: 64 }, lane));
};

const loads: Record<string, (rs: Runstream) => Promise<object>> = {
  async sequential(rs) {
    const output = await outputOf(rs, await rs.start("sequential", { steps: 9_900 }));
    return { output };
  },
  async parallel(rs) {
    const output = await outputOf(rs, await rs.start("parallel", { steps: 9_900 }));
    return { output };
  },
  async short(rs) {
    await short(rs, 4_000);
    await turn(50);
    const before = heap();
    await short(rs, 8_000);
    await turn(50);
    const middle = heap();
    await short(rs, 8_000);
    await turn(50);
    return { before, middle, after: heap(), walking: rs.walking };
  },
  async parked(rs) {
    const runIds = await Promise.all(Array.from({ length: 2_000 }, () => rs.start("parked")));
    let open = 0;
    while (open < runIds.length) {
      await rs.index.catchUp();
      const waits = await Promise.all(runIds.map((runId) => rs.index.waits(runId, { catchUp: false })));
      open = waits.filter((held) => held.length === 1).length;
      await turn(20);
    }
    const signalled = performance.now();
    const accepted = await Promise.all(runIds.map((runId, n) => rs.signal(`go-${runId}`, { n })));
    const outputs = await Promise.all(runIds.map((runId) => outputOf(rs, runId)));
    return {
      open,
      accepted: accepted.filter(Boolean).length,
      right: outputs.filter((output, n) => (output as { n: number }).n === n).length,
      again: await rs.signal(`go-${runIds[0]}`, {}),
      ms: performance.now() - signalled,
    };
  },
  async sleepers(rs) {
    const at = Date.now() + 8_000;
    const runIds = await Promise.all(Array.from({ length: 2_000 }, () => rs.start("sleeper", { at })));
    const late = (await Promise.all(runIds.map((runId) => outputOf(rs, runId)))) as number[];
    late.sort((a, b) => a - b);
    let elapsed = 0;
    for await (const _ of rs.log.readAll({ filter: { types: ["SleepElapsed"] } })) elapsed += 1;
    return { early: late.filter((ms) => ms < 0).length, p50: late[1_000], max: late.at(-1), elapsed };
  },
};

// Loaded once before, so that what the first opening leaves in caches is not counted.
await openSqliteLog(join(folder, `${load}-warm.db`)).close();
const heapBefore = heap();
const begun = performance.now();
let rs: Runstream | undefined = openRunstream({
  store: join(folder, `${load}.db`),
  durability: "normal",
  workflows,
});
rs.work();
const answer = await (loads[load] as (rs: Runstream) => Promise<object>)(rs);
const ms = performance.now() - begun;
const walking = rs.walking;
await rs.stop();
rs = undefined;
await turn(20);
process.stdout.write(
  `${JSON.stringify({
    ...answer,
    walking,
    totalMs: Math.round(ms),
    heapLeft: heap() - heapBefore,
    files: openFiles(),
    resources: process.getActiveResourcesInfo().filter((kind) => !/Pipe|TTY|FSReq|Immediate/.test(kind)),
  })}\n`,
);
