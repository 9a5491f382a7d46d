/** Threads in the views: in the run index, in a timeline and its report, and as lines. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HistoryEvent, ThreadEvent } from "../../src/events/catalogue.ts";
import { encodeEvent } from "../../src/events/codec.ts";
import type { EventData, EventLog, Position } from "../../src/events/event-log.ts";
import { runStream } from "../../src/events/stream-names.ts";
import { cutsPayload, describeEvent } from "../../src/projections/event-line.ts";
import { type HistoryEntry, readHistory, stateAt, threadStateAt } from "../../src/projections/history.ts";
import { openRunIndex } from "../../src/projections/run-index.ts";
import { runReport } from "../../src/projections/run-report.ts";
import { foldThread } from "../../src/projections/thread-state.ts";
import { timelineBuilder, timelineOf } from "../../src/projections/timeline.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { StepKeys } from "../../src/threads/step-keys.ts";
import { all, created } from "./scene.ts";

const begun = (at = 1_000, more: Partial<Extract<ThreadEvent, { type: "ThreadStarted" }>["data"]> = {}) =>
  ({ type: "ThreadStarted", data: { workflow: "refunds", input: { json: { n: 1 } }, at, ...more } }) as const;
const carriedOn = (at: number, workflow = "refunds") =>
  ({ type: "ThreadContinued", data: { workflow, at } }) as const;
const step = (key: string, checkpoint: number, at = 2_000) =>
  ({ type: "ThreadStepSettled", data: { checkpoint, key, output: { json: key }, at } }) as const;
const asked = (id: string, at: number) =>
  ({ type: "ThreadQuestionAsked", data: { id, question: { json: { id, reason: `${id}?` } }, at } }) as const;
const paused = (checkpoint: number, at: number) =>
  ({ type: "ThreadPaused", data: { checkpoint, at } }) as const;
const answered = (id: string, at: number) =>
  ({ type: "ThreadAnswered", data: { id, answer: { json: true }, at } }) as const;
const stopped = (checkpoint: number, at: number) =>
  ({ type: "ThreadInterrupted", data: { checkpoint, at } }) as const;
const failed = (checkpoint: number, at: number) =>
  ({ type: "ThreadFailed", data: { checkpoint, error: { name: "E", message: "boom" }, at } }) as const;
const over = (checkpoint: number, at: number) =>
  ({ type: "ThreadCompleted", data: { checkpoint, output: { json: "done" }, at } }) as const;
const whole = (
  checkpoint: number,
  status: "running" | "completed" | "failed" | "awaiting_input",
  at: number,
) =>
  ({
    type: "ThreadCheckpointPut",
    data: {
      checkpoint,
      workflow: "agent",
      status,
      value: {
        json: {
          state: { steps: { plan: {}, act: {} } },
          interrupts: status === "awaiting_input" ? [{ id: "q", reason: "Go?" }] : [],
          error: { name: "E", message: "lost" },
        },
      },
      tenant: "acme",
      at,
    },
  }) as const;

const put = async (log: EventLog, id: string, ...events: readonly (HistoryEvent | EventData)[]) => {
  const data = events.map((event) => ("metadata" in event ? event : encodeEvent(event)));
  await log.append(runStream(id), "any", data)();
};

const entries = (...events: readonly ThreadEvent[]): HistoryEntry[] =>
  events.map((event, revision) => ({
    id: `id-${revision}`,
    revision,
    position: `p${revision}` as Position,
    recordedAt: 0,
    event,
  }));

describe("in the run index, a thread", () => {
  test("has the status that its latest checkpoint or beginning gives it, and an end only while it is over", async () => {
    const log = createMemoryLog();
    const index = openRunIndex(log);
    const seen: unknown[] = [];
    for (const events of [
      [begun(1_000, { tenant: "acme" }), step("a", 1)],
      [asked("q", 3_000), paused(2, 3_000)],
      [answered("q", 4_000), carriedOn(4_000), failed(3, 4_500)],
      [carriedOn(5_000), over(4, 5_500)],
      [carriedOn(6_000), over(5, 6_500)],
      [carriedOn(7_000), step("b", 6)],
      [stopped(7, 7_500)],
      [begun(8_000), step("a", 8)],
      [whole(9, "completed", 9_000)],
      [whole(9, "awaiting_input", 9_500)],
    ]) {
      await put(log, "t", ...events);
      const { status, endedAt, workflow, createdAt, tenant } = (await index.get("t")) ?? {};
      expect({ workflow, createdAt, tenant }).toEqual({
        workflow: "refunds",
        createdAt: 1_000,
        tenant: "acme",
      });
      seen.push([status, endedAt]);
    }
    expect(seen).toEqual([
      ["running", undefined],
      ["awaiting_input", undefined],
      ["failed", 4_500],
      ["completed", 5_500],
      ["completed", 6_500],
      ["running", undefined],
      ["interrupted", undefined],
      ["running", undefined],
      ["completed", 9_000],
      ["awaiting_input", undefined],
    ]);
    expect(await index.count({ status: "awaiting_input" })).toBe(1);
    expect(await index.count()).toBe(1);
    await index.close();
  });

  test("is owed nothing and waits for no deadline, unlike the runs beside it", async () => {
    const log = createMemoryLog();
    await put(log, "run", created());
    await put(log, "new", begun(), step("a", 1));
    await put(log, "put", whole(1, "running", 1));
    const index = openRunIndex(log);
    await index.catchUp();
    await put(log, "new", carriedOn(2), step("b", 2));
    expect(await index.owed(10)).toEqual([{ runId: "run" }]);
    expect(await index.waits("new")).toEqual([]);
    expect((await index.list({ status: ["running"] })).runs.map(({ runId }) => runId)).toEqual([
      "new",
      "put",
    ]);
    await index.close();
  });

  test("that cannot be read, or does not begin as one does, is marked, and no other", async () => {
    const log = createMemoryLog();
    await put(log, "ok", begun(), paused(1, 2));
    await put(log, "newer", begun(), { ...encodeEvent(paused(1, 2)), metadata: { v: 999 } });
    await put(log, "headless", step("a", 1), paused(2, 3));
    const index = openRunIndex(log);
    expect((await index.problems()).map(({ runId }) => runId)).toEqual(["headless", "newer"]);
    expect((await index.problems())[0]?.reason).toBe(
      "the first event of interest, at revision 1, is ThreadPaused and not ThreadStarted",
    );
    expect((await index.get("ok"))?.problem).toBeUndefined();
    await index.close();
  });

  test("costs the index nothing for a step", async () => {
    const log = createMemoryLog();
    await put(
      log,
      "t",
      begun(),
      ...Array.from({ length: 500 }, (_, at) => step(`s${at}`, at + 1)),
      over(501, 9),
    );
    let events = 0;
    const index = openRunIndex(log, { onProgress: (progress) => (events = progress.events) });
    await index.catchUp();
    expect(events).toBe(2);
    await index.close();
  });

  const facts: fc.Arbitrary<ThreadEvent> = fc
    .tuple(fc.nat(9), fc.integer({ min: 1, max: 9 }), fc.nat(50))
    .map(
      ([kind, n, at]): ThreadEvent =>
        [
          begun(at),
          carriedOn(at),
          step(`s${n}`, n, at),
          asked(`q${n}`, at),
          answered(`q${n}`, at),
          paused(n, at),
          stopped(n, at),
          failed(n, at),
          over(n, at),
          whole(n, "running", at),
        ][kind]!,
    );

  test("caught up in any chunks is what one rebuild makes of it, and what the fold of its stream says", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(facts, { maxLength: 4 }), { maxLength: 8 }), async (chunks) => {
        const log = createMemoryLog();
        const index = openRunIndex(log);
        await put(log, "t", begun(0));
        for (const chunk of chunks) {
          await put(log, "t", ...chunk);
          await index.catchUp();
        }
        const caughtUp = await index.get("t");
        const fresh = openRunIndex(log);
        expect(caughtUp).toEqual(await fresh.get("t"));
        const state = foldThread([begun(0), ...chunks.flat()]);
        const settles = chunks
          .flat()
          .findLast(({ type }) => type !== "ThreadAnswered" && type !== "ThreadQuestionAsked");
        // A step alone, after the end, does not reach the index: a run says that it carries on first.
        if (settles?.type !== "ThreadStepSettled") expect(caughtUp?.status).toBe(state.status);
        expect(timelineOf(await all(readHistory(log, "t"))).revision).toBe(state.revision);
        await Promise.all([index.close(), fresh.close()]);
      }),
      { numRuns: 100 },
    );
  });
});

describe("in a timeline, a thread", () => {
  const story = [
    begun(1_000),
    step("load", 1, 1_500),
    asked("q", 2_000),
    paused(2, 2_000),
    carriedOn(2_500),
    asked("q", 3_000),
    paused(3, 3_000),
    answered("q", 5_000),
    carriedOn(5_000),
    {
      type: "ThreadStepSettled",
      data: {
        checkpoint: 4,
        key: "charge",
        recovered: { error: { name: "E", message: "declined" }, attempts: 2 },
        at: 6_000,
      },
    } as const,
    over(5, 7_000),
  ];

  test("has a row for each step and question, from its first asking to its answer", () => {
    expect(timelineOf(entries(...story))).toEqual({
      revision: 10,
      thread: true,
      workflow: "refunds",
      status: "completed",
      createdAt: 1_000,
      startedAt: 1_000,
      endedAt: 7_000,
      rows: [
        {
          kind: "step",
          key: "load",
          name: "load",
          status: "ok",
          claims: [],
          begun: 0,
          retries: [],
          finishedAt: 1_500,
        },
        {
          kind: "question",
          key: "q",
          reason: "q?",
          askedAt: 2_000,
          status: "answered",
          endedAt: 5_000,
          waitedMs: 3_000,
        },
        {
          kind: "step",
          key: "charge",
          name: "charge",
          status: "ok",
          claims: [],
          begun: 0,
          retries: [],
          finishedAt: 6_000,
          recovered: "declined",
          attempts: 2,
        },
      ],
    });
  });

  test("reports what it waits for only while it waits", () => {
    const waiting = runReport(entries(...story.slice(0, 4)));
    expect(waiting).toMatchObject({
      thread: true,
      status: "awaiting_input",
      waitingFor: [{ kind: "question", key: "q", reason: "q?", since: 2_000 }],
    });
    expect(runReport(entries(...story.slice(0, 5)))).toMatchObject({ status: "running", waitingFor: [] });
    expect(runReport(entries(...story))).toMatchObject({
      status: "completed",
      durationMs: 6_000,
      steps: { ok: 2, failed: 0, running: 0 },
      waitingFor: [],
    });
  });

  test("says why it stopped, until it is carried on", () => {
    const drained = {
      type: "ThreadInterrupted",
      data: { checkpoint: 1, drained: { reason: "deploy", at: "2026-01-01T00:00:00.000Z" }, at: 2 },
    } as const;
    const reasonAfter = (...events: ThreadEvent[]) => {
      const { status, reason, endedAt } = timelineOf(entries(begun(1), ...events));
      return [status, reason, endedAt];
    };
    expect(reasonAfter(drained)).toEqual(["interrupted", "drained: deploy", undefined]);
    expect(reasonAfter(stopped(1, 2))).toEqual(["interrupted", undefined, undefined]);
    expect(reasonAfter(failed(1, 2))).toEqual(["failed", "boom", 2]);
    expect(reasonAfter(failed(1, 2), carriedOn(3))).toEqual(["running", undefined, undefined]);
  });

  test("begins its rows anew when it begins anew, and when a checkpoint is put whole", () => {
    const keys = (...events: ThreadEvent[]) =>
      timelineOf(entries(...story, ...events)).rows.map(({ kind, key }) => `${kind} ${key}`);
    expect(keys(begun(8), step("load", 6))).toEqual(["step load"]);
    expect(keys(whole(6, "awaiting_input", 8))).toEqual(["step plan", "step act", "question q"]);
    expect(timelineOf(entries(whole(1, "failed", 8)))).toMatchObject({
      status: "failed",
      reason: "lost",
      endedAt: 8,
    });
  });

  test("names its steps as the workflow does, whatever their names", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a\\#12]{0,6}$/), { maxLength: 12 }), (names) => {
        const keys = new StepKeys();
        const steps = names.map((name, at) => step(keys.next(name), at + 1));
        const { rows } = timelineOf(entries(begun(1), ...steps));
        expect(rows.map((row) => row.kind === "step" && row.name)).toEqual(names);
      }),
    );
  });

  test("T3 folded in two parts is the same", () => {
    for (let cut = 0; cut <= story.length; cut += 1) {
      const { timeline, add } = timelineBuilder();
      for (const entry of entries(...story).slice(0, cut)) add(entry);
      for (const entry of entries(...story)) add(entry);
      expect(timeline).toEqual(timelineOf(entries(...story)));
    }
  });
});

describe("a thread's events", () => {
  test("are told in one line each", () => {
    const line = (event: ThreadEvent): string => describeEvent({ event });
    expect(line(begun())).toBe('Thread of workflow "refunds" begun, input {"n":1}');
    expect(line(carriedOn(1))).toBe('Thread carried on by workflow "refunds"');
    expect(line(step("a", 1))).toBe('Step "a" succeeded, result "a"');
    expect(line(asked("q", 1))).toBe('Question "q" asked: {"id":"q","reason":"q?"}');
    expect(line(answered("q", 1))).toBe('Question "q" answered with true');
    expect(line(paused(1, 1))).toBe("Thread waits for an answer");
    expect(line(stopped(1, 1))).toBe("Thread stopped by its signal");
    expect(line(failed(1, 1))).toBe("Thread failed: boom");
    expect(line(over(1, 1))).toBe('Thread completed, output "done"');
    expect(line(whole(3, "running", 1))).toMatch(/^Checkpoint 3 put whole, status running: \{"state".*…$/);
    expect(cutsPayload({ event: whole(3, "running", 1) })).toBe(true);
    expect(cutsPayload({ event: begun(1, { metadata: { json: "x".repeat(200) } }) })).toBe(false);
  });

  test("are a history and a state at any revision, and no run's", async () => {
    const log = createMemoryLog();
    await put(log, "t", begun(), step("a", 1), step("b", 2));
    await put(log, "r", created());
    expect((await all(readHistory(log, "t", { from: 1 }))).map(({ event }) => event)).toEqual([
      step("a", 1),
      step("b", 2),
    ]);
    expect((await threadStateAt(log, "t", 1))?.checkpoints.map(({ step: number }) => number)).toEqual([1]);
    expect((await threadStateAt(log, "t"))?.checkpoints).toHaveLength(2);
    expect(await threadStateAt(log, "nobody")).toBeUndefined();
    await expect(stateAt(log, "t", 1)).rejects.toThrow("the stream belongs to a thread");
    await expect(threadStateAt(log, "r")).rejects.toThrow("the stream belongs to a run");
  });
});
