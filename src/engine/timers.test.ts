import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { EventLog } from "../events/event-log.ts";
import { openRunIndex, type RunIndex } from "../projections/run-index.ts";
import { createMemoryLog } from "../store-memory/index.ts";
import { createRun } from "./decide/run.ts";
import { scheduleSleep } from "./decide/sleeps.ts";
import { silentLogger } from "./logger.ts";
import { createSessionPool, type SessionPool } from "./session/session-pool.ts";
import { startTimers, type Timers } from "./timers.ts";

const START = 1_767_225_600_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const YEAR = 365.25 * 24 * HOUR;

/** Turns that are real whatever the test fakes. */
const nextTurn = setImmediate;
const turns = async (count = 30): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resume) => nextTurn(resume));
};

const clock = (): number => Date.now();
const started: Timers[] = [];
const opened: RunIndex[] = [];

beforeEach(() => {
  vi.useFakeTimers({
    now: START,
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "Date"],
  });
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((timers) => timers.stop()));
  await Promise.all(opened.splice(0).map((index) => index.close()));
  vi.useRealTimers();
});

/** Lets `ms` pass, in steps between which the work that timers set off is done. */
const pass = async (ms: number, step = 500): Promise<void> => {
  await turns();
  for (let left = ms; left > 0; left -= step) {
    vi.advanceTimersByTime(Math.min(step, left));
    await turns();
  }
};

/** Sets the clock, as an operator does: no timer runs for it. */
const jumpBy = (ms: number): void => void vi.setSystemTime(Date.now() + ms);

const worker = (
  log: EventLog,
  given: { index?: RunIndex; sessions?: SessionPool; logger?: typeof silentLogger } = {},
) => {
  const index = given.index ?? openRunIndex(log, { clock });
  if (given.index === undefined) opened.push(index);
  let looks = 0;
  const counting = {
    due: (...args: Parameters<RunIndex["due"]>) => {
      looks += 1;
      return index.due(...args);
    },
  };
  const sessions = given.sessions ?? createSessionPool(log);
  const timers = startTimers({ log, index: counting, sessions, clock, logger: given.logger ?? silentLogger });
  started.push(timers);
  return { timers, index, sessions, looks: () => looks };
};

const sleeper = async (sessions: SessionPool, runId: string, ...wakeAts: number[]): Promise<void> => {
  const session = sessions.get(runId);
  await session.propose(createRun({ workflow: "w", createdAt: clock() }), { creates: true });
  for (const [n, wakeAt] of wakeAts.entries())
    await session.propose(scheduleSleep({ key: `sleep!s#${n}`, wakeAt, kind: "sleep", at: clock() }));
};

const elapsed = async (log: EventLog): Promise<string[]> => {
  const found: string[] = [];
  for await (const event of log.readAll({ filter: { types: ["SleepElapsed"] } }))
    found.push(`${event.stream.slice(4)} ${String(event.data.key)} +${Number(event.data.at) - START}`);
  return found;
};

