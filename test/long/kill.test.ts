/**
 * Kill -9: a busy worker dies at random moments, again and again, while somebody else starts, signals and cancels runs. Nothing that was
 * acknowledged is lost, nothing settles twice, and a body runs again only where a death fell into it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { openRunstream, type Runstream } from "../../src/embedded/runstream.ts";
import type { HistoryEvent } from "../../src/events/catalogue.ts";
import { checkSqliteLog } from "../../src/store-sqlite/index.ts";
import { workflows } from "./kill-worker-process.ts";

const KILLS = Number(process.env.RUNSTREAM_KILLS ?? 50);
const SEED = Number(process.env.RUNSTREAM_SEED ?? Date.now() % 1_000_000_000);
/** Runs that are under way at any time. */
const BUSY = 24;

const folder = mkdtempSync(join(tmpdir(), "runstream-kill-"));
const store = join(folder, "kill.db");
const effects = join(folder, "effects.txt");
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

let state = SEED >>> 0;
/** Mulberry32: the same seed, the same moments. */
const random = (): number => {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

const now = (): number => performance.timeOrigin + performance.now();

interface Worker {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Its process is up and waits for {@link go}: Node's own start is no part of what is measured. */
  readonly up: Promise<unknown>;
  readonly gone: Promise<unknown>;
}

const startWorker = (): Worker => {
  const script = join(import.meta.dirname, "kill-worker-process.ts");
  const child = spawn(process.execPath, ["--no-warnings", script, store, effects], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") },
  });
  child.stdin!.on("error", () => {});
  children.add(child);
  const gone = once(child, "exit").then((how) => {
    children.delete(child);
    return how;
  });
  return { child, pid: child.pid as number, up: once(child.stdout!, "data"), gone };
};

const go = ({ child }: Worker): void => void child.stdin!.write("go");

/** What was acknowledged to the one who asked. */
const acknowledged = {
  started: new Map<string, string>(),
  signalled: new Set<string>(),
  cancelled: new Set<string>(),
};
const over = new Set<string>();

const act = async (rs: Runstream): Promise<void> => {
  const { started, signalled, cancelled } = acknowledged;
  const open = [...started].filter(([runId]) => !over.has(runId));
  if (open.length < BUSY) {
    const draw = random();
    const name = draw < 0.5 ? "chain" : draw < 0.9 ? "fan" : "endless";
    started.set(await rs.start(name), name);
    return;
  }
  const [runId, name] = open[Math.floor(random() * open.length)]!;
  if (name === "fan" && !signalled.has(runId)) {
    if (await rs.signal(`answer-${runId}`, { said: runId })) signalled.add(runId);
  } else if (name === "endless" && random() < 0.2) {
    if (await rs.cancel(runId)) cancelled.add(runId);
  }
  if (["completed", "failed", "cancelled"].includes((await rs.get(runId))?.status ?? "")) over.add(runId);
};

interface Effect {
  readonly runId: string;
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
  readonly at: number;
}

const readEffects = (): Effect[] =>
  readFileSync(effects, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [runId, key, attempt, pid, at] = line.split(" ") as [string, string, string, string, string];
      return { runId, key, attempt: Number(attempt), pid: Number(pid), at: Number(at) };
    });

const eventsOf = async (rs: Runstream, runId: string): Promise<HistoryEvent[]> => {
  const events: HistoryEvent[] = [];
  for await (const { event } of rs.history(runId)) events.push(event);
  return events;
};

const countBy = (events: readonly HistoryEvent[], type: HistoryEvent["type"]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const event of events) {
    if (event.type !== type) continue;
    const key = "key" in event.data ? (event.data.key as string) : "";
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
};

const distribution = (times: readonly number[]): string => {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(0);
  return `p10 ${at(0.1)} p50 ${at(0.5)} p90 ${at(0.9)} max ${at(1)} ms (n ${sorted.length})`;
};

const EXPECTED: Record<string, (runId: string) => unknown> = {
  chain: () => ({ sum: 15 }),
  fan: (runId) => ({ parts: [0, 1, 2, 3, 4, 5], said: runId, last: "done" }),
};

