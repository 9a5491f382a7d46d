/**
 * W6: 100,000 runs asleep for a day. A worker of its own process opens that file: how long until it works, how much memory it takes, what
 * it does while nothing happens, and how late it wakes a thousand runs that fall due at one instant.
 */
import type { RunEvent } from "../src/index.ts";
import { openSqliteLog } from "../src/store-sqlite/index.ts";
import { type Bench, sized, type Workload } from "./bench.ts";
import { endChild, messageOf, prepareChildren, startChild } from "./children.ts";
import { openFloor } from "./floor.ts";
import { ackEverything, stepEvents, writeRuns } from "./large-files.ts";
import { median } from "./statistics.ts";
import { freshFile, removeFile } from "./stores.ts";

const DAY_MS = 86_400_000;
const DUE_AT_ONCE = 1_000;

const asleep = (at: number): readonly RunEvent[] => [
  { type: "RunCreated", data: { workflow: "asleep", input: { json: {} }, createdAt: at } },
  { type: "RunStarted", data: { at } },
  ...stepEvents("step", 0, at),
  { type: "SleepScheduled", data: { key: "sleep!day#0", wakeAt: at + DAY_MS, kind: "sleep", at } },
];

interface Ready {
  readonly startMs: number;
  readonly rssMb: number;
}
interface Idle {
  readonly cpuPercent: number;
  readonly rssMb: number;
}
interface Woken {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rssMb: number;
}

const started = async (file: string) => {
  const child = startChild("w6-worker", [file]);
  return { child, ready: await messageOf<Ready>(child, "ready") };
};

const ask = async <T>(child: ReturnType<typeof startChild>, what: object, answer: string): Promise<T> => {
  const answered = messageOf<T>(child, answer);
  child.send(what);
  return answered;
};

export const w6: Workload = {
  id: "W6",
  what: "100,000 runs asleep",
  async run(bench: Bench) {
    await prepareChildren();
    const sleepers = sized(bench.size, { quick: 10_000, normal: 100_000, full: 100_000 });
    const file = freshFile(bench, "w6");
    const floor = openFloor(bench.folder);
    const log = openSqliteLog(file);
    const now = Date.now();
    await writeRuns(
      log,
      sleepers,
      (index) => asleep(now - (index % 60_000)),
      (done) => {
        bench.progress(`W6: ${done} of ${sleepers} sleeping runs written`);
      },
    );
    bench.progress("W6: their first deliveries are answered");
    await ackEverything(log, "runstream", sleepers);
    await log.close();

    bench.progress("W6: a worker starts without an index");
    const unindexed = await started(file);
    await endChild(unindexed.child);
    bench.progress("W6: a worker starts with the index that is there");
    const starts: number[] = [];
    let worker = await started(file);
    for (let n = 0; n < 2; n += 1) {
      starts.push(worker.ready.startMs);
      await endChild(worker.child);
      worker = await started(file);
    }
    starts.push(worker.ready.startMs);
    const seconds = sized(bench.size, { quick: 3, normal: 10, full: 20 });
    bench.progress(`W6: the worker idles for ${seconds} s`);
    const idle = await ask<Idle>(worker.child, { kind: "idle", seconds }, "idled");
    bench.progress(`W6: ${DUE_AT_ONCE} runs fall due at once`);
    const woken = await ask<Woken>(worker.child, { kind: "due", runs: DUE_AT_ONCE }, "woken");
    await endChild(worker.child);
    const rssMb = Math.max(worker.ready.rssMb, idle.rssMb);
    const floorMs = floor.commitMs();
    bench.measured("W6", "sqlite", {
      sleepers,
      startMs: median(starts),
      startAndIndexMs: unindexed.ready.startMs,
      rssStartedMb: worker.ready.rssMb,
      rssIdleMb: idle.rssMb,
      rssAfterWakesMb: woken.rssMb,
      idleCpuPercent: idle.cpuPercent,
      latenessP50Ms: woken.p50Ms,
      latenessP99Ms: woken.p99Ms,
      floorMs,
    });
    bench.judge({
      budget: "W6",
      what: "memory of the worker while they sleep",
      value: rssMb,
      limit: 150,
      unit: "MB",
    });
    bench.judge({ budget: "W6", what: "start of a worker", value: median(starts), limit: 2_000, unit: "ms" });
    bench.judge({ budget: "W6", what: "processor while idle", value: idle.cpuPercent, limit: 1, unit: "%" });
    const late = { value: woken.p99Ms, limit: 1_000, unit: "ms", floorMs };
    bench.judge({ budget: "W6", what: "lateness of 1,000 runs due at once, p99", ...late });
    floor.close();
    removeFile(file);
  },
};
