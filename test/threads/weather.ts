/**
 * What may happen to the workers of a thread: each one meets one day of weather, and after the last day it is calm. A thread is lived
 * through all of it, to its end, and what every worker must keep is checked on the way.
 */
import fc from "fast-check";
import { expect, vi } from "vitest";
import { type GraphCheckpoint, RunControl, workflow } from "../../src/threads/index.ts";
import { answersTo } from "./crash-harness.ts";
import { type Death, mortal, WHENS } from "./mortal-worker.ts";
import { type Program, runProgram } from "./programs.ts";
import { listed, stepsIn } from "./reading.ts";
import type { ThreadStore } from "./stores.ts";
import { inTime } from "./time.ts";

export interface Day {
  /** The worker dies. */
  readonly death?: Death;
  /** The worker is asked to drain when its operation of this number begins. */
  readonly drainAt?: number;
  /** The run is aborted when the worker's operation of this number begins. */
  readonly abortAt?: number;
  /** How many of the questions that wait are answered. */
  readonly answers: "all" | "first" | "none";
  /** A second worker goes on with the same thread at the same time. */
  readonly rival?: boolean;
}

const operation = fc.nat({ max: 9 });
const answers = fc.constantFrom("all" as const, "first" as const, "none" as const);

/** `rivals`: also days on which two workers have the same thread. */
export const days = (rivals: boolean): fc.Arbitrary<readonly Day[]> =>
  fc.array(
    fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ death: fc.record({ operation, when: fc.constantFrom(...WHENS) }), answers }),
      },
      fc.record({ drainAt: operation, answers }),
      fc.record({ abortAt: operation, answers }),
      fc.record({ answers }),
      ...(rivals ? [{ weight: 2, arbitrary: fc.record({ answers, rival: fc.constant(true) }) }] : []),
    ),
    { maxLength: 6 },
  );

const CALM: Day = { answers: "all" };
const ENOUGH_DAYS = 40;

export interface Lived {
  readonly last: GraphCheckpoint;
  readonly history: readonly GraphCheckpoint[];
}

/** What a run of a worker that lost a race for the thread may end with; anything else is a failure of the test. */
export type Lost = (error: unknown) => boolean;

/** Lives the program through `weather`. `lost` says which errors a worker may end with on a day with a rival. */
export const liveThrough = async (
  store: ThreadStore,
  threadId: string,
  program: Program,
  weather: readonly Day[],
  lost: Lost,
): Promise<Lived> => {
  const truth = store.worker();
  const latest = async () => (await truth.get(threadId)) as GraphCheckpoint | undefined;
  const recorded = new Set<string>();
  for (let number = 0; number < ENOUGH_DAYS; number += 1) {
    const day = weather[number] ?? CALM;
    const found = await latest();
    if (found?.status === "completed") {
      const history = (await truth.history(threadId, 10_000)) as GraphCheckpoint[];
      return { last: found, history };
    }
    const ends = Array.from({ length: day.rival === true ? 2 : 1 }, () =>
      oneWorker({ store, threadId, program, day, found, recorded, lost }),
    );
    await inTime(Promise.all(ends), `day ${number}`);
    // The timers of a process end with it.
    vi.clearAllTimers();
    for (const key of Object.keys(stepsIn(await latest()))) recorded.add(key);
  }
  return expect.fail(`${ENOUGH_DAYS} days brought the thread to no end`);
};

interface Scene {
  readonly store: ThreadStore;
  readonly threadId: string;
  readonly program: Program;
  readonly day: Day;
  readonly found: GraphCheckpoint | undefined;
  readonly recorded: ReadonlySet<string>;
  readonly lost: Lost;
}

const oneWorker = async ({ store, threadId, program, day, found, recorded, lost }: Scene): Promise<void> => {
  const worker = mortal(day.death);
  const control = new RunControl();
  const stop = new AbortController();
  const disturbed = <T>(work: T): T => {
    if (day.drainAt !== undefined && worker.operations() > day.drainAt) control.drain("the weather");
    if (day.abortAt !== undefined && worker.operations() > day.abortAt) stop.abort(new Error("the weather"));
    return work;
  };
  const thread = workflow(
    (_: string, context) =>
      runProgram(program, context, (key, work) =>
        worker.effect(() => {
          disturbed(undefined);
          expect(recorded, "a step that was recorded runs again").not.toContain(key);
          return work();
        }),
      ),
    {
      name: "random",
      maxConcurrency: 2,
      checkpointer: store.worker({
        read: worker.passage.read,
        write: (work) => worker.passage.write(() => disturbed(work)()),
      }),
    },
  );
  const options = { control, signal: stop.signal };
  const answered = Object.entries(answersTo(found?.interrupts ?? []));
  const count = { all: answered.length, first: 1, none: 0 }[day.answers];
  const run = listed(
    found === undefined
      ? thread.stream("input", { threadId, ...options })
      : found.status === "awaiting_input"
        ? thread.resumeInterrupts(threadId, Object.fromEntries(answered.slice(0, count)), options)
        : thread.continue(threadId, options),
  ).catch((error: unknown) => {
    if (error instanceof Error && error.name === "GraphDrainedError" && control.draining) return;
    if (day.rival !== true || !lost(error)) throw error;
  });
  await Promise.race([run, worker.died]);
};
