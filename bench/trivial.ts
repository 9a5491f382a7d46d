/** The trivial workflow that most figures are about, and the appends that one run of it comes to. */
import { openRunstream, workflow } from "../src/index.ts";
import type { Bench, StoreKind } from "./bench.ts";
import { type AppendedEvents, countedLog } from "./counting.ts";
import { openStore } from "./stores.ts";

export const STEPS = 10;

/** Ten steps one after the other, each of which answers a small object. */
export const trivial = workflow({
  async run(_input, ctx) {
    let last: { ok: boolean; n: number } | undefined;
    for (let n = 0; n < STEPS; n += 1) last = await ctx.step("step", () => ({ ok: true, n }));
    return last;
  },
});

/** The appends of one run of {@link trivial} with nothing else going on, in order. */
export const appendsOfOneRun = async (bench: Bench, kind: StoreKind): Promise<AppendedEvents[]> => {
  const store = await openStore(bench, kind, "shape");
  const counted = countedLog(store.log);
  const runstream = openRunstream({ ...store.options, store: counted.log, workflows: { trivial } });
  runstream.work();
  const runId = await runstream.start("trivial");
  await runstream.result(runId);
  await runstream.stop();
  await store.discard();
  return counted.appends.map(({ events }) => events);
};
