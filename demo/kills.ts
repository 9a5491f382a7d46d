/**
 * Kills a worker in the middle of a step, and starts the next one. Whether a step was caught in the middle is not assumed: the log must
 * show it claimed and not settled, and the witness on the disk must show that its body had begun.
 */
import type { Runstream } from "../src/index.ts";
import type { LogWatch } from "./watch.ts";
import { bodiesBegun } from "./witness.ts";
import { startWorker, type WorkerProcess } from "./worker-process.ts";

export interface Kill {
  readonly killedPid: number;
  /** `<run id> <step key>` of the bodies that were cut off; empty where the kill came too late or too early. */
  readonly caught: readonly string[];
  readonly nextPid: number;
  /** From SIGKILL to the next claim of a step, in milliseconds; and how much of it was the new process's start. */
  readonly takeoverMs: number;
  readonly bootMs: number;
}

export interface Scene {
  readonly runstream: Runstream;
  readonly watch: LogWatch;
  readonly store: string;
  readonly output: string;
  readonly runIds: readonly string[];
}

/** Waits until `worker` is at a step called `step` that nobody tried before, kills it, and answers when another one has taken over. */
export const killInTheMiddle = async (
  scene: Scene,
  worker: WorkerProcess,
  step: string,
): Promise<{ readonly kill: Kill; readonly next: WorkerProcess }> => {
  const { watch, store } = scene;
  await watch.until(`a claim of step "${step}"`, () =>
    [...watch.open.values()].find(
      ({ key, again, at }) => key.startsWith(step) && !again && at >= worker.startedAt,
    ),
  );
  const killedAt = await worker.kill();
  const caught = await cutOff(scene, worker.startedAt);
  const seen = watch.claims.length;
  const next = await startWorker(store);
  const claim = await watch.until("a claim by the new worker", () =>
    watch.claims.slice(seen).find(({ at }) => at >= killedAt),
  );
  const takeoverMs = claim.at - killedAt;
  return {
    kill: { killedPid: worker.pid, caught, nextPid: next.pid, takeoverMs, bootMs: next.bootMs },
    next,
  };
};

/** Steps that were claimed since `since`, are not settled, and whose body had begun as often as they were claimed. */
const cutOff = async ({ runstream, runIds, output }: Scene, since: number): Promise<string[]> => {
  const begun = bodiesBegun(output);
  const caught: string[] = [];
  for (const runId of runIds) {
    const open = new Map<string, { claims: number; at: number }>();
    for await (const { event } of runstream.history(runId)) {
      if (event.type === "AttemptClaimed") {
        const { key, at } = event.data;
        open.set(key, { claims: (open.get(key)?.claims ?? 0) + 1, at });
      } else if (event.type === "StepSettled") open.delete(event.data.key);
    }
    for (const [key, { claims, at }] of open)
      if (at >= since && begun.get(`${runId} ${key}`) === claims) caught.push(`${runId} ${key}`);
  }
  return caught;
};
