/**
 * W7: replay. A run of many settled steps that waits for a signal is walked again: its stream is read, decoded and folded, and the body
 * goes from the top to the wait. Once in a process that has just started, then with fresh handles in a process that is warm.
 */
import { openRunstream, workflow } from "../src/index.ts";
import { type Bench, rounds, sized, type Workload } from "./bench.ts";
import { endChild, messageOf, prepareChildren, startChild } from "./children.ts";
import { median, medians } from "./statistics.ts";
import { freshFile, removeFile } from "./stores.ts";

interface Took {
  readonly ms: number;
  readonly cpuMs: number;
}

const storedRun = async (file: string, steps: number): Promise<string> => {
  const replayed = workflow({
    async run(_input, ctx) {
      for (let n = 0; n < steps; n += 1) await ctx.step("step", () => ({ ok: true, n }));
      return ctx.waitFor("never");
    },
  });
  const runstream = openRunstream({ store: file, workflows: { replayed } });
  runstream.work();
  const runId = await runstream.start("replayed", { steps });
  while ((await runstream.index.waits(runId)).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  await runstream.stop();
  return runId;
};

const replay = async (bench: Bench, steps: number): Promise<void> => {
  bench.progress(`W7: a run of ${steps} steps is stored`);
  const file = freshFile(bench, "w7");
  const runId = await storedRun(file, steps);
  bench.progress(`W7: ${steps} steps are walked again`);
  const all = await rounds(sized(bench.size, { quick: 3, normal: 5, full: 9 }), async () => {
    const child = startChild("w7-reader", [file, runId]);
    const { walks } = await messageOf<{ readonly walks: readonly Took[] }>(child, "walked");
    await endChild(child);
    const [first] = walks;
    if (first === undefined) throw new Error("W7: nothing was walked");
    const later = walks.slice(3);
    return {
      freshProcessMs: first.ms,
      freshProcessCpuMs: first.cpuMs,
      freshHandleMs: median(later.map(({ ms }) => ms)),
      freshHandleCpuMs: median(later.map(({ cpuMs }) => cpuMs)),
    };
  });
  const measured = medians(all);
  const per1000 = (ms: number): number => (ms * 1_000) / steps;
  bench.measured("W7", "sqlite", {
    steps,
    ...measured,
    freshProcessMsPer1000: per1000(measured.freshProcessMs),
    freshHandleMsPer1000: per1000(measured.freshHandleMs),
  });
  const warm = { value: per1000(measured.freshHandleMs), limit: 60, unit: "ms" };
  bench.judge({ budget: "W7", what: `${steps} steps with a fresh handle, per 1,000`, ...warm });
  const cold = { value: per1000(measured.freshProcessMs), limit: 60, unit: "ms" };
  bench.judge({ budget: "W7", what: `${steps} steps in a fresh process, V8 cold, per 1,000`, ...cold });
  removeFile(file);
};

export const w7: Workload = {
  id: "W7",
  what: "replay of stored runs of 1,000 and 9,900 steps",
  async run(bench) {
    await prepareChildren();
    for (const steps of bench.size === "quick" ? [1_000] : [1_000, 9_900]) await replay(bench, steps);
  },
};
