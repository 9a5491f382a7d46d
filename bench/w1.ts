/**
 * W1: runs of ten trivial steps, 1, 16 and 64 in flight. Each round measures its own floor (the disk's commit) and its own ceiling
 * (the bare log writing the same appends), next to each other, since a shared machine changes from one minute to the next.
 */
import { type EventLog, openRunstream, type Runstream } from "../src/index.ts";
import { type Bench, rounds, type StoreKind, sized, type Workload } from "./bench.ts";
import { type AppendedEvents, costPerRun } from "./counting.ts";
import { type Floor, openFloor } from "./floor.ts";
import { closedLoop } from "./load.ts";
import { ownShares } from "./profile.ts";
import { mean, medians, percentile } from "./statistics.ts";
import { openStore } from "./stores.ts";
import { appendsOfOneRun, STEPS, trivial } from "./trivial.ts";
import { rawRuns } from "./w0.ts";

const RUNS_PER_SEC_WANTED = 2_000;

const oneRun = (runstream: Runstream) => async (): Promise<void> => {
  const outcome = await runstream.result(await runstream.start("trivial"));
  if (outcome.status !== "completed") throw new Error(`W1: a run ended ${outcome.status}`);
};

interface Case {
  readonly inFlight: number;
  /** Absent: the default, 128. */
  readonly stepConcurrency?: number;
}

/** The last one has fewer places in the step gate than runs, as somebody with hungry step bodies would set it. */
const CASES: readonly Case[] = [
  { inFlight: 1 },
  { inFlight: 16 },
  { inFlight: 64 },
  { inFlight: 64, stepConcurrency: 16 },
];

interface Scene {
  readonly bench: Bench;
  readonly kind: StoreKind;
  readonly shape: readonly AppendedEvents[];
  readonly floor: Floor;
  readonly raw: EventLog;
}

const measure = async (
  { bench, kind, shape, floor, raw }: Scene,
  { inFlight, ...width }: Case,
): Promise<void> => {
  const { stepConcurrency = "default" } = width;
  bench.progress(`W1 ${kind}: ${inFlight} in flight, step concurrency ${stepConcurrency}`);
  const options = { workflows: { trivial }, ...width };
  const cost = await costPerRun(bench, kind, options, (runstream) =>
    closedLoop(inFlight, 8 * inFlight + 20, oneRun(runstream)),
  );
  const store = await openStore(bench, kind, "w1");
  const runstream = openRunstream({ ...store.options, ...options });
  runstream.work();
  await closedLoop(inFlight, sized(bench.size, { quick: 100, normal: 400, full: 800 }), oneRun(runstream));
  const perFlight = sized(bench.size, { quick: 40, normal: 100, full: 200 });
  const total = perFlight + inFlight * Math.floor(perFlight / 4);
  const measured = medians(
    await rounds(5, async () => {
      const floorBeforeMs = floor.commitMs();
      const bare = await rawRuns(raw, shape, inFlight, total);
      const { tookMs, perSec, cpuMsEach } = await closedLoop(inFlight, total, oneRun(runstream));
      const floorMs = mean([floorBeforeMs, floor.commitMs()]);
      const p50Ms = percentile(tookMs, 0.5);
      return {
        runsPerSec: perSec,
        p50Ms,
        p99Ms: percentile(tookMs, 0.99),
        msPerStep: p50Ms / STEPS,
        cpuMsPerRun: cpuMsEach,
        floorMs,
        msPerStepToFloor: p50Ms / STEPS / floorMs,
        rawRunsPerSec: bare.runsPerSec,
        msPerStepToAppend: p50Ms / STEPS / (bare.p50Ms / shape.length),
        rawCpuMsPerRun: bare.cpuMsPerRun,
        ofRaw: perSec / bare.runsPerSec,
      };
    }),
  );
  bench.measured("W1", kind, { inFlight, stepConcurrency, ...measured, ...cost });
  if (kind === "sqlite") judge(bench, { inFlight, ...width }, { ...measured, ...cost });
  if (kind === "eventstore") judgeRemote(bench, { inFlight, ...width }, { ...measured, ...cost });
  if (inFlight === 64) await profile(bench, kind, stepConcurrency, runstream);
  await runstream.stop();
  await store.discard();
};

