/** The benchmarks: measures what `docs/benchmarks.md` describes and prints it. Nothing here fails because it was slow. */
import { mkdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { type Arguments, readArguments, USAGE, UsageError } from "./arguments.ts";
import type { Bench, Workload } from "./bench.ts";
import { jsonReport, textReport } from "./report.ts";
import { w0 } from "./w0.ts";
import { w1 } from "./w1.ts";
import { w2 } from "./w2.ts";
import { w3 } from "./w3.ts";
import { w4 } from "./w4.ts";
import { w5 } from "./w5.ts";
import { w6 } from "./w6.ts";
import { w7 } from "./w7.ts";
import { w8 } from "./w8.ts";
import { wt } from "./wt.ts";

const WORKLOADS: readonly Workload[] = [w0, w1, w2, w3, w4, w5, w6, w7, w8, wt];
const NEEDED_BYTES = { quick: 1e9, normal: 3e9, full: 6e9 };
const TMPFS = 0x01021994;

/** What runs on a store that is somewhere else; the others are about files, or about what the engine does beside the store. */
const REMOTE = ["W0", "W1"];

const chosen = ({ only: asked, stores }: Arguments): readonly Workload[] => {
  const remote = stores.includes("eventstore");
  const only = asked ?? (remote ? REMOTE : undefined);
  const local = remote ? (only?.filter((id) => !REMOTE.includes(id)) ?? []) : [];
  if (local.length > 0) throw new UsageError(`${local.join(", ")} cannot run on eventstore; W0 and W1 can.`);
  const unknown = only?.filter((id) => !WORKLOADS.some((workload) => workload.id === id)) ?? [];
  if (unknown.length > 0)
    throw new UsageError(`There is no workload ${unknown.join(", ")}; there are W0 to W8 and WT.`);
  return WORKLOADS.filter(({ id }) => only?.includes(id) ?? true);
};

const main = async (): Promise<void> => {
  const asked = readArguments(process.argv.slice(2));
  if (asked === undefined) return void process.stdout.write(USAGE);
  const workloads = chosen(asked);
  const folder = join(asked.folder, `run-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

  const disk = statfsSync(folder);
  const free = disk.bavail * disk.bsize;
  if (free < NEEDED_BYTES[asked.size])
    throw new UsageError(
      `${folder} has ${(free / 1e9).toFixed(1)} GB free, and these sizes may need ${NEEDED_BYTES[asked.size] / 1e9} GB. Name another disk with --dir, or add --quick.`,
    );
  if (disk.type === TMPFS)
    process.stderr.write(`${folder} is in memory, so that no figure here says anything about a disk.\n`);

  const report = asked.json ? jsonReport() : textReport();
  const bench: Bench = { size: asked.size, stores: asked.stores, folder, ...report };
  for (const workload of workloads) {
    bench.progress(`${workload.id}: ${workload.what}`);
    await workload.run(bench);
  }
  report.end();
};

try {
  await main();
  process.exit(0);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}`);
  process.exit(2);
}
