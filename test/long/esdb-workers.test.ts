/**
 * Many workers on EventStoreDB, and things that go wrong: three worker processes, one of them killed every second for twenty seconds, and
 * the node killed and started again twice meanwhile. Every run comes to its end, and each of its steps settles once.
 *
 * The node is the stand-in (test/esdb-node), on a file and in a process of its own, so that its death is a real one.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { openRunstream, type Runstream } from "../../src/embedded/runstream.ts";
import { RejectionError } from "../../src/engine/rejection-error.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { openEventStoreLog } from "../../src/store-eventstore/index.ts";
import { type NodeProcess, startNodeProcess } from "../esdb-node/node-process.ts";
import { workflows } from "./esdb-worker-process.ts";

const RUNS = 300;
const WORKERS = 3;
const KILLS = 20;
/** After these kills the node goes as well. */
const NODE_RESTARTS = [6, 13];

const folder = mkdtempSync(join(tmpdir(), "runstream-esdb-"));
const effects = join(folder, "effects.txt");
const workers: Worker[] = [];
let node: NodeProcess | undefined;
afterAll(async () => {
  for (const { child } of workers) child.kill("SIGKILL");
  await node?.kill();
  rmSync(folder, { recursive: true, force: true });
});

interface Worker {
  readonly child: ChildProcess;
  readonly up: Promise<unknown>;
  readonly gone: Promise<unknown>;
}

const startWorker = (server: string): Worker => {
  const script = join(import.meta.dirname, "esdb-worker-process.ts");
  const child = spawn(process.execPath, ["--no-warnings", script, server, effects], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") },
  });
  child.stdin!.on("error", () => {});
  return { child, up: once(child.stdout!, "data"), gone: once(child, "exit") };
};

/** The node is away for a moment: who asks it meanwhile asks again. */
const untilAnswered = async <T>(ask: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!StoreError.is(error)) throw error;
      await delay(100);
    }
  }
};

const startRun = (rs: Runstream, runId: string, sleepMs: number): Promise<string> =>
  untilAnswered(async () => {
    try {
      return await rs.start("journey", { sleepMs }, { runId });
    } catch (error) {
      // The first try, whose answer was lost, had got there.
      if (RejectionError.is(error, "RunExists")) return runId;
      throw error;
    }
  });

/** Signals the run as soon as it waits, and answers when it is over. */
const accompany = async (rs: Runstream, runId: string): Promise<void> => {
  for (;;) {
    const accepted = await untilAnswered(() => rs.signal(`answer-${runId}`, { said: runId }));
    if (accepted) break;
    // Nobody waits: not yet, or no more, because the answer to an accepted signal was lost.
    const status = (await untilAnswered(() => rs.get(runId)))?.status;
    if (status !== "pending" && status !== "running") break;
    await delay(100);
  }
  const outcome = await untilAnswered(() => rs.result(runId, { timeoutMs: 200_000 }));
  expect(outcome).toMatchObject({ status: "completed", output: { sum: 55, said: { said: runId } } });
};

const settledKeys = async (rs: Runstream, runId: string): Promise<{ keys: string[]; ends: number }> => {
  const keys: string[] = [];
  let ends = 0;
  for await (const { event } of rs.history(runId)) {
    if (event.type === "StepSettled") keys.push(event.data.key);
    if (/^Run(Completed|Failed|Cancelled)$/.test(event.type)) ends += 1;
  }
  return { keys, ends };
};

const KEYS = Array.from({ length: 10 }, (_, n) => `link#${n}`);

test("three workers, one of which dies every second, and a node that dies twice: every run ends, each step settles once", async () => {
  writeFileSync(effects, "");
  const startNode = (port: number): Promise<NodeProcess> =>
    startNodeProcess({ db: join(folder, "node.db"), port });
  node = await startNode(0);
  const { port, connectionString } = node;
  const log = await openEventStoreLog(connectionString, { reconnectForMs: 120_000 });
  const rs = openRunstream({ store: log, workflows });
  for (let n = 0; n < WORKERS; n += 1) workers.push(startWorker(connectionString));
  await Promise.all(workers.map(({ up }) => up));

  const began = performance.now();
  const travelling: Promise<void>[] = [];
  const starting = (async () => {
    for (let n = 0; n < RUNS; n += 1) {
      const runId = `journey-${n}`;
      await startRun(rs, runId, (n % 10) * 100);
      const travel = accompany(rs, runId);
      travel.catch(() => {});
      travelling.push(travel);
      await delay(40);
    }
  })();
  for (let kill = 0; kill < KILLS; kill += 1) {
    await delay(1_000);
    const [victim] = workers.splice(kill % WORKERS, 1);
    victim!.child.kill("SIGKILL");
    workers.push(startWorker(connectionString));
    await victim!.gone;
    if (NODE_RESTARTS.includes(kill)) {
      await node.kill();
      node = await startNode(port);
    }
  }
  await starting;
  await Promise.all(travelling);
  const tookMs = performance.now() - began;

  for (const { child } of workers) child.stdin!.end();
  expect(await Promise.all(workers.map(({ gone }) => gone))).toEqual(workers.map(() => [0, null]));
  for (let n = 0; n < RUNS; n += 1)
    expect([n, await settledKeys(rs, `journey-${n}`)]).toEqual([n, { keys: KEYS, ends: 1 }]);
  const lines = readFileSync(effects, "utf8").trim().split("\n");
  const bodies = new Set(lines.map((line) => line.split(" ", 2).join(" ")));
  expect(bodies.size).toBe(RUNS * KEYS.length);
  const page = await rs.list({ status: "completed", limit: 1_000 });
  expect(page.runs).toHaveLength(RUNS);
  await rs.stop();
  await log.close();
  console.info(
    `esdb: ${RUNS} runs of ${KEYS.length} steps, ${KILLS} workers and ${NODE_RESTARTS.length} nodes killed, in ${(tookMs / 1_000).toFixed(1)} s; ` +
      `${lines.length - bodies.size} of ${lines.length} bodies ran again`,
  );
}, 290_000);
