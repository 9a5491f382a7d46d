/** What people see of a run: rows, one line for an event, and the report of what it did and waits for. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunEvent } from "../../src/events/catalogue.ts";
import type { Position } from "../../src/events/event-log.ts";
import {
  cutsPayload,
  describeEvent,
  formatDuration,
  formatInstant,
} from "../../src/projections/event-line.ts";
import type { HistoryEntry } from "../../src/projections/history.ts";
import { runReport } from "../../src/projections/run-report.ts";
import { timelineBuilder, timelineOf } from "../../src/projections/timeline.ts";

const claimed = (key: string, holder: string, at: number): RunEvent => ({
  type: "AttemptClaimed",
  data: { key, holder, at },
});
const released = (key: string, holder: string, at: number): RunEvent => ({
  type: "AttemptReleased",
  data: { key, holder, at },
});
const retried = (key: string, attempt: number, at: number, delayMs = 0): RunEvent => ({
  type: "StepRetried",
  data: { key, attempt, maxAttempts: 3, error: { message: "no luck" }, delayMs, at },
});
const settled = (
  key: string,
  more: Partial<Extract<RunEvent, { type: "StepSettled" }>["data"]> = {},
): RunEvent => ({
  type: "StepSettled",
  data: { key, name: key.replace(/#.*/, ""), status: "ok", attempts: 1, finishedAt: 1_900, ...more },
});

const entries = (...events: readonly RunEvent[]): HistoryEntry[] =>
  events.map((event, revision) => ({
    id: `id-${revision}`,
    revision,
    position: `p${revision}` as Position,
    recordedAt: 0,
    event,
  }));

const STORY: readonly RunEvent[] = [
  { type: "RunCreated", data: { workflow: "orders", createdAt: 1_000, key: "k", input: { json: { n: 1 } } } },
  { type: "RunStarted", data: { at: 1_100 } },
  settled("now!0", { name: "now", attempts: 0, finishedAt: 1_150, output: { json: 1_150 } }),
  claimed("charge#0", "walk-1", 1_200),
  retried("charge#0", 1, 1_300, 1_000),
  claimed("charge#0", "walk-2", 1_400),
  settled("charge#0", { attempts: 2, startedAt: 1_400, finishedAt: 1_900, output: { json: "ok" } }),
  claimed("charge#0", "walk-3", 1_950),
  claimed("mail#0", "walk-2", 2_000),
  released("mail#0", "walk-2", 2_050),
  claimed("mail#0", "walk-4", 2_100),
  settled("mail#0", {
    status: "failed",
    error: { message: "refused" },
    attempts: 3,
    startedAt: 2_100,
    finishedAt: 2_200,
  }),
  {
    type: "SleepScheduled",
    data: { key: "sleep!cool#0", wakeAt: 9_000, kind: "sleep", correlationId: "c", at: 2_300 },
  },
  { type: "HookOpened", data: { key: "hook!ok#0", token: "ok", at: 2_400 } },
  {
    type: "SleepScheduled",
    data: { key: "hookTimeout!ok#0", wakeAt: 8_000, kind: "hookTimeout", at: 2_400 },
  },
  { type: "HookOpened", data: { key: "hook!free#0", token: "free", at: 2_500 } },
  claimed("slow#0", "walk-4", 2_600),
  claimed("slow#0", "walk-5", 2_700),
  { type: "SleepWoken", data: { key: "sleep!cool#0", at: 3_000 } },
  { type: "HookDelivered", data: { key: "hook!ok#0", payload: { json: { yes: true } }, at: 4_000 } },
  { type: "HookClosed", data: { key: "hook!free#0", at: 4_500 } },
  settled("slow#0", { attempts: 1, startedAt: 2_700, finishedAt: 4_600 }),
  { type: "RunCompleted", data: { output: { json: "done" }, at: 5_000 } },
];

