/**
 * Races between Worlds over one log, as separate processes have them: each World folds for itself and learns of the others by conflicts.
 *
 * The laws: of any number of lazy starts one wins; of any number of terminal writes one wins; a token has one live hook; nothing is
 * received after a hook is disposed; a key of the queue is never swallowed for ever.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { EventLog } from "../../src/events/event-log.ts";
import { sdkQueueStream } from "../../src/events/stream-names.ts";
import type { CreateEventRequest } from "../../src/executor/world-events.ts";
import { decideDone, queueFold } from "../../src/integrations/workflow-sdk/queue-fold.ts";
import { createSessionPool } from "../../src/integrations/workflow-sdk/session-pool.ts";
import { openEventStoreLog } from "../../src/store-eventstore/index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { type StandInNode, startNode } from "../esdb-node/node.ts";
import { hook, logOf, newRun, outcomeOf, requests, send, step, worldOver } from "./worlds.ts";

const folder = mkdtempSync(join(tmpdir(), "runstream-races-"));
let files = 0;
const nodes: StandInNode[] = [];
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  for (const node of nodes) await node.stop();
});

type Awaitable<T> = T | Promise<T>;

/** Logs for as many Worlds as asked for: one and the same in memory, one connection each to a file and to a server. */
const STORES: Record<"memory" | "a SQLite file" | "EventStoreDB", (count: number) => Awaitable<EventLog[]>> =
  {
    memory: (count) => {
      const log = createMemoryLog();
      return Array.from({ length: count }, () => log);
    },
    "a SQLite file": (count) => {
      files += 1;
      const path = join(folder, `${files}.db`);
      return Array.from({ length: count }, () => openSqliteLog(path, { durability: "normal" }));
    },
    EventStoreDB: async (count) => {
      const node = await startNode();
      nodes.push(node);
      const { connectionString } = node;
      return Promise.all(Array.from({ length: count }, () => openEventStoreLog(connectionString)));
    },
  };

const RUNS = { memory: 60, "a SQLite file": 12, EventStoreDB: 12 } as const;

type Racer = { readonly world: number; readonly request: CreateEventRequest };

