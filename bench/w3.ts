/**
 * W3: a run that is parked on `waitFor` is signalled. How long until its body goes on, and until its result; signalled from this process,
 * and from another one that has the same file open.
 */
import { openRunstream, type Runstream, workflow } from "../src/index.ts";
import { type Bench, type StoreKind, sized, type Workload } from "./bench.ts";
import { endChild, messageOf, prepareChildren, startChild } from "./children.ts";
import { openFloor } from "./floor.ts";
import { machineMs } from "./machine-clock.ts";
import { percentile } from "./statistics.ts";
import { freshFile, freshStore, removeFile } from "./stores.ts";

/** When each body went on, by token. */
const wentOn = new Map<string, number>();

const waiting = workflow({
  async run({ token }, ctx) {
    const answer = await ctx.waitFor(String(token));
    wentOn.set(String(token), machineMs());
    return { answer };
  },
});

/** Answers when the signal was given, on the clock of the machine. */
type Signal = (token: string) => Promise<number>;

const isParked = async (runstream: Runstream, runId: string): Promise<boolean> => {
  if (runstream.walking > 0) return false;
  return (await runstream.index.waits(runId)).length > 0;
};

const wakes = async (runstream: Runstream, count: number, signal: Signal) => {
  const bodyMs: number[] = [];
  const resultMs: number[] = [];
  for (let n = 0; n < count; n += 1) {
    const token = `approval-${n}-${Math.random()}`;
    const runId = await runstream.start("waiting", { token });
    while (!(await isParked(runstream, runId))) await new Promise((resolve) => setTimeout(resolve, 1));
    const result = runstream.result(runId);
    const at = await signal(token);
    const outcome = await result;
    if (outcome.status !== "completed") throw new Error(`W3: a run ended ${outcome.status}`);
    resultMs.push(machineMs() - at);
    bodyMs.push((wentOn.get(token) ?? Number.NaN) - at);
  }
  return {
    p50Ms: percentile(bodyMs, 0.5),
    p99Ms: percentile(bodyMs, 0.99),
    resultP50Ms: percentile(resultMs, 0.5),
    resultP99Ms: percentile(resultMs, 0.99),
    wakes: count,
  };
};

const here = async (bench: Bench, kind: StoreKind): Promise<void> => {
  bench.progress(`W3 ${kind}: signalled from this process`);
  const store = freshStore(bench, kind, "w3");
  const floor = openFloor(bench.folder);
  const runstream = openRunstream({ ...store.options, workflows: { waiting } });
  runstream.work();
  const signal: Signal = async (token) => {
    const at = machineMs();
    if (!(await runstream.signal(token, { yes: true }))) throw new Error("W3: a signal was refused");
    return at;
  };
  await wakes(runstream, 30, signal);
  const floorMs = floor.commitMs();
  const measured = await wakes(runstream, sized(bench.size, { quick: 50, normal: 200, full: 400 }), signal);
  bench.measured("W3", kind, { from: "the same process", ...measured, floorMs });
  if (kind === "sqlite") {
    const p50 = { value: measured.p50Ms, limit: 1.5, unit: "ms", floorMs };
    bench.judge({ budget: "W3", what: "signal to body, p50", ...p50 });
    const p99 = { value: measured.p99Ms, limit: 6, unit: "ms", floorMs };
    bench.judge({ budget: "W3", what: "signal to body, p99", ...p99 });
  }
  floor.close();
  await runstream.stop();
  await store.discard();
};

const fromNextDoor = async (bench: Bench): Promise<void> => {
  bench.progress("W3 sqlite: signalled from another process");
  await prepareChildren();
  const file = freshFile(bench, "w3-shared");
  const floor = openFloor(bench.folder);
  const runstream = openRunstream({ store: file, workflows: { waiting } });
  runstream.work();
  const child = startChild("w3-signaller", [file]);
  await messageOf(child, "ready");
  const signal: Signal = async (token) => {
    const answer = messageOf<{ readonly at: number; readonly accepted: boolean }>(child, "signalled");
    child.send({ token });
    const { at, accepted } = await answer;
    if (!accepted) throw new Error("W3: a signal was refused");
    return at;
  };
  await wakes(runstream, 20, signal);
  const floorMs = floor.commitMs();
  const measured = await wakes(runstream, sized(bench.size, { quick: 50, normal: 200, full: 400 }), signal);
  bench.measured("W3", "sqlite", { from: "another process", ...measured, floorMs });
  const p50 = { value: measured.p50Ms, limit: 20, unit: "ms", floorMs };
  bench.judge({ budget: "W3", what: "signal to body from another process, p50", ...p50 });
  await endChild(child);
  floor.close();
  await runstream.stop();
  removeFile(file);
};

export const w3: Workload = {
  id: "W3",
  what: "waking a run that waits for a signal",
  async run(bench) {
    for (const kind of bench.stores) {
      await here(bench, kind);
      if (kind === "sqlite") await fromNextDoor(bench);
    }
  },
};
