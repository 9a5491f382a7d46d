/**
 * How fast the same workflow, ten trivial steps one after the other, runs on Runstream's World and on `@workflow/world-local` with its
 * default settings: in this one run, each World in a process of its own, its store in the same folder, delivered over HTTP.
 *
 * Every World is given the same runs in the same rounds, in a process that is warm: a process goes on getting faster for a hundred runs and
 * more, so each has carried out many before, on a store of its own that is then left. First the stores are new; then they are filled, for a
 * World may be quick while it is empty and slow later. A ratio is taken within a round, and what is printed is the median over the rounds.
 * A run that ends in any way but completed ends the benchmark: failing may be quicker than working.
 *
 * `world-local` writes files without waiting for the disk; what compares with it is durability `normal`. Prints one line of JSON for each
 * round of each World, then one for each median.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Move, Order, Said } from "./app.ts";

const WORKFLOW = "workflow//./workflows//sequence";
const STEPS = 10;
/** Rounds of which a median is taken. */
const ROUNDS = 3;
const RUNS_A_ROUND = { 1: 16, 8: 48 } as const;
/** Runs before each round that are not measured: a process that stood idle while the others worked has lost its memory to them. */
const WAKE_UP = 16;
/** Runs on another store before the first round, while the process compiles. */
const WARM_UP = 160;
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

/** Where a World keeps what it keeps. */
const storeOf = (name: Name, stores: string): Record<string, string> => ({
  RUNSTREAM_STORE: name === "runstream-memory" ? ":memory:" : join(stores, `${name}.db`),
  WORKFLOW_LOCAL_DATA_DIR: join(stores, "local"),
});

const newFolder = (): string => mkdtempSync(join(folder, "stores-"));

const open = async (name: Name, stores: string): Promise<Running> => {
  const env = {
    ...process.env,
    ...WORLDS[name],
    ...storeOf(name, stores),
    RUNSTREAM_DURABILITY: name === "runstream-sqlite-normal" ? "normal" : "full",
  };
  const child = fork(join(import.meta.dirname, "app.ts"), {
    env,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await said(child, "listening");
  return { name, child, held: 0 };
};

/** The process goes on with a store that is new. */
const moveTo = async (world: Running, stores: string): Promise<void> => {
  const move: Move = { env: storeOf(world.name, stores) };
  const there = said(world.child, "listening");
  world.child.send(move);
  await there;
  world.held = 0;
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
    await measure(world, 8, WAKE_UP);
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

const empty: Record<InFlight, Round[]> = { 1: [], 8: [] };
const filled: Record<InFlight, Round[]> = { 1: [], 8: [] };
const worlds: Running[] = [];
try {
  const scratch = newFolder();
  for (const name of NAMES) worlds.push(await open(name, scratch));
  for (const world of worlds) await measure(world, 8, WARM_UP);
  for (let sample = 0; sample < ROUNDS; sample += 1) {
    const stores = newFolder();
    for (const world of worlds) await moveTo(world, stores);
    for (const inFlight of [1, 8] as const) empty[inFlight].push(await round(worlds, inFlight));
  }
  for (const world of worlds) await measure(world, 8, FILLED - world.held);
  for (const inFlight of [8, 1] as const)
    while (filled[inFlight].length < ROUNDS) filled[inFlight].push(await round(worlds, inFlight));
} finally {
  for (const { child } of worlds) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
}
for (const inFlight of [1, 8] as const) {
  for (const line of summary(empty[inFlight], "empty", inFlight)) say(line);
  for (const line of summary(filled[inFlight], "filled", inFlight)) say(line);
}