const judge = (
  bench: Bench,
  { inFlight, stepConcurrency }: Case,
  {
    floorMs,
    ...figures
  }: Readonly<Record<"floorMs" | "msPerStepToFloor" | "appendsPerRun" | "runsPerSec" | "ofRaw", number>>,
): void => {
  if (inFlight === 1) {
    const perStep = { value: figures.msPerStepToFloor, limit: 1.6, unit: "×", floorMs };
    bench.judge({ budget: "W1", what: "ms per step at 1 in flight, in commits of one row", ...perStep });
    const appends = { value: figures.appendsPerRun, limit: 12, unit: "" };
    bench.judge({ budget: "W1", what: "appends per run of ten steps at 1 in flight", ...appends });
  }
  if (inFlight < 64) return;
  const how = `at 64 in flight, step concurrency ${stepConcurrency ?? "128 (default)"}`;
  const rate = { value: figures.runsPerSec, limit: RUNS_PER_SEC_WANTED, unit: "/s", atLeast: true, floorMs };
  bench.judge({ budget: "W1", what: `runs a second ${how}`, ...rate });
  const share = { value: 100 * figures.ofRaw, limit: 45, unit: "%", atLeast: true };
  bench.judge({ budget: "W1", what: `of what the bare log writes ${how}`, ...share });
};

/** Against the same appends through the same client, in the same rounds: what the server takes is in both. */
const judgeRemote = (
  bench: Bench,
  { inFlight, stepConcurrency }: Case,
  figures: Readonly<Record<"msPerStepToAppend" | "appendsPerRun" | "ofRaw", number>>,
): void => {
  if (inFlight === 1) {
    const perStep = { value: figures.msPerStepToAppend, limit: 1.6, unit: "×" };
    bench.judge({
      budget: "W1",
      what: "ms per step at 1 in flight, in raw appends to the server",
      ...perStep,
    });
    const appends = { value: figures.appendsPerRun, limit: 12, unit: "" };
    bench.judge({ budget: "W1", what: "appends per run of ten steps at 1 in flight", ...appends });
  }
  // With places for a quarter of the runs a run takes twice the appends, so that another count of raw ones would have to be its measure.
  if (inFlight < 64 || stepConcurrency !== undefined) return;
  const share = { value: 100 * figures.ofRaw, limit: 60, unit: "%", atLeast: true };
  bench.judge({ budget: "W1", what: "of what raw appends to the server write at 64 in flight", ...share });
};

const profile = async (
  bench: Bench,
  kind: StoreKind,
  stepConcurrency: number | string,
  runstream: Runstream,
): Promise<void> => {
  bench.progress(`W1 ${kind}: profile at 64 in flight, step concurrency ${stepConcurrency}`);
  const runs = sized(bench.size, { quick: 1_000, normal: 3_000, full: 6_000 });
  const shares = await ownShares(() => closedLoop(64, runs, oneRun(runstream)));
  const busiest = shares.map(({ name, share }) => `${name} ${(100 * share).toFixed(1)} %`).join(", ");
  bench.measured("W1", kind, { inFlight: 64, stepConcurrency, busiest });
  const [top] = shares;
  if (kind !== "sqlite" || top === undefined) return;
  const share = { value: 100 * top.share, limit: 15, unit: "%" };
  bench.judge({ budget: "CPU", what: `the busiest function of ours in W1 at 64 (${top.name})`, ...share });
};

export const w1: Workload = {
  id: "W1",
  what: "runs of ten trivial steps, 1, 16 and 64 in flight",
  async run(bench) {
    for (const kind of bench.stores) {
      const shape = await appendsOfOneRun(bench, kind);
      const floor = openFloor(bench.folder);
      const raw = await openStore(bench, kind, "w1-raw");
      bench.progress(`W1 ${kind}: warming up`);
      await rawRuns(raw.log, shape, 64, 300);
      for (const one of CASES) await measure({ bench, kind, shape, floor, raw: raw.log }, one);
      await raw.discard();
      floor.close();
    }
  },
};
