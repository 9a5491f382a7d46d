import { beforeEach, describe, expect, test } from "vitest";
import { createRun, moveStatus } from "../../src/engine/decide/run.ts";
import { reachSleep } from "../../src/engine/decide/sleeps.ts";
import { claimAttempt, settleStep } from "../../src/engine/decide/steps.ts";
import { RejectionError } from "../../src/engine/rejection-error.ts";
import { Lane } from "../../src/engine/session/lane.ts";
import { RunSession } from "../../src/engine/session/run-session.ts";
import { encodeEvent } from "../../src/events/codec.ts";
import type { EventLog } from "../../src/events/event-log.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { createFaultLog, type FaultLog, once, UNAVAILABLE } from "./fault-log.ts";

const create = createRun({ workflow: "job", createdAt: 1 });
const claim = (key: string, holder = "w") => claimAttempt({ key, holder, leaseMs: 1_000, at: 1 });
const settle = (key: string, output = 1) =>
  settleStep({ key, name: key, status: "ok", output: { json: output }, attempts: 1, finishedAt: 1 });

let log: FaultLog;
let session: RunSession;

beforeEach(async () => {
  log = createFaultLog();
  session = new RunSession(log, "run");
  await session.propose(create, { creates: true });
  log.appends.length = 0;
  log.reads = 0;
});

const appended = (): string[][] => log.appends.map(({ types }) => [...types]);
const elsewhere = (): RunSession => new RunSession(log, "run");

describe("group commit", () => {
  test("R1: what is proposed in one turn is decided in order and goes out in one append", async () => {
    const answers = await Promise.all([
      session.propose(claim("a", "w1")),
      session.propose(claim("a", "w2")),
      session.propose(settle("a")),
    ]);
    expect(answers.slice(0, 2)).toEqual([1, 2]);
    expect(appended()).toEqual([["AttemptClaimed", "AttemptClaimed", "StepSettled"]]);
    expect(log.reads).toBe(0);
  });

  test("R4: also when the proposals come a few microtasks apart", async () => {
    const first = session.propose(claim("a"));
    await null;
    await null;
    await Promise.all([first, session.propose(claim("b"))]);
    expect(appended()).toHaveLength(1);
  });

  test("what comes while an append is in flight gathers, and goes out together after it", async () => {
    let release: () => void = () => {};
    log.fault = once("AttemptClaimed", {
      before: () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    });
    const first = session.propose(claim("a"));
    await new Promise((next) => setImmediate(next));
    const later = [session.propose(settle("a")), session.propose(claim("b"))];
    await new Promise((next) => setImmediate(next));
    expect(appended()).toEqual([["AttemptClaimed"]]);
    release();
    await Promise.all([first, ...later]);
    expect(appended()).toEqual([["AttemptClaimed"], ["StepSettled", "AttemptClaimed"]]);
  });

  test("R2: answers come in the order of the proposals, refusals among them", async () => {
    const order: string[] = [];
    const note = (what: string) => (): void => {
      order.push(what);
    };
    await Promise.allSettled([
      session.propose(claim("a")).then(note("claim")),
      session.propose(create).catch(note("refused")),
      session.propose(settle("a")).then(note("settle")),
    ]);
    expect(order).toEqual(["claim", "refused", "settle"]);
  });

  test("lazy proposals start no append, and ride with the next one", async () => {
    const lazy = session.propose(claim("a"), { lazy: true });
    await new Promise((next) => setImmediate(next));
    expect(appended()).toEqual([]);
    expect(session.idle).toBe(false);
    await session.propose(claim("b"));
    expect(await lazy).toBe(1);
    expect(appended()).toEqual([["AttemptClaimed", "AttemptClaimed"]]);
  });

  test("flush records what waits lazily, and costs nothing where nothing does", async () => {
    const lazy = session.propose(claim("a"), { lazy: true });
    await session.flush();
    expect(await lazy).toBe(1);
    await session.flush();
    expect(appended()).toHaveLength(1);
    expect(session.idle).toBe(true);
  });
});

