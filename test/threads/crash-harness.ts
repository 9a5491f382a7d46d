/**
 * Kills the worker of a thread at every operation in turn, goes on with another worker, and says whether the thread came to the same end
 * as one that nobody killed. It knows nothing of what the body does: a body marks its side effects, the rest is counted.
 *
 * What must hold, whatever the moment of death:
 * - K1 The final checkpoint says the same as that of the uninterrupted thread.
 * - K2 The side effects of a step that was recorded when a worker began do not happen in that worker.
 * - K3 Checkpoint numbers run from 1 without a gap.
 */
import { expect, vi } from "vitest";
import {
  type GraphCheckpoint,
  type PendingInterrupt,
  type WorkflowContext,
  workflow,
} from "../../src/threads/index.ts";
import { type Death, mortal, WHENS } from "./mortal-worker.ts";
import { listed, stepsIn } from "./reading.ts";
import type { ThreadStore } from "./stores.ts";
import { inTime } from "./time.ts";

/** Does `work` outside the thread; `key` is the step's. */
export type Effect = <T>(key: string, work: () => T) => Promise<T>;

export type CrashBody = (context: WorkflowContext, effect: Effect) => unknown;

export interface Life {
  /** What the last checkpoint says, apart from when. */
  readonly end: Pick<GraphCheckpoint, "status" | "state" | "next" | "interrupts" | "metadata"> & {
    /** All answers, sorted: in which order branches asked may differ from life to life. */
    readonly answers: readonly unknown[];
  };
  /** Operations of the first worker. */
  readonly operations: number;
  /** The side effects, in order. */
  readonly effects: readonly string[];
  readonly workers: number;
}

export const answerTo = ({ reason }: PendingInterrupt): string => `answer to ${reason}`;

export const answersTo = (interrupts: readonly PendingInterrupt[]): Record<string, string> =>
  Object.fromEntries(interrupts.map((question) => [question.id, answerTo(question)]));

const ENOUGH_WORKERS = 30;

/**
 * Lives the thread to its end, with one worker after the other. Deaths are given in order: each one's `operation` is counted from the
 * first operation after the death before it.
 */
export const live = async (
  store: ThreadStore,
  threadId: string,
  body: CrashBody,
  ...deaths: readonly Death[]
): Promise<Life> => {
  const truth = store.worker();
  const latest = async () => (await truth.get(threadId)) as GraphCheckpoint | undefined;
  const effects: string[] = [];
  const recorded = new Set<string>();
  const ahead = [...deaths];
  let operations = 0;
  let sinceDeath = 0;
  for (let workers = 1; workers < ENOUGH_WORKERS; workers += 1) {
    const death = ahead[0];
    const worker = mortal(death && { ...death, operation: death.operation - sinceDeath });
    const effect: Effect = (key, work) =>
      worker.effect(() => {
        expect(recorded, "K2: a recorded step runs again").not.toContain(key);
        effects.push(key);
        return work();
      });
    const thread = workflow((_: string, context) => body(context, effect), {
      name: "mortal",
      maxConcurrency: 2,
      checkpointer: store.worker(worker.passage),
    });
    const found = await latest();
    const run = listed(
      found === undefined
        ? thread.stream("input", { threadId })
        : found.status === "awaiting_input"
          ? thread.resumeInterrupts(threadId, answersTo(found.interrupts))
          : thread.continue(threadId),
    );
    const how = await inTime(Promise.race([run, worker.died]), `worker ${workers}`);
    // The timers of a process end with it.
    vi.clearAllTimers();
    operations += worker.operations();
    sinceDeath += worker.operations();
    if (how === "died") {
      ahead.shift();
      sinceDeath = 0;
    }
    const left = await latest();
    for (const key of Object.keys(stepsIn(left))) recorded.add(key);
    if (left?.status !== "completed" || how === "died") continue;
    const { status, state, next, interrupts, resolved = {}, metadata = {} } = left;
    const numbers = (await truth.history(threadId, 1_000)).map(({ step }) => step);
    expect(numbers, "K3").toEqual(numbers.map((_, index) => left.step - index));
    expect(numbers.at(-1), "K3").toBe(1);
    const end = { status, state, next, interrupts, metadata, answers: Object.values(resolved).sort() };
    return { end, operations, effects, workers };
  }
  return expect.fail(`${ENOUGH_WORKERS} workers brought the thread to no end`);
};

/** Every death of a thread's workers, one life each; `name` is that of the threads. Answers how many lives there were. */
export const killEverywhere = async (store: ThreadStore, body: CrashBody, name = "t"): Promise<number> => {
  const whole = await live(store, `${name}-whole`, body);
  let lives = 0;
  for (let operation = 0; operation < whole.operations; operation += 1) {
    for (const when of WHENS) {
      const life = await live(store, `${name}-${operation}-${when}`, body, { operation, when });
      expect(life.end, `K1: killed ${when} operation ${operation}`).toEqual(whole.end);
      expect(life.workers).toBeGreaterThan(1);
      lives += 1;
    }
  }
  return lives;
};

/** The same, and every death is followed by a second one, at the first operation of the worker that goes on and at its second. */
export const killTwice = async (store: ThreadStore, body: CrashBody): Promise<number> => {
  const whole = await live(store, "whole", body);
  let lives = 0;
  for (let first = 0; first < whole.operations; first += 1) {
    for (const when of WHENS) {
      for (const second of [0, 1]) {
        const deaths = [
          { operation: first, when },
          { operation: second, when: WHENS[(first + second) % WHENS.length]! },
        ];
        const life = await live(store, `${first}-${when}-${second}`, body, ...deaths);
        expect(life.end, `K1: killed at ${JSON.stringify(deaths)}`).toEqual(whole.end);
        lives += 1;
      }
    }
  }
  return lives;
};