describe.each(["memory", "a SQLite file", "EventStoreDB"] as const)("Worlds over %s", (store) => {
  const withWorlds = async (
    count: number,
    race: (worlds: ReturnType<typeof worldOver>[]) => Promise<void>,
  ): Promise<void> => {
    const logs = await STORES[store](count);
    try {
      await race(logs.map((log) => worldOver(log)));
    } finally {
      for (const log of new Set(logs)) await log.close();
    }
  };

  const check = (property: fc.IAsyncPropertyWithHooks<[Racer[], number]>): Promise<void> =>
    fc.assert(property, { numRuns: RUNS[store] });

  const racers = (...choices: CreateEventRequest[]): fc.Arbitrary<Racer[]> =>
    fc.array(fc.record({ world: fc.nat(2), request: fc.constantFrom(...choices) }), {
      minLength: 2,
      maxLength: 12,
    });

  /** Sends all at once, in groups of `burst` that share a turn. */
  const raceIn = async (
    worlds: ReturnType<typeof worldOver>[],
    runId: string,
    all: readonly Racer[],
    burst: number,
  ): Promise<string[]> => {
    const answers: Promise<string>[] = [];
    for (const [index, { world, request }] of all.entries()) {
      answers.push(outcomeOf(worlds[world]!.events.create(runId, request)));
      if (index % burst === burst - 1) await Promise.resolve();
    }
    return Promise.all(answers);
  };

  it("of any number of lazy starts one wins, and the step was started once", () =>
    check(
      fc.asyncProperty(
        racers(step.lazy("s"), step.created("s")),
        fc.integer({ min: 1, max: 4 }),
        (all, burst) =>
          withWorlds(3, async (worlds) => {
            const runId = await newRun(worlds[0]!);
            const outcomes = await raceIn(worlds, runId, all, burst);
            expect(outcomes.filter((one) => one !== "EntityConflictError")).toHaveLength(1);
            const log = await logOf(worlds[1]!, runId);
            expect(log.filter((line) => line === "step_created s")).toHaveLength(1);
            const lazyWon = outcomes.includes("step_started");
            expect(log.filter((line) => line === "step_started s")).toHaveLength(lazyWon ? 1 : 0);
          }),
      ),
    ));

  it("of any number of writes that end a step one wins", () =>
    check(
      fc.asyncProperty(
        racers(step.completed("s"), step.failed("s")),
        fc.integer({ min: 1, max: 4 }),
        (all, burst) =>
          withWorlds(3, async (worlds) => {
            const runId = await newRun(worlds[0]!);
            await send(worlds[0]!, runId, step.lazy("s"));
            const outcomes = await raceIn(worlds, runId, all, burst);
            const won = outcomes.filter((one) => one !== "EntityConflictError");
            expect(won).toHaveLength(1);
            const { status } = await worlds[2]!.steps.get(runId, "s");
            expect(`step_${status}`).toBe(won[0]);
          }),
      ),
    ));

  it("of any number of writes that end a run one wins, and nothing is opened after it", () =>
    check(
      fc.asyncProperty(
        racers(requests.completed, requests.failed, step.created("s"), hook.created("h", "t")),
        fc.integer({ min: 1, max: 4 }),
        (all, burst) =>
          withWorlds(3, async (worlds) => {
            const runId = await newRun(worlds[0]!);
            await raceIn(worlds, runId, all, burst);
            await send(worlds[1]!, runId, requests.cancelled);
            const log = await logOf(worlds[2]!, runId);
            const ends = log.filter((line) => /^run_(completed|failed|cancelled)$/.test(line));
            expect(ends).toHaveLength(1);
            expect(log.at(-1)).toBe(ends[0]);
          }),
      ),
    ));

  it("a token has one live hook, across runs", () =>
    check(
      fc.asyncProperty(racers(hook.created("h", "token")), fc.integer({ min: 1, max: 4 }), (all, burst) =>
        withWorlds(3, async (worlds) => {
          const runs = await Promise.all(all.map(({ world }) => newRun(worlds[world]!)));
          const answers = all.map(async ({ world, request }, index) => {
            if (index % burst === 0) await Promise.resolve();
            return outcomeOf(worlds[world]!.events.create(runs[index]!, request));
          });
          const outcomes = await Promise.all(answers);
          expect(outcomes.filter((one) => one === "hook_created")).toHaveLength(1);
          expect(outcomes.filter((one) => one === "hook_conflict")).toHaveLength(all.length - 1);
          const holder = runs[outcomes.indexOf("hook_created")]!;
          expect((await worlds[2]!.hooks.getByToken("token")).runId).toBe(holder);
          // Free again once its hook is disposed, and once its run is over.
          const [second, third] = [await newRun(worlds[0]!), await newRun(worlds[1]!)];
          await send(worlds[1]!, holder, hook.disposed("h"));
          expect(await send(worlds[2]!, second, hook.created("h", "token"))).toEqual(["hook_created"]);
          await send(worlds[0]!, second, requests.completed);
          expect(await send(worlds[1]!, third, hook.created("h", "token"))).toEqual(["hook_created"]);
        }),
      ),
    ));

  it("nothing is received after a hook is disposed", () =>
    check(
      fc.asyncProperty(
        racers(hook.received("h"), hook.disposed("h")),
        fc.integer({ min: 1, max: 4 }),
        (all, burst) =>
          withWorlds(3, async (worlds) => {
            const runId = await newRun(worlds[0]!);
            await send(worlds[0]!, runId, hook.created("h", "t"));
            const outcomes = await raceIn(worlds, runId, all, burst);
            const log = await logOf(worlds[1]!, runId);
            const disposed = log.indexOf("hook_disposed h");
            expect(log.lastIndexOf("hook_disposed h")).toBe(disposed);
            if (disposed !== -1) expect(log.length - 1).toBe(disposed);
            const accepted = outcomes.filter((one) => one !== "HookNotFoundError");
            expect(
              log
                .slice(3)
                .map((line) => line.split(" ")[0])
                .sort(),
            ).toEqual(accepted.sort());
          }),
      ),
    ));

  it("a key of the queue admits one pending message, and is free when that is done", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.record({ do: fc.constant("send" as const), world: fc.nat(2), key: fc.constantFrom("a", "b") }),
            fc.record({
              do: fc.constant("finish" as const),
              world: fc.nat(2),
              key: fc.constantFrom("a", "b"),
            }),
          ),
          { maxLength: 16 },
        ),
        async (actions) => {
          const logs = await STORES[store](3);
          const worlds = logs.map((log) => worldOver(log));
          const queues = logs.map((log) => createSessionPool(log, queueFold));
          const stream = sdkQueueStream("r");
          const queue = async (world: number, idempotencyKey: string) => {
            const { messageId } = await worlds[world]!.queue(
              "__wkf_workflow_wf",
              { runId: "r" },
              { idempotencyKey },
            );
            return messageId as string;
          };
          const pending = new Map<string, string>();
          const seen = new Set<string>();
          for (const action of actions) {
            const held = pending.get(action.key);
            if (action.do === "finish") {
              if (held !== undefined) await queues[action.world]!.get(stream).propose(decideDone(held, 0));
              pending.delete(action.key);
              continue;
            }
            const [one, two] = await Promise.all([
              queue(action.world, action.key),
              queue((action.world + 1) % 3, action.key),
            ]);
            expect(one).toBe(two);
            if (held === undefined) expect(seen.has(one)).toBe(false);
            else expect(one).toBe(held);
            seen.add(one);
            pending.set(action.key, one);
          }
          for (const log of new Set(logs)) await log.close();
        },
      ),
      { numRuns: RUNS[store] },
    ));
});
