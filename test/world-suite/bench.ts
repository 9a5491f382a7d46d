/**
 * How fast the same workflow, ten trivial steps one after the other, runs on Runstream's World and on `@workflow/world-local`: both in
 * this one run, turn by turn, each in a process of its own and delivered over HTTP. `world-local` writes files without waiting for the
 * disk; what compares with it is durability `normal`. Prints one line of JSON for each measurement.
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Order, Said } from "./app.ts";

const WORKFLOW = "workflow//./workflows//sequence";
const STEPS = 10;
const ROUNDS = 3;

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

const open = async (name: Name): Promise<ChildProcess> => {
  const env = {
    ...process.env,
    ...WORLDS[name],
    RUNSTREAM_STORE: name === "runstream-memory" ? ":memory:" : join(folder, `${name}.db`),
    RUNSTREAM_DURABILITY: name === "runstream-sqlite-normal" ? "normal" : "full",
    WORKFLOW_LOCAL_DATA_DIR: join(folder, "local"),
  };
  const child = fork(join(import.meta.dirname, "app.ts"), {
    env,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  await said(child, "listening");
  return child;
};

const measure = async (child: ChildProcess, inFlight: number, runs: number) => {
  const order: Order = { workflowId: WORKFLOW, args: [STEPS], runs, inFlight };
  const done = said(child, "done");
  child.send(order);
  const { ms, latencies } = await done;
  const sorted = [...latencies].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
  return { runsPerSec: (runs * 1_000) / ms, p50Ms: at(0.5), p99Ms: at(0.99) };
};

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;
const short = (value: number): number => Number(value.toPrecision(3));

const names = Object.keys(WORLDS) as Name[];
const children = new Map<Name, ChildProcess>();
for (const name of names) children.set(name, await open(name));
for (const name of names) await measure(children.get(name)!, 2, 6);

for (const inFlight of [1, 8]) {
  const results = new Map<Name, Awaited<ReturnType<typeof measure>>[]>(names.map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const name of names) {
      const runs = name === "world-local" ? 4 * inFlight : 20 * inFlight;
      results.get(name)!.push(await measure(children.get(name)!, inFlight, runs));
    }
  const rate = (name: Name) => median(results.get(name)!.map(({ runsPerSec }) => runsPerSec));
  for (const name of names) {
    const all = results.get(name)!;
    console.log(
      JSON.stringify({
        bench: "world",
        world: name,
        steps: STEPS,
        inFlight,
        runsPerSec: short(rate(name)),
        p50Ms: short(median(all.map(({ p50Ms }) => p50Ms))),
        p99Ms: short(median(all.map(({ p99Ms }) => p99Ms))),
        timesWorldLocal: short(rate(name) / rate("world-local")),
      }),
    );
  }
}
for (const child of children.values()) child.kill("SIGKILL");
rmSync(folder, { recursive: true, force: true });