describe("timeline", () => {
  it("T1 has a row for each step, read, sleep and hook, in the order of the stream, with how it went", () => {
    const timeline = timelineOf(entries(...STORY));
    expect(timeline).toMatchObject({
      workflow: "orders",
      status: "completed",
      createdAt: 1_000,
      startedAt: 1_100,
      endedAt: 5_000,
    });
    expect(timeline.rows).toEqual([
      { kind: "now", key: "now!0", at: 1_150 },
      {
        kind: "step",
        key: "charge#0",
        name: "charge",
        status: "ok",
        claims: [
          { holder: "walk-1", at: 1_200 },
          { holder: "walk-2", at: 1_400 },
          { holder: "walk-3", at: 1_950 },
        ],
        begun: 2,
        retries: [{ attempt: 1, maxAttempts: 3, message: "no luck", delayMs: 1_000, at: 1_300 }],
        attempts: 2,
        startedAt: 1_400,
        finishedAt: 1_900,
        durationMs: 500,
      },
      {
        kind: "step",
        key: "mail#0",
        name: "mail",
        status: "failed",
        claims: [
          { holder: "walk-2", at: 2_000, releasedAt: 2_050 },
          { holder: "walk-4", at: 2_100 },
        ],
        begun: 1,
        retries: [],
        attempts: 3,
        startedAt: 2_100,
        finishedAt: 2_200,
        durationMs: 100,
        error: "refused",
      },
      {
        kind: "sleep",
        key: "sleep!cool#0",
        correlationId: "c",
        scheduledAt: 2_300,
        wakeAt: 9_000,
        status: "woken",
        endedAt: 3_000,
      },
      {
        kind: "hook",
        key: "hook!ok#0",
        token: "ok",
        openedAt: 2_400,
        deadline: 8_000,
        status: "delivered",
        endedAt: 4_000,
        waitedMs: 1_600,
      },
      {
        kind: "hook",
        key: "hook!free#0",
        token: "free",
        openedAt: 2_500,
        status: "closed",
        endedAt: 4_500,
        waitedMs: 2_000,
      },
      expect.objectContaining({ kind: "step", key: "slow#0", begun: 2, durationMs: 1_900 }),
    ]);
    expect(JSON.parse(JSON.stringify(timeline))).toEqual(timeline);
  });

  it("T2 the first verdict stands", () => {
    const later: RunEvent[] = [
      settled("charge#0", { status: "failed", finishedAt: 9_999 }),
      { type: "SleepElapsed", data: { key: "sleep!cool#0", at: 9_999 } },
      { type: "HookClosed", data: { key: "hook!ok#0", at: 9_999 } },
      { type: "RunFailed", data: { error: { message: "late" }, at: 9_999 } },
    ];
    const { rows, ...head } = timelineOf(entries(...STORY));
    const { rows: rowsAfter, ...headAfter } = timelineOf(entries(...STORY, ...later));
    expect(rowsAfter).toEqual(rows);
    expect(headAfter).toEqual({ ...head, revision: head.revision + later.length });
  });

  it("T3 folding a prefix, then the rest, with what was there before once more, gives what folding all gives", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...STORY.slice(1)]), fc.nat(30), (shuffled, cut) => {
        const history = entries(STORY[0]!, ...shuffled);
        const builder = timelineBuilder();
        for (const entry of history.slice(0, cut)) builder.add(entry);
        for (const entry of history) builder.add(entry);
        expect(builder.timeline).toEqual(timelineOf(history));
      }),
    );
  });
});

describe("runReport", () => {
  it("says what the run did, how soon it began, and which bodies were begun again", () => {
    expect(runReport(entries(...STORY))).toEqual({
      workflow: "orders",
      status: "completed",
      createdAt: 1_000,
      startedAt: 1_100,
      endedAt: 5_000,
      durationMs: 4_000,
      timeToFirstStepMs: 200,
      steps: { ok: 2, failed: 1, running: 0 },
      retries: 1,
      waitingFor: [],
      begunAgain: [
        { key: "charge#0", name: "charge", begun: 2 },
        { key: "slow#0", name: "slow", begun: 2 },
      ],
    });
  });

  it("says what the run is waiting for and until when, soonest first, waits without an end last", () => {
    const report = runReport(entries(...STORY.slice(0, 18)));
    expect(report.status).toBe("running");
    expect(report.steps).toEqual({ ok: 1, failed: 1, running: 1 });
    expect(report.waitingFor).toEqual([
      { kind: "hook", key: "hook!ok#0", token: "ok", since: 2_400, until: 8_000 },
      { kind: "sleep", key: "sleep!cool#0", until: 9_000, correlationId: "c" },
      { kind: "hook", key: "hook!free#0", token: "free", since: 2_500 },
    ]);
  });

  it("gives the reason of a failure, and of a cancellation that has one", () => {
    const ended = (event: RunEvent) => runReport(entries(STORY[0]!, event));
    expect(ended({ type: "RunFailed", data: { error: { message: "boom" }, at: 2_000 } })).toMatchObject({
      status: "failed",
      reason: "boom",
      durationMs: 1_000,
    });
    expect(ended({ type: "RunCancelled", data: { reason: "enough", at: 2_000 } }).reason).toBe("enough");
    expect("reason" in ended({ type: "RunCancelled", data: { at: 2_000 } })).toBe(false);
  });
});