describe("timers", () => {
  test("M1 a deadline becomes a fact once it has passed, and not before", async () => {
    const log = createMemoryLog();
    const { sessions } = worker(log);
    await sleeper(sessions, "a", START + 5_000);
    await pass(4_999, 100);
    expect(await elapsed(log)).toEqual([]);
    await pass(1);
    expect(await elapsed(log)).toEqual(["a sleep!s#0 +5000"]);
    await pass(10 * MINUTE, 10_000);
    expect(await elapsed(log)).toHaveLength(1);
  });

  test("a sooner deadline that is scheduled later is not held up by the one waited for", async () => {
    const log = createMemoryLog();
    const { sessions } = worker(log);
    await sleeper(sessions, "late", START + HOUR);
    await pass(1_000);
    await sleeper(sessions, "soon", START + 3_000);
    await pass(2_000);
    expect(await elapsed(log)).toEqual(["soon sleep!s#0 +3000"]);
  });

  test("deadlines that passed while nobody worked are recorded at once, in the order of their time within a run", async () => {
    const log = createMemoryLog();
    const sessions = createSessionPool(log);
    await sleeper(sessions, "a", START - 1, START - HOUR, START, START + 900);
    worker(log);
    await pass(100);
    expect((await elapsed(log)).map((fact) => fact.slice(0, 11))).toEqual([
      "a sleep!s#1",
      "a sleep!s#0",
      "a sleep!s#2",
    ]);
  });

  test("1,200 due at once are all recorded, once, in one look", async () => {
    const log = createMemoryLog();
    const { sessions, looks } = worker(log);
    await Promise.all(Array.from({ length: 1_200 }, (_, n) => sleeper(sessions, `r${n}`, START + 60_000)));
    await pass(1_000);
    const before = looks();
    await pass(59_000, 1_000);
    await turns(500);
    const facts = await elapsed(log);
    expect(facts).toHaveLength(1_200);
    expect(new Set(facts).size).toBe(1_200);
    // Two pages, a glance at what comes next, and what a second look says when one is due in the same turn.
    expect(looks() - before).toBeLessThan(10);
  });

  test("M1 two workers record one fact", async () => {
    const log = createMemoryLog();
    const one = worker(log);
    worker(log);
    for (let n = 0; n < 20; n += 1) await sleeper(one.sessions, `r${n}`, START + 1_000 + n);
    await pass(3_000);
    const facts = await elapsed(log);
    expect(new Set(facts.map((fact) => fact.split(" ")[0])).size).toBe(20);
    expect(facts).toHaveLength(20);
  });

  test("M2 a clock that jumps forward wakes sleepers within a minute; one that jumps back wakes nobody early", async () => {
    const log = createMemoryLog();
    const { sessions } = worker(log);
    await sleeper(sessions, "a", START + HOUR);
    await pass(1_000);
    jumpBy(HOUR);
    await pass(MINUTE, 5_000);
    expect(await elapsed(log)).toHaveLength(1);
    await sleeper(sessions, "b", clock() + 10_000);
    await turns();
    jumpBy(-HOUR);
    await pass(10 * MINUTE, 10_000);
    expect(await elapsed(log)).toHaveLength(1);
    await pass(50 * MINUTE + 10_000, 30_000);
    expect(await elapsed(log)).toHaveLength(2);
  });

  test("after a jump forward a new deadline is met in time", async () => {
    const log = createMemoryLog();
    const { sessions } = worker(log);
    await pass(1_000);
    jumpBy(HOUR);
    await sleeper(sessions, "a", clock() + 2_000);
    await pass(2_000);
    expect(await elapsed(log)).toHaveLength(1);
  });

  test("a sleep of 1,000 years costs one look a minute, and takes no timer past its limit", async () => {
    const log = createMemoryLog();
    const { sessions, looks } = worker(log);
    await sleeper(sessions, "a", START + 1_000 * YEAR);
    await pass(2_000);
    const before = looks();
    await pass(10 * MINUTE, 10_000);
    expect((looks() - before) / 2).toBeLessThanOrEqual(11);
    expect(await elapsed(log)).toEqual([]);
    expect(vi.getTimerCount()).toBe(1);
  });

  test("idle, it looks once a minute", async () => {
    const { looks } = worker(createMemoryLog());
    await pass(1_000);
    const before = looks();
    await pass(10 * MINUTE, 10_000);
    expect((looks() - before) / 2).toBe(10);
  });

  test("M3 M4 a run that cannot be written is said once, looked at ever more rarely, and holds up no other", async () => {
    const log = createMemoryLog();
    const lines: string[] = [];
    const sessions = createSessionPool(log);
    const broken: SessionPool = {
      get: (runId) =>
        runId === "bad"
          ? ({ propose: () => Promise.reject(new Error("the stream is damaged")) } as never)
          : sessions.get(runId),
      peek: sessions.peek,
      size: 0,
    };
    const { looks } = worker(log, {
      sessions: broken,
      logger: { ...silentLogger, error: (message, fields) => lines.push(`${message} ${fields?.runId}`) },
    });
    await sleeper(sessions, "bad", START + 1_000);
    await sleeper(sessions, "good", START + 1_000);
    await sleeper(sessions, "later", START + 1_400);
    await pass(2_000, 100);
    expect(await elapsed(log)).toEqual(["good sleep!s#0 +1000", "later sleep!s#0 +1400"]);
    const before = looks();
    await pass(10 * MINUTE, 1_000);
    expect((looks() - before) / 2).toBeLessThan(25);
    expect(lines).toEqual(["Workflow deadline could not be recorded bad"]);
    await sleeper(sessions, "last", clock() + 500);
    await pass(600, 100);
    expect(await elapsed(log)).toHaveLength(3);
  });

  test("M4 an index that keeps showing what is recorded already is not asked without a pause", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log, { clock });
    opened.push(index);
    const stale = {
      ...index,
      due: async () => [{ runId: "a", key: "sleep!s#0", kind: "sleep" as const, wakeAt: START }],
    };
    const { looks } = worker(log, { index: stale });
    await pass(5_000, 100);
    expect(looks() / 2).toBeLessThan(30);
  });

  test("M3 an index that fails is asked again every second, and what is due is recorded when it answers", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log, { clock });
    opened.push(index);
    let broken = true;
    const lines: string[] = [];
    const flaky: RunIndex = {
      ...index,
      due: (...args) => (broken ? Promise.reject(new Error("the index is locked")) : index.due(...args)),
    };
    const { sessions, looks } = worker(log, {
      index: flaky,
      logger: { ...silentLogger, error: (message) => lines.push(message) },
    });
    await sleeper(sessions, "a", START + 1_000);
    await pass(10_000, 500);
    expect(looks()).toBeLessThanOrEqual(14);
    expect(new Set(lines)).toEqual(new Set(["Workflow timers could not look for what is due"]));
    broken = false;
    await pass(1_500, 500);
    expect(await elapsed(log)).toHaveLength(1);
  });

  test("an index that is rebuilt under them loses no deadline", async () => {
    const log = createMemoryLog();
    const { sessions, index } = worker(log);
    for (let n = 0; n < 50; n += 1) await sleeper(sessions, `r${n}`, START + 1_000 + n * 20);
    for (let round = 0; round < 10; round += 1) {
      await Promise.all([index.rebuild(), pass(200, 50)]);
    }
    await pass(2_000, 200);
    expect(await elapsed(log)).toHaveLength(50);
  });

  test("stop leaves no timer and records nothing more", async () => {
    const log = createMemoryLog();
    const { timers, sessions, looks } = worker(log);
    await sleeper(sessions, "a", START + 1_000);
    await turns();
    await timers.stop();
    const before = looks();
    await pass(5 * MINUTE, 10_000);
    expect(vi.getTimerCount()).toBe(0);
    expect(looks()).toBe(before);
    expect(await elapsed(log)).toEqual([]);
  });

  test("a log that is closed ends them", async () => {
    const log = createMemoryLog();
    const { looks } = worker(log);
    await turns();
    await log.close();
    const before = looks();
    await pass(5 * MINUTE, 10_000);
    expect(looks()).toBe(before);
    expect(vi.getTimerCount()).toBe(0);
  });
});
