/**
 * WT: W1 as threads. Runs of ten trivial steps of the function-style API on `logCheckpointer`, next to the engine's W1 in every round, on
 * a log of the same kind. A thread has no worker, no index and no dispatcher, and needs one append a step; so it must not be much slower.
 */
import { openRunstream } from "../src/index.ts";
import { logCheckpointer, workflow } from "../src/threads/index.ts";
import { type Bench, rounds, type StoreKind, sized, type Workload } from "./bench.ts";
import { countedLog } from "./counting.ts";
import { type Floor, openFloor } from "./floor.ts";
import { closedLoop, type Load } from "./load.ts";
import { mean, medians, percentile } from "./statistics.ts";
import { freshStore } from "./stores.ts";
import { STEPS, trivial } from "./trivial.ts";

const IN_FLIGHT = [1, 16, 64] as const;

/** {@link trivial}, as a thread. */
const trivialThread = (log: Parameters<typeof logCheckpointer>[0]) =>
  workflow(
    async (_input: undefined, { step }) => {
      let last: { ok: boolean; n: number } | undefined;
      for (let n = 0; n < STEPS; n += 1) last = await step("step", () => ({ ok: true, n }));
      return last;
    },
    { checkpointer: logCheckpointer(log) },
  );

const oneThread = (thread: ReturnType<typeof trivialThread>) => async (): Promise<void> => {
  const { status } = await thread.invoke(undefined);
  if (status !== "completed") throw new Error(`WT: a thread ended ${status}`);
};

/** Appends of one thread with nothing else going on. */
const appendsPerThread = async (bench: Bench, kind: StoreKind): Promise<number> => {
  const store = freshStore(bench, kind, "wt-counted");
  const { log, appends } = countedLog(store.log);
  await oneThread(trivialThread(log))();
  await store.discard();
  return appends.length;
};

const perStep = ({ tookMs }: Load): number => percentile(tookMs, 0.5) / STEPS;

const measure = async (bench: Bench, kind: StoreKind, inFlight: number, floor: Floor): Promise<void> => {
  bench.progress(`WT ${kind}: ${inFlight} in flight`);
  const [threads, runs] = [freshStore(bench, kind, "wt"), freshStore(bench, kind, "wt-engine")];
  const runstream = openRunstream({ ...runs.options, workflows: { trivial } });
  runstream.work();
  const oneRun = async (): Promise<void> => {
    const outcome = await runstream.result(await runstream.start("trivial"));
    if (outcome.status !== "completed") throw new Error(`WT: a run ended ${outcome.status}`);
  };
  const thread = oneThread(trivialThread(threads.log));
  const warmUp = sized(bench.size, { quick: 100, normal: 400, full: 800 });
  await closedLoop(inFlight, warmUp, oneRun);
  await closedLoop(inFlight, warmUp, thread);
  const perFlight = sized(bench.size, { quick: 40, normal: 100, full: 200 });
  const total = perFlight + inFlight * Math.floor(perFlight / 4);
  const measured = medians(
    await rounds(5, async () => {
      const floorBeforeMs = floor.commitMs();
      const engine = await closedLoop(inFlight, total, oneRun);
      const own = await closedLoop(inFlight, total, thread);
      return {
        runsPerSec: own.perSec,
        p50Ms: percentile(own.tookMs, 0.5),
        p99Ms: percentile(own.tookMs, 0.99),
        msPerStep: perStep(own),
        cpuMsPerRun: own.cpuMsEach,
        floorMs: mean([floorBeforeMs, floor.commitMs()]),
        engineMsPerStep: perStep(engine),
        engineRunsPerSec: engine.perSec,
        engineCpuMsPerRun: engine.cpuMsEach,
        toEngine: perStep(own) / perStep(engine),
      };
    }),
  );
  const appendsPerRun = await appendsPerThread(bench, kind);
  bench.measured("WT", kind, { inFlight, ...measured, appendsPerRun });
  await runstream.stop();
  await runs.discard();
  await threads.discard();
  if (kind !== "sqlite") return;
  const { toEngine, floorMs } = measured;
  const what = `ms per step of a thread at ${inFlight} in flight, in those of the engine`;
  bench.judge({ budget: "WT", what, value: toEngine, limit: 1.3, unit: "×", floorMs });
  if (inFlight > 1) return;
  // One for each step, and one for the end.
  const appends = { value: appendsPerRun, limit: STEPS + 1, unit: "" };
  bench.judge({ budget: "WT", what: "appends per thread of ten steps", ...appends });
};

export const wt: Workload = {
  id: "WT",
  what: "threads of ten trivial steps, 1, 16 and 64 in flight, next to the engine's runs",
  async run(bench) {
    for (const kind of bench.stores) {
      const floor = openFloor(bench.folder);
      for (const inFlight of IN_FLIGHT) await measure(bench, kind, inFlight, floor);
      floor.close();
    }
  },
};
