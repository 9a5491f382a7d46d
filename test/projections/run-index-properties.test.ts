/**
 * Properties of the run index over whole logs of many runs: however it came to be, it is what one rebuild makes, and that is what the
 * fold of each run's stream says.
 */
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { RunEvent } from "../../src/events/catalogue.ts";
import type { EventLog, RecordedEvent } from "../../src/events/event-log.ts";
import { stateAt } from "../../src/projections/history.ts";
import { openRunIndex } from "../../src/projections/run-index.ts";
import { isTerminal } from "../../src/projections/run-state.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import {
  asleep,
  cancelled,
  closed,
  completed,
  created,
  delivered,
  elapsed,
  failed,
  ofNewerVersion,
  opened,
  put,
  started,
  temporaryPath,
  woken,
} from "./scene.ts";

type Act =
  | {
      readonly do: "event";
      readonly run: number;
      readonly kind: number;
      readonly pick: number;
      readonly at: number;
    }
  | { readonly do: "catch up" }
  | { readonly do: "reopen" }
  | { readonly do: "catch up twice at once" };

const RUN_IDS = ["a", "b\0", "\ud800", "a/b", "run-%0041", "__proto__", "ü", "z".repeat(300)];
const WORKFLOWS = ["orders", "mail\0", ""];

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant("event" as const),
      run: fc.nat(RUN_IDS.length - 1),
      kind: fc.nat(99),
      pick: fc.nat(5),
      at: fc.nat(20),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ do: "catch up" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "catch up twice at once" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "reopen" as const }) },
);

/** What the write side could append next to a run; each wait's key is new, as decisions make it. */
const nextEvent = (log: Life, { kind, pick, at }: Extract<Act, { do: "event" }>): RunEvent | undefined => {
  if (log.events++ === 0)
    return created(WORKFLOWS[pick % WORKFLOWS.length], at, pick % 2 ? { key: `k${at % 3}` } : {});
  if (kind < 8) return started(at);
  if (kind < 11) return [completed(at), failed("boom", at), cancelled(at)][kind - 8];
  if (kind < 35)
    return asleep(log.open(log.sleeps, `sleep!s#${log.events}`), at, "sleep", pick === 0 ? "c" : undefined);
  if (kind < 55) return opened(log.open(log.hooks, `hook!t#${log.events}`), `t${log.events}`, at);
  if (kind < 65) {
    const hook = log.hooks[pick % Math.max(log.hooks.length, 1)];
    if (hook === undefined || log.sleeps.includes(hook.replace("hook!", "hookTimeout!"))) return undefined;
    return asleep(log.open(log.sleeps, hook.replace("hook!", "hookTimeout!")), at, "hookTimeout");
  }
  if (kind < 82) {
    const key = log.sleeps[pick % Math.max(log.sleeps.length, 1)];
    return key === undefined ? undefined : kind % 2 ? elapsed(key, at) : woken(key, at);
  }
  const key = log.hooks[pick % Math.max(log.hooks.length, 1)];
  return key === undefined ? undefined : kind % 2 ? delivered(key, at) : closed(key, at);
};

class Life {
  events = 0;
  readonly sleeps: string[] = [];
  readonly hooks: string[] = [];
  open(list: string[], key: string): string {
    list.push(key);
    return key;
  }
}

/** A log whose reads hand out events again that they have handed out before, as at-least-once delivery may. */
const repeating = (log: EventLog, every: number): EventLog => ({
  ...log,
  async *readAll(options) {
    const recent: RecordedEvent[] = [];
    let n = 0;
    for await (const event of log.readAll(options)) {
      yield event;
      recent.push(event);
      if (++n % every === 0) yield* recent.splice(0).slice(0, Math.max(1, every - 1));
    }
  },
});

/** Everything the index stores but where it got to. */
const rowsOf = (path: string): unknown => {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = ["workflows", "runs", "waits", "hooks", "counts WHERE n <> 0"].map((table) =>
    database.prepare(`SELECT * FROM ${table}`).all(),
  );
  database.close();
  return rows;
};

