/** W2: one run with a hundred trivial steps at once, through the default step gate (128) and through one of 16 places. */
import { openRunstream, type Runstream, workflow } from "../src/index.ts";
import { type Bench, rounds, type StoreKind, sized, type Workload } from "./bench.ts";
import { costPerRun } from "./counting.ts";
import { openFloor } from "./floor.ts";
import { closedLoop } from "./load.ts";
import { medians, percentile } from "./statistics.ts";
import { freshStore } from "./stores.ts";

const WIDTH = 100;

const fanOut = workflow({
  async run(_input, ctx) {
    const done = await Promise.all(
      Array.from({ length: WIDTH }, (_, n) => ctx.step("step", () => ({ ok: true, n }))),
    );
    return { done: done.length };
  },
});

const oneRun = (runstream: Runstream) => async (): Promise<void> => {
  const outcome = await runstream.result(await runstream.start("fanOut"));
  if (outcome.status !== "completed") throw new Error(`W2: a run ended ${outcome.status}`);
};

const measure = async (bench: Bench, kind: StoreKind, stepConcurrency: number | undefined): Promise<void> => {
  const width = stepConcurrency === undefined ? {} : { stepConcurrency };
  bench.progress(`W2 ${kind}: step concurrency ${stepConcurrency ?? "as it is by default"}`);
  const workflows = { fanOut };
  const cost = await costPerRun(bench, kind, { workflows, ...width }, (counted) =>
    closedLoop(1, 10, oneRun(counted)),
  );
  const store = freshStore(bench, kind, "w2");
  const floor = openFloor(bench.folder);
  const runstream = openRunstream({ ...store.options, workflows, ...width });
  runstream.work();
  await closedLoop(1, 40, oneRun(runstream));
  const measured = medians(
    await rounds(3, async () => {
      const floorMs = floor.commitMs();
      const total = sized(bench.size, { quick: 20, normal: 60, full: 120 });
      const { tookMs, cpuMsEach } = await closedLoop(1, total, oneRun(runstream));
      return {
        p50Ms: percentile(tookMs, 0.5),
        p99Ms: percentile(tookMs, 0.99),
        cpuMsPerRun: cpuMsEach,
        floorMs,
      };
    }),
  );
  bench.measured("W2", kind, { stepConcurrency: stepConcurrency ?? "default", ...measured, ...cost });
  if (kind === "sqlite") {
    const { floorMs } = measured;
    const how = `at step concurrency ${stepConcurrency ?? "128 (default)"}`;
    bench.judge({ budget: "W2", what: `ms, ${how}`, value: measured.p50Ms, limit: 8, unit: "ms", floorMs });
    bench.judge({ budget: "W2", what: `appends, ${how}`, value: cost.appendsPerRun, limit: 6, unit: "" });
  }
  floor.close();
  await runstream.stop();
  await store.discard();
};

export const w2: Workload = {
  id: "W2",
  what: "one run of a hundred steps at once",
  async run(bench) {
    for (const kind of bench.stores) {
      await measure(bench, kind, undefined);
      await measure(bench, kind, 16);
    }
  },
};