describe("conflicts", () => {
  test("L2: on a conflict the tail is read and the commands are decided again", async () => {
    await elsewhere().propose(settle("a", 7));
    const { entry, mine } = await session.propose(settle("a", 8));
    expect([entry.output, mine]).toEqual([{ json: 7 }, false]);
    expect(session.state.revision).toBe(1);
  });

  test("a hundred sessions propose the same step at once: one entry, and every answer is that one", async () => {
    const sessions = Array.from({ length: 100 }, elsewhere);
    const answers = await Promise.all(sessions.map((one, n) => one.propose(settle("a", n))));
    expect(answers.filter(({ mine }) => mine)).toHaveLength(1);
    expect(new Set(answers.map(({ entry }) => JSON.stringify(entry))).size).toBe(1);
  });

  test("R5: what needs no event is answered only after a look at the log", async () => {
    await elsewhere().propose(moveStatus("cancelled", {}, undefined, 2));
    expect(await session.propose(moveStatus("running", {}, ["pending"], 2))).toBe(false);
    expect(log.reads).toBeGreaterThan(0);
  });

  test("L4: a run that is over is read without a look, a run that goes on is not", async () => {
    await session.current();
    expect(log.reads).toBe(1);
    await session.propose(moveStatus("completed", { output: { json: 3 } }, undefined, 2));
    const { status, output } = await session.current();
    expect([status, output, log.reads]).toEqual(["completed", { json: 3 }, 1]);
    expect((await elsewhere().current()).status).toBe("completed");
    expect(log.reads).toBe(2);
  });

  test("what is right on any state needs no look", async () => {
    log.reads = 0;
    await session.propose(() => ({ _tag: "Right", right: { events: [], answer: 1 } }), { timeless: true });
    expect([log.reads, appended()]).toEqual([0, []]);
  });

  test("a run that exists is created nowhere else, and the loser learns it without having looked", async () => {
    await expect(elsewhere().propose(create, { creates: true })).rejects.toMatchObject({
      reason: "RunExists",
    });
    const [a, b] = [new RunSession(log, "fresh"), new RunSession(log, "fresh")];
    const created = await Promise.allSettled([a, b].map((one) => one.propose(create, { creates: true })));
    expect(created.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });
});

describe("trouble", () => {
  test("what cannot be written fails whoever proposed it, and nobody else in the batch", async () => {
    const odd = claimAttempt({ key: "odd", holder: "w", leaseMs: 1_000, at: Number.NaN });
    const answers = await Promise.allSettled([
      session.propose(claim("a")),
      session.propose(odd),
      session.propose(settle("a")),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(appended()).toEqual([["AttemptClaimed", "StepSettled"]]);
  });

  test("a failure fans out to every proposal of the batch, and the next batch goes on", async () => {
    log.fault = once("AttemptClaimed", { refuse: UNAVAILABLE });
    const both = await Promise.allSettled([session.propose(claim("a")), session.propose(settle("a"))]);
    for (const one of both) expect(one).toMatchObject({ status: "rejected", reason: { name: "StoreError" } });
    expect(await session.propose(claim("a"))).toBe(1);
  });

  test("R6: an unknown outcome that was written is not written again", async () => {
    log.fault = once("AttemptClaimed", { unknown: "written" });
    expect(await session.propose(claim("a"))).toBe(1);
    expect(session.state.revision).toBe(1);
    expect(await elsewhere().current()).toMatchObject({ revision: 1 });
  });

  test("R6: one that was lost is written once", async () => {
    log.fault = once("AttemptClaimed", { unknown: "lost" });
    expect(await session.propose(claim("a"))).toBe(1);
    expect(await elsewhere().current()).toMatchObject({ revision: 1 });
  });

  test("R6: one that was lost to another writer is decided again", async () => {
    const other = elsewhere();
    let first = true;
    log.fault = ({ types }) => {
      if (!first || !types.includes("StepSettled")) return undefined;
      first = false;
      return { unknown: "lost" };
    };
    const mine = session.propose(settle("a", 1));
    const theirs = other.propose(settle("a", 2));
    expect((await mine).entry).toEqual((await theirs).entry);
  });

  test("R6: unknown again and again is the operator's, not a loop", async () => {
    log.fault = () => ({ unknown: "lost" });
    await expect(session.propose(claim("a"))).rejects.toSatisfy(StoreError.is);
    expect(log.appends.length).toBeLessThan(10);
  });

  test("a batch that is too large goes out in parts, in order", async () => {
    log.fault = ({ types }) =>
      types.length > 2 ? { refuse: { _tag: "TooLarge", limit: 2, actual: types.length } } : undefined;
    const keys = ["a", "b", "c", "d", "e"];
    await Promise.all(keys.map((key) => session.propose(claim(key))));
    expect([...session.state.charges.entries()].map(([key]) => key)).toEqual(keys);
  });

  test("a proposal that is too large alone fails alone", async () => {
    log.fault = (_, events) =>
      events.some(({ data }) => data.key === "big")
        ? { refuse: { _tag: "TooLarge", limit: 2, actual: 3 } }
        : undefined;
    const results = await Promise.allSettled(["a", "big", "b"].map((key) => session.propose(settle(key))));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const [, big] = results;
    expect(big?.status === "rejected" && big.reason.message).toBe(
      'Run "run" could not be recorded: it takes 3 bytes, and the store takes 2 at most.',
    );
  });

  test("an event of a later version blocks the run with a clear error, and no other run", async () => {
    const event = { ...encodeEvent({ type: "RunStarted", data: { at: 1 } }), type: "RunTeleported" };
    await log.append("run-run", 0, [event])();
    await expect(session.propose(claim("a"))).rejects.toMatchObject({ error: { _tag: "Corrupt" } });
    await expect(session.current()).rejects.toThrow(/RunTeleported/);
    const other = new RunSession(log, "other");
    await other.propose(create, { creates: true });
    expect(await other.propose(claim("a"))).toBe(1);
  });
});

describe("R3: reading and appending take turns", () => {
  test("whatever is asked at once, at most one call of the log is under way", async () => {
    let under = 0;
    let most = 0;
    const counted = async <T>(call: () => Promise<T>): Promise<T> => {
      under += 1;
      most = Math.max(most, under);
      await new Promise((next) => setImmediate(next));
      under -= 1;
      return call();
    };
    const slow: EventLog = {
      ...log,
      append:
        (...args) =>
        () =>
          counted(() => log.append(...args)()),
      read: (...args) => ({
        async *[Symbol.asyncIterator]() {
          await counted(async () => undefined);
          yield* log.read(...args);
        },
      }),
    };
    const one = new RunSession(slow, "run");
    await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        if (n % 7 === 0) await new Promise((next) => setImmediate(next));
        return n % 3 === 0 ? one.current() : one.propose(claim(`k${n}`));
      }),
    );
    expect(most).toBe(1);
  });
});