it("caught up in any chunks, with repeats, shared and reopened, the rows are those of one rebuild, and those are what the folds say", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(act, { maxLength: 60, size: "max" }),
      fc.integer({ min: 1, max: 5 }),
      async (acts, every) => {
        const log = createMemoryLog({ clock: () => 0 });
        const [path, rebuilt] = [temporaryPath(), temporaryPath()];
        const noisy = repeating(log, every);
        const lives = RUN_IDS.map(() => new Life());
        let index = openRunIndex(noisy, { path });
        for (const step of acts) {
          if (step.do === "event") {
            const event = nextEvent(lives[step.run]!, step);
            if (event !== undefined) await put(log, RUN_IDS[step.run]!, event);
          } else if (step.do === "catch up") await index.catchUp();
          else if (step.do === "catch up twice at once") {
            const other = openRunIndex(log, { path });
            await Promise.all([index.catchUp(), other.catchUp()]);
            await other.close();
          } else {
            await index.close();
            index = openRunIndex(noisy, { path });
          }
        }
        await index.catchUp();
        const whole = openRunIndex(log, { path: rebuilt, clock: () => 10 });
        await whole.catchUp();
        expect(rowsOf(path)).toEqual(rowsOf(rebuilt));

        const owed = new Map((await whole.owed(1_000)).map((run) => [run.runId, run]));
        const due = await whole.due({ until: 1_000, limit: 1_000 });
        for (const runId of RUN_IDS) {
          const state = await stateAt(log, runId, 1_000);
          const summary = await whole.get(runId);
          if (state === undefined) {
            expect(summary).toBeUndefined();
            continue;
          }
          expect(summary).toMatchObject({
            status: state.status,
            workflow: state.created?.workflow,
            revision: state.revision,
          });
          const over = isTerminal(state.status);
          const sleeps = over
            ? []
            : [...state.sleeps.entries()].filter(([, sleep]) => sleep.over === undefined);
          const hooks = over ? [] : [...state.hooks.entries()].filter(([, hook]) => hook.status === "open");
          const wakeAt =
            sleeps.length === 0 ? undefined : Math.min(...sleeps.map(([, sleep]) => sleep.wakeAt));
          expect(owed.get(runId)).toEqual(
            over || (wakeAt === undefined && hooks.length > 0)
              ? undefined
              : wakeAt === undefined
                ? { runId }
                : { runId, wakeAt },
          );
          const waits = await whole.waits(runId);
          expect(
            waits
              .filter(({ kind }) => kind === "hook")
              .map(({ key }) => key)
              .sort(),
          ).toEqual(hooks.map(([key]) => key).sort());
          const answered = (key: string): boolean =>
            state.hooks.get(key.replace("hookTimeout!", "hook!"))?.status !== "open";
          const dueKeys = due.filter((wait) => wait.runId === runId).map(({ key }) => key);
          for (const [key, sleep] of sleeps)
            if (sleep.kind === "sleep" || !answered(key)) expect(dueKeys).toContain(key);
          for (const key of dueKeys) expect(sleeps.map(([open]) => open)).toContain(key);
        }
        await Promise.all([index.close(), whole.close()]);
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);

it("Q3 paging covers every run exactly once, in either order, while runs are added", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ at: fc.nat(6), workflow: fc.nat(1), status: fc.nat(2), key: fc.nat(2) }), {
        maxLength: 40,
        size: "max",
      }),
      fc.integer({ min: 1, max: 7 }),
      fc.record({ workflow: fc.boolean(), status: fc.boolean(), key: fc.boolean(), window: fc.boolean() }),
      fc.constantFrom("newest" as const, "oldest" as const),
      async (runs, limit, by, order) => {
        const log = createMemoryLog();
        const index = openRunIndex(log);
        const wanted: { readonly runId: string; readonly at: number }[] = [];
        for (const [i, { at, workflow, status, key }] of runs.entries()) {
          const runId = `r${(i * 7) % 41}-${i}`;
          await put(
            log,
            runId,
            created(`w${workflow}`, at, { key: `k${key}` }),
            ...[[], [started()], [completed()]][status]!,
          );
          if (by.workflow && workflow !== 0) continue;
          if (by.status && status === 0) continue;
          if (by.key && key !== 1) continue;
          if (by.window && (at < 2 || at >= 5)) continue;
          wanted.push({ runId, at });
        }
        wanted.sort((a, b) => b.at - a.at || (a.runId < b.runId ? 1 : -1));
        if (order === "oldest") wanted.reverse();
        const query = {
          limit,
          order,
          ...(by.workflow ? { workflow: "w0" } : {}),
          ...(by.status ? { status: ["running", "completed"] as const } : {}),
          ...(by.key ? { key: "k1" } : {}),
          ...(by.window ? { createdAfter: 2, createdBefore: 5 } : {}),
        };
        const seen: string[] = [];
        let cursor: string | undefined;
        let pages = 0;
        do {
          const page = await index.list({ ...query, ...(cursor === undefined ? {} : { cursor }) });
          seen.push(...page.runs.map(({ runId }) => runId));
          cursor = page.cursor;
          // They come before the first page, so no later page may change for them.
          const at = order === "newest" ? 100 + ++pages : -100 - ++pages;
          await put(log, `new-${pages}`, created("w0", at, { key: "k1" }), started());
        } while (cursor !== undefined);
        expect(seen).toEqual(wanted.map(({ runId }) => runId));
        expect(pages).toBe(Math.max(1, Math.ceil(wanted.length / limit)));
        await index.close();
      },
    ),
    { numRuns: 150 },
  );
}, 60_000);

it("R2 one unreadable event anywhere changes the answers about its own run only", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 40, size: "max" }), fc.nat(39), async (acts, place) => {
      const [clean, spoiled] = [createMemoryLog({ clock: () => 0 }), createMemoryLog({ clock: () => 0 })];
      const lives = RUN_IDS.map(() => new Life());
      let victim: string | undefined;
      for (const [i, step] of acts.entries()) {
        if (step.do !== "event") continue;
        const event = nextEvent(lives[step.run]!, step);
        if (event === undefined) continue;
        await put(clean, RUN_IDS[step.run]!, event);
        if (i >= place) victim ??= RUN_IDS[step.run];
        await put(
          spoiled,
          RUN_IDS[step.run]!,
          i === place && victim === RUN_IDS[step.run] ? ofNewerVersion(event) : event,
        );
      }
      const answers = async (log: EventLog) => {
        const index = openRunIndex(log, { clock: () => 10 });
        const others = <T extends { readonly runId: string }>(found: readonly T[]): T[] =>
          found.filter(({ runId }) => runId !== victim);
        const found = [
          others((await index.list({ limit: 100 })).runs),
          others(await index.due({ until: 100, limit: 1_000 })),
          others(await index.owed(100)),
        ];
        await index.close();
        return found;
      };
      expect(await answers(spoiled)).toEqual(await answers(clean));
    }),
    { numRuns: 100 },
  );
}, 60_000);
