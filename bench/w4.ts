/** W4: one long run of sequential trivial steps. The last hundred must cost what the first hundred did. */
import { openRunstream, workflow } from "../src/index.ts";
import { type Bench, rounds, type StoreKind, type Workload } from "./bench.ts";
import { openFloor } from "./floor.ts";
import { mean, median, medians } from "./statistics.ts";
import { freshStore } from "./stores.ts";

const HUNDRED = 100;
const WARM_UP = 2_000;

const measure = async (bench: Bench, kind: StoreKind, steps: number): Promise<void> => {
  /** When each body began, for the run under way. */
  const began: number[] = [];
  const long = workflow({
    async run(input, ctx) {
      for (let n = 0; n < Number(input.steps); n += 1) {
        await ctx.step("step", () => {
          began.push(performance.now());
          return { ok: true, n };
        });
      }
    },
  });
  const store = freshStore(bench, kind, "w4");
  const floor = openFloor(bench.folder);
  const runstream = openRunstream({ ...store.options, workflows: { long } });
  runstream.work();
  const one = async (count: number): Promise<number> => {
    began.length = 0;
    const before = performance.now();
    const outcome = await runstream.result(await runstream.start("long", { steps: count }));
    if (outcome.status !== "completed") throw new Error(`W4: the run ended ${outcome.status}`);
    return performance.now() - before;
  };
  /** The median of the steps from this one on, a hundred of them: one slow commit says nothing about the run. */
  const perStep = (from: number): number =>
    median(
      began.slice(from + 1, from + HUNDRED).map((at, index) => at - (began[from + index] ?? Number.NaN)),
    );
  await one(WARM_UP);
  const measured = medians(
    await rounds(steps > 5_000 ? 3 : 5, async (round) => {
      bench.progress(`W4 ${kind}: ${steps} steps, round ${round + 1}`);
      const floorBeforeMs = floor.commitMs();
      const cpu = process.cpuUsage();
      const totalMs = await one(steps);
      const used = process.cpuUsage(cpu);
      const floorMs = mean([floorBeforeMs, floor.commitMs()]);
      const firstMsPerStep = perStep(0);
      const lastMsPerStep = perStep(steps - HUNDRED);
      return {
        totalMs,
        msPerStep: totalMs / steps,
        firstMsPerStep,
        lastMsPerStep,
        lastToFirst: lastMsPerStep / firstMsPerStep,
        cpuMsPerStep: (used.user + used.system) / 1_000 / steps,
        floorMs,
        perFloor: totalMs / steps / floorMs,
      };
    }),
  );
  bench.measured("W4", kind, { steps, ...measured });
  if (kind === "sqlite") {
    const flat = { value: measured.lastToFirst, limit: 1.15, unit: "×" };
    bench.judge({ budget: "W4", what: `${steps} steps: last hundred to first hundred`, ...flat });
    if (steps === 5_000) {
      const total = { value: measured.perFloor, limit: 1.8, unit: "×", floorMs: measured.floorMs };
      bench.judge({ budget: "W4", what: "5000 steps, in commits of one row each", ...total });
    }
  }
  floor.close();
  await runstream.stop();
  await store.discard();
};

export const w4: Workload = {
  id: "W4",
  what: "one run of 1,000, 5,000 and 9,900 sequential steps",
  async run(bench) {
    const sizes = bench.size === "quick" ? [1_000] : [1_000, 5_000, 9_900];
    for (const kind of bench.stores) for (const steps of sizes) await measure(bench, kind, steps);
  },
};
