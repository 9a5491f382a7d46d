/**
 * How fast the same workflow, ten trivial steps one after the other, runs on Runstream's World and on `@workflow/world-local` with its
 * default settings: in this one run, each World in a process of its own, its store in the same folder, delivered over HTTP.
 *
 * Every World is given the same runs in the same order of rounds, and each round is measured beside what the store held before it: a
 * World may be quick while it is empty and slow later. Rounds on an empty store have new processes each; those on a filled store share
 * theirs, which have then run for long. So the two differ by more than the store: a process goes on getting faster for a hundred runs or
 * more. A ratio is taken within a round, and what is printed is the median over the rounds. A run that ends in any way but completed
 * ends the benchmark: failing may be quicker than working.
 *
 * `world-local` writes files without waiting for the disk; what compares with it is durability `normal`. Prints one line of JSON for each
 * round of each World, then one for each median.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Order, Said } from "./app.ts";

const WORKFLOW = "workflow//./workflows//sequence";
const STEPS = 10;
/** Rounds of which a median is taken. */
const ROUNDS = 3;
const RUNS_A_ROUND = { 1: 12, 8: 24 } as const;
/** Runs that come before the first round: in these a process mostly compiles, and it is not done with that after them. */
const WARM_UP = 12;
/** How many runs a store holds before it counts as filled. */
const FILLED = 360;

const folder = mkdtempSync(join(tmpdir(), "runstream-world-bench-"));

const WORLDS = {
  "world-local": { WORKFLOW_TARGET_WORLD: "@workflow/world-local" },
  "runstream-sqlite": { WORKFLOW_TARGET_WORLD: "../../src/integrations/workflow-sdk/index.ts" },
  "runstream-sqlite-normal": { WORKFLOW_TARGET_WORLD: "../../src/integrations/workflow-sdk/index.ts" },
  "runstream-memory": { WORKFLOW_TARGET_WORLD: "../../src/integrations/workflow-sdk/index.ts" },
} as const;

type Name = keyof typeof WORLDS;

const said = <S extends Said["said"]>(child: ChildProcess, what: S): Promise<Extract<Said, { said: S }>> =>
  new Promise((resolve) => {
    const listen = (message: Said): void => {
      if (message.said !== what) return;
      child.off("message", listen);
      resolve(message as Extract<Said, { said: S }>);
    };
    child.on("message", listen);
  });

type InFlight = keyof typeof RUNS_A_ROUND;

interface Running {
  readonly name: Name;
  readonly child: ChildProcess;
  /** How many runs its store holds. */
  held: number;
}

interface Measured {
  readonly held: number;
  readonly runsPerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuMsPerRun: number;
}

type Round = ReadonlyMap<Name, Measured>;

/** A process with a store that is new. */
const open = async (name: Name, stores: string): Promise<Running> => {
  const env = {
    ...process.env,
    ...WORLDS[name],
    RUNSTREAM_STORE: name === "runstream-memory" ? ":memory:" : join(stores, `${name}.db`),
    RUNSTREAM_DURABILITY: name === "runstream-sqlite-normal" ? "normal" : "full",
    WORKFLOW_LOCAL_DATA_DIR: join(stores, "local"),
  };
  const child = fork(join(import.meta.dirname, "app.ts"), {
    env,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await said(child, "listening");
  return { name, child, held: 0 };
};

const measure = async (world: Running, inFlight: number, runs: number): Promise<Measured> => {
  const { child, held } = world;
  const order: Order = { workflowId: WORKFLOW, args: [STEPS], runs, inFlight };
  const done = said(child, "done");
  let completed = 0;
  const count = (message: Said): void => {
    if (message.said === "ended" && message.as === "run_completed") completed += 1;
  };
  child.on("message", count);
  child.send(order);
  const { ms, cpuMs, latencies } = await done;
  child.off("message", count);
  if (completed !== runs) throw new Error(`${world.name}: ${completed} of ${runs} runs completed`);
  world.held += runs;
  const sorted = [...latencies].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return {
    held,
    runsPerSec: (runs * 1_000) / ms,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuMsPerRun: cpuMs / runs,
  };
};

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;
const short = (value: number): number => Number(value.toPrecision(3));
const say = (line: object): void => console.log(JSON.stringify({ bench: "world", steps: STEPS, ...line }));

const round = async (worlds: readonly Running[], inFlight: InFlight): Promise<Round> => {
  const runs = RUNS_A_ROUND[inFlight];
  const measured = new Map<Name, Measured>();
  for (const world of worlds) {
    const one = await measure(world, inFlight, runs);
    measured.set(world.name, one);
    const { held, runsPerSec, cpuMsPerRun } = one;
    say({
      round: world.name,
      inFlight,
      held,
      runs,
      runsPerSec: short(runsPerSec),
      cpuMsPerRun: short(cpuMsPerRun),
    });
  }
  return measured;
};

const NAMES = Object.keys(WORLDS) as Name[];

const summary = (rounds: readonly Round[], store: "empty" | "filled", inFlight: InFlight): object[] =>
  NAMES.map((world) => {
    const of = (name: Name, what: keyof Measured) => rounds.map((one) => one.get(name)![what]);
    const locals = of("world-local", "runsPerSec");
    const rates = of(world, "runsPerSec");
    return {
      world,
      store,
      heldFrom: Math.min(...of(world, "held")),
      heldTo: Math.max(...of(world, "held")) + RUNS_A_ROUND[inFlight],
      inFlight,
      runsPerSec: short(median(rates)),
      p50Ms: short(median(of(world, "p50Ms"))),
      p99Ms: short(median(of(world, "p99Ms"))),
      cpuMsPerRun: short(median(of(world, "cpuMsPerRun"))),
      timesWorldLocal: short(median(rates.map((rate, i) => rate / locals[i]!))),
    };
  });

/** Worlds with new stores, warmed up, as long as `work` takes. */
const withWorlds = async <R>(work: (worlds: readonly Running[]) => Promise<R>): Promise<R> => {
  const stores = mkdtempSync(join(folder, "stores-"));
  const worlds: Running[] = [];
  for (const name of NAMES) worlds.push(await open(name, stores));
  try {
    for (const world of worlds) await measure(world, 2, WARM_UP);
    return await work(worlds);
  } finally {
    for (const { child } of worlds) child.kill("SIGKILL");
  }
};

const empty: Record<InFlight, Round[]> = { 1: [], 8: [] };
const filled: Record<InFlight, Round[]> = { 1: [], 8: [] };
try {
  for (let sample = 1; sample <= ROUNDS; sample += 1)
    await withWorlds(async (worlds) => {
      for (const inFlight of [1, 8] as const) empty[inFlight].push(await round(worlds, inFlight));
      if (sample < ROUNDS) return;
      while (worlds.some(({ held }) => held < FILLED)) await round(worlds, 8);
      for (const inFlight of [8, 1] as const)
        while (filled[inFlight].length < ROUNDS) filled[inFlight].push(await round(worlds, inFlight));
    });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const inFlight of [1, 8] as const) {
  for (const line of summary(empty[inFlight], "empty", inFlight)) say(line);
  for (const line of summary(filled[inFlight], "filled", inFlight)) say(line);
}
