/**
 * W0, the bare log: the very appends that a run of W1 comes to, written raw, so that the engine's own cost shows. A writer has one
 * stream at a time and awaits each append before the next, as a run does.
 */
import { randomUUID } from "node:crypto";
import type { EventLog } from "../src/index.ts";
import { type Bench, rounds, type StoreKind, sized, type Workload } from "./bench.ts";
import type { AppendedEvents } from "./counting.ts";
import { openFloor } from "./floor.ts";
import { closedLoop } from "./load.ts";
import { medians, percentile } from "./statistics.ts";
import { openStore } from "./stores.ts";
import { appendsOfOneRun } from "./trivial.ts";

export interface RawRates {
  readonly runsPerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPerRun: number;
}

/** Writes `total` runs of this shape, every one of the very same events: making them is the engine's business, not the log's. */
export const rawRuns = async (
  log: EventLog,
  shape: readonly AppendedEvents[],
  inFlight: number,
  total: number,
): Promise<RawRates> => {
  const { tookMs, perSec, cpuMsEach } = await closedLoop(inFlight, total, async () => {
    const stream = `run-raw_${randomUUID()}`;
    let revision = -1;
    for (const events of shape) {
      const answer = await log.append(stream, revision === -1 ? "none" : revision, events)();
      if (answer._tag === "Left") throw new Error(`raw append refused: ${JSON.stringify(answer.left)}`);
      revision = answer.right.revision;
    }
  });
  return {
    runsPerSec: perSec,
    p50Ms: percentile(tookMs, 0.5),
    p99Ms: percentile(tookMs, 0.99),
    cpuMsPerRun: cpuMsEach,
  };
};

const measure = async (bench: Bench, kind: StoreKind): Promise<void> => {
  const shape = await appendsOfOneRun(bench, kind);
  const events = shape.reduce((sum, append) => sum + append.length, 0);
  const store = await openStore(bench, kind, "w0");
  const floor = openFloor(bench.folder);
  await rawRuns(store.log, shape, 64, 500);
  for (const inFlight of [1, 16, 64]) {
    bench.progress(`W0 ${kind}: raw appends, ${inFlight} in flight`);
    const perFlight = sized(bench.size, { quick: 40, normal: 100, full: 200 });
    const total = perFlight + inFlight * Math.floor(perFlight / 4);
    const measured = medians(
      await rounds(3, async () => ({
        floorMs: floor.commitMs(),
        ...(await rawRuns(store.log, shape, inFlight, total)),
      })),
    );
    bench.measured("W0", kind, {
      inFlight,
      ...measured,
      appendsPerSec: measured.runsPerSec * shape.length,
      eventsPerSec: measured.runsPerSec * events,
      msPerAppend: measured.p50Ms / shape.length,
      appendsPerRun: shape.length,
    });
  }
  floor.close();
  await store.discard();
};

export const w0: Workload = {
  id: "W0",
  what: "the bare log: raw appends in the shape of W1",
  async run(bench) {
    for (const kind of bench.stores) await measure(bench, kind);
  },
};