describe("lanes", () => {
  const opened = (): Lane => {
    const lane = new Lane();
    session.openLane(lane);
    return lane;
  };

  test("N1: a key that the body waits for, settled by somebody else, makes the lane stale: it proposes nothing more", async () => {
    const lane = opened();
    lane.asked({ of: "step", key: "a" });
    await elsewhere().propose(settle("a"));
    await session.current();
    expect(lane.stale).toBe(true);
    await expect(session.propose(claim("b"), { lane })).rejects.toMatchObject({ reason: "Superseded" });
    expect(await session.propose(claim("b"))).toBe(1);
  });

  test("N1: one's own settle does not overtake the lane, nor does one that the body has had its answer for", async () => {
    const lane = opened();
    lane.asked({ of: "step", key: "a" });
    await session.propose(settle("a"), { lane, stands: ({ mine }) => mine, happened: true });
    lane.asked({ of: "step", key: "b" });
    lane.answered({ of: "step", key: "b" });
    await elsewhere().propose(settle("b"));
    await session.current();
    expect(lane.stale).toBe(false);
  });

  test("N2: a settle that turns out not to stand voids what is proposed after it in the same batch", async () => {
    const lane = opened();
    await elsewhere().propose(settle("a", 7));
    const [settled, claimed] = await Promise.allSettled([
      session.propose(settle("a", 8), { lane, stands: ({ mine }) => mine, happened: true }),
      session.propose(claim("b"), { lane }),
    ]);
    expect(settled).toMatchObject({ status: "fulfilled", value: { mine: false } });
    expect(claimed).toMatchObject({ status: "rejected", reason: { reason: "Superseded" } });
    expect([lane.stale, session.state.charges.has("b")]).toEqual([true, false]);
  });

  test("a step that settles in a stale lane is recorded still: it happened", async () => {
    const lane = opened();
    lane.overtake();
    const { mine } = await session.propose(settle("a"), {
      lane,
      stands: ({ mine: own }) => own,
      happened: true,
    });
    expect(mine).toBe(true);
  });

  test("once a proposal of the lane failed, everything after it fails alike, and other lanes go on", async () => {
    const lane = opened();
    log.fault = once("StepSettled", { refuse: UNAVAILABLE });
    await expect(session.propose(settle("a"), { lane })).rejects.toSatisfy(StoreError.is);
    await expect(session.propose(claim("b"), { lane })).rejects.toBe(lane.failure);
    expect(await session.propose(claim("b"), { lane: opened() })).toBe(1);
  });

  test("another lane's settle in the same batch overtakes", async () => {
    const [mine, theirs] = [opened(), opened()];
    for (const lane of [mine, theirs]) lane.asked({ of: "sleep", key: "s" });
    const wait = reachSleep({ key: "s", wakeAt: 1, kind: "sleep", at: 2 });
    const [a, b] = await Promise.allSettled([
      session.propose(wait, { lane: mine }),
      session.propose(claim("b"), { lane: theirs }),
    ]);
    expect([a.status, b.status]).toEqual(["fulfilled", "rejected"]);
    expect([mine.stale, theirs.stale]).toEqual([false, true]);
    expect(b).toMatchObject({ reason: expect.any(RejectionError) });
  });

  test("a session with an open lane is not idle", () => {
    const lane = opened();
    expect(session.idle).toBe(false);
    session.closeLane(lane);
    expect(session.idle).toBe(true);
  });
});

describe("how current the state is", () => {
  const last = async (): Promise<number> => (await elsewhere().current()).revision;

  test("is not known of what somebody saw go beyond it, though that was while the turn was under way", async () => {
    log.fault = once("AttemptClaimed", {
      before: async () => {
        await elsewhere().propose(settle("b"));
        session.reaches(await last());
      },
    });
    await session.propose(claim("a"));
    expect(session.currentAt).toBeDefined();
    const inner = log.append;
    log.append =
      (...args) =>
      async () => {
        log.append = inner;
        const answer = await inner(...args)();
        await elsewhere().propose(settle("d"));
        session.reaches(await last());
        return answer;
      };
    await session.propose(claim("c"));
    expect(session.currentAt).toBeUndefined();
    await session.current();
    expect(session.currentAt).toBeDefined();
  });
});
