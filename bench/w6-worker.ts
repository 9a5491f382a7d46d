/** W6's worker: says how long it took to be at work, what it takes while idle, and how late it wakes runs that fall due together. */
import { openRunstream, workflow } from "../src/index.ts";
import { percentile } from "./statistics.ts";

const [store = ""] = process.argv.slice(2);
const LEAD_MS = 4_000;

const lateMs: number[] = [];
const rssMb = (): number => process.memoryUsage().rss / 2 ** 20;
const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const asleep = workflow({
  async run(input, ctx) {
    await ctx.step("step", () => ({ ok: true }));
    if (input.until === undefined) return;
    const until = Number(input.until);
    await ctx.sleep("day", new Date(until));
    lateMs.push(Date.now() - until);
  },
});

const openedAt = performance.now();
const runstream = openRunstream({ store, workflows: { asleep } });
runstream.work();
// At work: the next deadline is known, and a run that is started now comes to its end.
await runstream.index.nextDeadline();
await runstream.result(await runstream.start("asleep"));
process.send?.({ kind: "ready", startMs: performance.now() - openedAt, rssMb: rssMb() });

const idle = async (seconds: number): Promise<void> => {
  await later(500);
  const cpu = process.cpuUsage();
  const before = performance.now();
  await later(seconds * 1_000);
  const used = process.cpuUsage(cpu);
  const cpuPercent = (100 * (used.user + used.system)) / 1_000 / (performance.now() - before);
  process.send?.({ kind: "idled", cpuPercent, rssMb: rssMb() });
};

const fallDue = async (runs: number): Promise<void> => {
  const until = Date.now() + LEAD_MS;
  const ids = await Promise.all(Array.from({ length: runs }, () => runstream.start("asleep", { until })));
  await Promise.all(ids.map((runId) => runstream.result(runId)));
  process.send?.({
    kind: "woken",
    p50Ms: percentile(lateMs, 0.5),
    p99Ms: percentile(lateMs, 0.99),
    rssMb: rssMb(),
  });
};

process.on("message", (asked: { kind: "idle"; seconds: number } | { kind: "due"; runs: number }) => {
  void (asked.kind === "idle" ? idle(asked.seconds) : fallDue(asked.runs));
});
process.once("SIGTERM", () => void runstream.stop().then(() => process.exit(0)));
