/**
 * W8: a file of 1,000,000 runs (200,000 unless all is asked for). The first page of runs, the start of a run next to a start in an empty
 * file, how fast the run index is made anew, and the bytes that a step takes on the disk.
 */
import { rmSync } from "node:fs";
import { openRunIndex, openRunstream, type RunEvent, type Runstream, workflow } from "../src/index.ts";
import { openSqliteLog } from "../src/store-sqlite/index.ts";
import { type Bench, rounds, sized, type Workload } from "./bench.ts";
import { openFloor } from "./floor.ts";
import { stepEvents, writeRuns } from "./large-files.ts";
import { closedLoop } from "./load.ts";
import { mean, median, medians, percentile } from "./statistics.ts";
import { bytesOf, freshFile, removeFile } from "./stores.ts";

const STEPS = 2;
const YEAR_MS = 365 * 86_400_000;

const quiet = workflow({ run: () => undefined });

const overRun = (at: number, index: number, steps: number): readonly RunEvent[] => [
  {
    type: "RunCreated",
    data: {
      workflow: `order${index % 7}`,
      input: { json: { order: index } },
      createdAt: at,
      key: `order-${index}`,
    },
  },
  { type: "RunStarted", data: { at } },
  ...Array.from({ length: steps }, (_, n) => stepEvents("step", n, at)).flat(),
  index % 50 === 0
    ? { type: "RunFailed", data: { at, error: { message: "The card was refused." } } }
    : { type: "RunCompleted", data: { at, output: { json: { ok: true, n: steps - 1 } } } },
];

const write = async (bench: Bench, file: string, runs: number, steps: number): Promise<number> => {
  const log = openSqliteLog(file);
  const began = Date.now() - YEAR_MS;
  const before = performance.now();
  await writeRuns(
    log,
    runs,
    (index) => overRun(began + (index * YEAR_MS) / runs, index, steps),
    (done) => {
      bench.progress(`W8: ${done} of ${runs} runs of ${steps} steps written`);
    },
  );
  const tookMs = performance.now() - before;
  await log.close();
  return tookMs;
};

/** Bytes of the file for each step of runs of ten, their creation and their end included. */
const bytesPerStep = async (bench: Bench): Promise<number> => {
  const file = freshFile(bench, "w8-bytes");
  const runs = 2_000;
  await write(bench, file, runs, 10);
  const bytes = bytesOf(file) / (runs * 10);
  removeFile(file);
  return bytes;
};

const rebuild = async (bench: Bench, file: string, eventsInLog: number) => {
  const log = openSqliteLog(file);
  let indexed = 0;
  const index = openRunIndex(log, {
    path: `${file}-index`,
    onProgress: ({ events }) => {
      indexed = events;
      if (events % 100_000 < 2_000) bench.progress(`W8: index rebuilt from ${events} events`);
    },
  });
  const before = performance.now();
  await index.catchUp();
  const tookMs = performance.now() - before;
  await index.close();
  await log.close();
  return {
    rebuildMs: tookMs,
    eventsPerSec: (eventsInLog / tookMs) * 1_000,
    indexedEventsPerSec: (indexed / tookMs) * 1_000,
  };
};

const starts = async (runstream: Runstream, count: number): Promise<number> => {
  const { tookMs } = await closedLoop(1, count, () => runstream.start("quiet"));
  return percentile(tookMs, 0.5);
};

const pages = async (runstream: Runstream) => {
  const first = async (query: Parameters<Runstream["list"]>[0]): Promise<number> => {
    const took: number[] = [];
    for (let n = 0; n < 25; n += 1) {
      const before = performance.now();
      await runstream.list(query);
      took.push(performance.now() - before);
    }
    return median(took);
  };
  return {
    lsMs: await first({ limit: 20 }),
    lsWorkflowMs: await first({ workflow: "order3", limit: 20 }),
    lsFailedMs: await first({ status: "failed", limit: 100 }),
  };
};

export const w8: Workload = {
  id: "W8",
  what: "1,000,000 runs in the file",
  async run(bench) {
    const runs = sized(bench.size, { quick: 20_000, normal: 200_000, full: 1_000_000 });
    const floor = openFloor(bench.folder);
    const stepBytes = await bytesPerStep(bench);
    const file = freshFile(bench, "w8");
    const writeMs = await write(bench, file, runs, STEPS);
    const events = runs * (3 + 2 * STEPS);
    const gigabytes = bytesOf(file) / 1e9;
    bench.progress("W8: the index is built");
    const built = await rounds(3, async () => {
      for (const suffix of ["", "-wal", "-shm"]) rmSync(`${file}-index${suffix}`, { force: true });
      return rebuild(bench, file, events);
    });
    const rebuilt = medians(built);

    bench.progress("W8: a first page, from opening the file");
    const opened = await rounds(3, async () => {
      const before = performance.now();
      const runstream = openRunstream({ store: file, workflows: { quiet } });
      await runstream.list({ limit: 20 });
      const tookMs = performance.now() - before;
      await runstream.stop();
      return tookMs;
    });
    const large = openRunstream({ store: file, workflows: { quiet } });
    const page = await pages(large);
    bench.progress("W8: starting runs in the large file and in an empty one");
    const emptyFile = freshFile(bench, "w8-empty");
    const empty = openRunstream({ store: emptyFile, workflows: { quiet } });
    await starts(empty, 200);
    await starts(large, 200);
    const count = sized(bench.size, { quick: 100, normal: 300, full: 500 });
    const started = medians(
      await rounds(5, async () => {
        const emptyMs = await starts(empty, count);
        const startMs = await starts(large, count);
        const emptyAgainMs = await starts(empty, count);
        const startEmptyMs = mean([emptyMs, emptyAgainMs]);
        return { startMs, startEmptyMs, startToEmpty: startMs / startEmptyMs, floorMs: floor.commitMs() };
      }),
    );
    await empty.stop();
    await large.stop();
    removeFile(emptyFile);
    removeFile(file);
    floor.close();
    bench.measured("W8", "sqlite", {
      runs,
      events,
      gigabytes,
      eventsWrittenPerSec: (events / writeMs) * 1_000,
      ...page,
      openAndLsMs: median(opened),
      ...started,
      ...rebuilt,
      bytesPerStep: stepBytes,
    });
    bench.judge({ budget: "W8", what: "first page of runs", value: page.lsMs, limit: 50, unit: "ms" });
    const toEmpty = { value: started.startToEmpty, limit: 1.1, unit: "×" };
    bench.judge({ budget: "W8", what: "start, compared with an empty file", ...toEmpty });
    const rate = { value: rebuilt.eventsPerSec, limit: 50_000, unit: "/s", atLeast: true };
    bench.judge({
      budget: "W8",
      what: "events of the log read a second while rebuilding the index",
      ...rate,
    });
    bench.judge({ budget: "W8", what: "bytes on disk a step", value: stepBytes, limit: 700, unit: "B" });
  },
};