test(`a worker that is killed ${KILLS} times loses nothing (RUNSTREAM_SEED=${SEED})`, async () => {
  console.info(`kill: RUNSTREAM_SEED=${SEED}`);
  writeFileSync(effects, "");
  const rs = openRunstream({ store, workflows });
  const killed = new Map<number, { readonly told: number; readonly at: number }>();
  let acting = true;
  const actor = (async () => {
    while (acting) {
      await act(rs);
      await delay(6);
    }
  })();

  let worker = startWorker();
  await worker.up;
  go(worker);
  let told = now();
  while (killed.size < KILLS) {
    // The next one is up before this one dies. One in five dies while it opens the file and takes over.
    const next = startWorker();
    await next.up;
    await delay(random() < 0.2 ? random() * 50 : random() * 500);
    worker.child.kill("SIGKILL");
    await worker.gone;
    const at = now();
    killed.set(worker.pid, { told, at });
    worker = next;
    go(worker);
    told = at;
  }
  acting = false;
  await actor;
  const last = worker;

  const finish = async ([runId, name]: [string, string]): Promise<void> => {
    const outcome = rs.result(runId, { timeoutMs: 120_000 });
    outcome.catch(() => {});
    for (;;) {
      const status = (await rs.get(runId))?.status;
      if (status !== "pending" && status !== "running") break;
      if (name === "endless" && (await rs.cancel(runId))) acknowledged.cancelled.add(runId);
      if (name === "fan" && (await rs.signal(`answer-${runId}`, { said: runId })))
        acknowledged.signalled.add(runId);
      await delay(20);
    }
    await outcome;
  };
  await Promise.all([...acknowledged.started].map(finish));
  last.child.stdin!.end();
  expect(await last.gone).toEqual([0, null]);

  const lines = readEffects();
  const bodies = new Map<string, Effect[]>();
  for (const line of lines) {
    const id = `${line.runId} ${line.key}`;
    bodies.set(id, [...(bodies.get(id) ?? []), line]);
  }
  let again = 0;
  let unsettled = 0;
  for (const [runId, name] of acknowledged.started) {
    const events = await eventsOf(rs, runId);
    const outcome = await rs.get(runId);
    const types = events.map(({ type }) => type);
    expect(types.filter((type) => type === "RunCreated")).toHaveLength(1);
    expect(types.filter((type) => /^Run(Completed|Failed|Cancelled)$/.test(type))).toHaveLength(1);
    if (name === "endless") {
      expect(outcome?.status).toBe("cancelled");
      expect(acknowledged.cancelled).toContain(runId);
    } else expect(outcome).toMatchObject({ status: "completed", output: EXPECTED[name]!(runId) });
    if (name === "fan") expect(acknowledged.signalled).toContain(runId);
    for (const type of [
      "StepSettled",
      "SleepElapsed",
      "HookDelivered",
      "SleepScheduled",
      "HookOpened",
    ] as const)
      for (const [key, count] of countBy(events, type))
        expect([runId, type, key, count]).toEqual([runId, type, key, 1]);

    const settled = countBy(events, "StepSettled");
    const claims = countBy(events, "AttemptClaimed");
    for (const [key, claimed] of claims) {
      const ran = (bodies.get(`${runId} ${key}`) ?? []).filter(({ attempt }) => attempt === 1);
      // Every run of a body has a claim of its own before it, and all but the one that settled ended in a death.
      expect(ran.length).toBeLessThanOrEqual(claimed);
      expect(new Set(ran.map(({ pid }) => pid)).size).toBe(ran.length);
      for (const { pid } of ran.slice(0, -1)) expect(killed.has(pid)).toBe(true);
      if (settled.has(key)) expect(ran.length).toBeGreaterThanOrEqual(1);
      else {
        expect(name).toBe("endless");
        unsettled += 1;
      }
      again += Math.max(0, ran.length - 1);
    }
  }
  const known = new Set([...acknowledged.started.keys()]);
  for (const { runId } of lines) expect(known).toContain(runId);

  await rs.stop();
  const health = checkSqliteLog(store);
  expect(health.problems).toEqual([]);
  expect(health.groups).toMatchObject([{ inHand: 0, waiting: 0, parked: 0 }]);

  const firstBody = new Map<number, number>();
  for (const { pid, at } of lines) if (!firstBody.has(pid)) firstBody.set(pid, at);
  const takeovers = [...killed].flatMap(([pid, { told: since }]) =>
    firstBody.has(pid) ? [firstBody.get(pid)! - since] : [],
  );
  const idle = [...killed.keys()].filter((pid) => !firstBody.has(pid)).length;
  console.info(
    `kill: ${acknowledged.started.size} runs, ${acknowledged.signalled.size} signals, ${acknowledged.cancelled.size} cancels, ` +
      `${lines.length} bodies, ${again} run again, ${unsettled} cut off by a cancel, ${health.events} events`,
  );
  console.info(
    `kill: ${killed.size} kills, ${idle} of them before the first body; from a death to the next worker's first body: ${distribution(takeovers)}`,
  );
  expect(takeovers.length).toBeGreaterThan(KILLS / 2);
  expect(again).toBeGreaterThan(0);
}, 290_000);
