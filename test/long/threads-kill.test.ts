/**
 * Kill -9 for threads: the process that works on them dies at random moments, again and again, and the next one goes on. Every thread comes
 * to its end, and a step's body runs again only where a death fell into it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { checkSqliteLog, openSqliteLog } from "../../src/store-sqlite/index.ts";
import { createRandom } from "../simulation/random.ts";
import { stepsIn } from "../threads/reading.ts";
import { expectedOutput, threadOf } from "./threads-worker-process.ts";

const SEED = Number(process.env.RUNSTREAM_SEED ?? Date.now() % 1_000_000_000);
const THREADS = 800;
const KILLS = 25;

const folder = mkdtempSync(join(tmpdir(), "runstream-threads-kill-"));
const store = join(folder, "threads.db");
const effects = join(folder, "effects.txt");
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const startWorker = () => {
  const script = join(import.meta.dirname, "threads-worker-process.ts");
  const child = spawn(process.execPath, ["--no-warnings", script, store, effects, String(THREADS)], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") },
  });
  children.add(child);
  const gone = once(child, "exit").then((how) => {
    children.delete(child);
    return how;
  });
  return { child, pid: child.pid as number, gone, up: once(child.stdout!, "data") };
};

test(`threads outlive a worker that is killed ${KILLS} times (RUNSTREAM_SEED=${SEED})`, async () => {
  console.info(`threads-kill: RUNSTREAM_SEED=${SEED}`);
  const random = createRandom(SEED);
  writeFileSync(effects, "");
  const killed = new Set<number>();
  for (let kill = 0; kill < KILLS; kill += 1) {
    const worker = startWorker();
    await worker.up;
    await delay(random.int(120));
    worker.child.kill("SIGKILL");
    const [code] = await worker.gone;
    if (code === 0) break;
    killed.add(worker.pid);
  }
  expect(killed.size, "the threads were over too early").toBe(KILLS);
  const last = startWorker();
  expect(await last.gone).toEqual([0, null]);

  const bodies = new Map<string, number[]>();
  for (const line of readFileSync(effects, "utf8").trim().split("\n")) {
    const [threadId, key, pid] = line.split(" ") as [string, string, string];
    const id = `${threadId} ${key}`;
    bodies.set(id, [...(bodies.get(id) ?? []), Number(pid)]);
  }
  const log = openSqliteLog(store);
  const reader = threadOf(log, effects);
  let again = 0;
  for (let number = 0; number < THREADS; number += 1) {
    const threadId = `thread-${number}`;
    const latest = (await reader.state(threadId))!;
    expect([latest.status, latest.state.output]).toEqual(["completed", expectedOutput(threadId)]);
    const steps = (await reader.history(threadId, 1_000)).map(({ step }) => step);
    expect(steps).toEqual(steps.map((_, index) => steps.length - index));
    for (const key of Object.keys(stepsIn(latest))) {
      const pids = [...new Set(bodies.get(`${threadId} ${key}`))];
      expect(pids.length).toBeGreaterThanOrEqual(1);
      // All but the last process that ran the body died in it.
      for (const pid of pids.slice(0, -1)) expect(killed).toContain(pid);
      again += pids.length - 1;
    }
  }
  await log.close();
  expect(checkSqliteLog(store).problems).toEqual([]);
  console.info(`threads-kill: ${THREADS} threads, ${bodies.size} steps, ${again} bodies run again`);
  expect(again).toBeGreaterThan(0);
}, 290_000);