describe("describeEvent", () => {
  it("has one clear line for every event", () => {
    const lines = entries(...STORY, { type: "SleepElapsed", data: { key: "hookTimeout!ok#1", at: 1 } }).map(
      describeEvent,
    );
    expect(lines).toEqual([
      'Run of workflow "orders" created under key "k", input {"n":1}',
      "Run started",
      "Read the clock: 1150",
      'Step "charge#0" claimed by "walk-1"',
      'Step "charge#0" failed on attempt 1 of 3, trying again in 1 s: no luck',
      'Step "charge#0" claimed by "walk-2"',
      'Step "charge#0" succeeded on attempt 2 in 500 ms, result "ok"',
      'Step "charge#0" claimed by "walk-3"',
      'Step "mail#0" claimed by "walk-2"',
      'Step "mail#0" given back by "walk-2" without running it',
      'Step "mail#0" claimed by "walk-4"',
      'Step "mail#0" failed for good on attempt 3 in 100 ms: refused',
      'Sleep "cool" until 1970-01-01T00:00:09.000Z (correlation id "c")',
      'Waiting for a signal to "ok"',
      'Deadline of hook "ok" set to 1970-01-01T00:00:08.000Z',
      'Waiting for a signal to "free"',
      'Step "slow#0" claimed by "walk-4"',
      'Step "slow#0" claimed by "walk-5"',
      'Sleep "cool" cut short',
      'Hook "ok" answered with {"yes":true}',
      'Hook "free" closed unanswered',
      'Step "slow#0" succeeded in 1.9 s, result nothing',
      'Run completed, output "done"',
      'Deadline of hook "ok#1" elapsed',
    ]);
  });

  it("calls the holder of a claim by the beginning of its UUID", () => {
    const lines = entries(
      claimed("a#0", "ce64aa33-d577-421b-b13f-ee9cfe806a53", 1),
      released("a#0", "ce64aa33-d577-421b-b13f-ee9cfe806a53", 2),
    ).map(describeEvent);
    expect(lines).toEqual([
      'Step "a#0" claimed by ce64aa33',
      'Step "a#0" given back by ce64aa33 without running it',
    ]);
  });

  it("lets no name or message reach the terminal with control characters, and cuts long payloads", () => {
    const line = describeEvent(
      entries({
        type: "RunFailed",
        data: { error: { message: 'a "b"\u001b[2J\u009b\u202e\nnext' }, at: 1 },
      })[0]!,
    );
    expect(line).toBe('Run failed: a "b"\\u001b[2J\\u009b\\u202e\\nnext');
    const long = describeEvent(
      entries({ type: "RunCompleted", data: { output: { json: "x".repeat(5_000) }, at: 1 } })[0]!,
    );
    expect(long.length).toBeLessThan(120);
    const output = (length: number) =>
      entries({ type: "RunCompleted", data: { output: { json: "x".repeat(length) }, at: 1 } })[0]!;
    expect([78, 79].map((length) => cutsPayload(output(length)))).toEqual([false, true]);
    expect(describeEvent(output(78))).not.toContain("…");
    expect(describeEvent(entries(claimed("a#b!c#4", "h\u0007", 1))[0]!)).toBe(
      'Step "a#b!c#4" claimed by "h\\u0007"',
    );
  });
});

describe("durations and instants", () => {
  it("are written for people", () => {
    const cases: readonly (readonly [number, string])[] = [
      [0, "0 ms"],
      [999, "999 ms"],
      [1_000, "1 s"],
      [1_250, "1.3 s"],
      [59_949, "59.9 s"],
      [59_990, "1 min"],
      [60_000, "1 min"],
      [200_000, "3 min 20 s"],
      [3_600_000, "1 h"],
      [187_200_000, "2 d 4 h"],
      [-5, "-5 ms"],
      [Number.POSITIVE_INFINITY, "for ever"],
    ];
    for (const [ms, text] of cases) expect(formatDuration(ms)).toBe(text);
    expect(formatInstant(0)).toBe("1970-01-01T00:00:00.000Z");
    expect(formatInstant(1e300)).toBe("1e+300 ms after 1970");
  });
});
