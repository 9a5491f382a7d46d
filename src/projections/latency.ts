/**
 * How long a run was kept from its own work: the time to its first step (TTFS), and the time between one step and the next (STSO). A pure
 * fold of its events; payloads are not looked at. A thread has none, since its events do not say when a step began.
 *
 * Invariants:
 * - D1 TTFS is from the run's creation to the first charge for a step. There is none where the run came to a sleep or a hook before.
 * - D2 One STSO sample is from the end of the step that settled last to the first charge for the next, where that is begun with no other
 *   step under way, and no sleep or hook was set, ended or open since: then the run waited for nothing but the engine. Of steps that are
 *   begun together the first gives the sample. A step that is begun again gives none.
 * - D3 Instants are of the clocks of whichever processes recorded them. A time that comes out negative is 0 where clocks may differ so
 *   ({@link CLOCK_SKEW_MS}), and is left out where they may not.
 */
import type { RunEvent } from "../events/catalogue.ts";
import type { HistoryEntry } from "./history.ts";
import { isDeadlineKey } from "./hook-keys.ts";

/** By how much clocks of different machines may differ, in milliseconds. */
export const CLOCK_SKEW_MS = 60_000;

/** Milliseconds between steps, over `count` of them. */
export interface StepToStep {
  readonly count: number;
  readonly medianMs: number;
  readonly maxMs: number;
}

/** What is absent was not to be had from the events. */
export interface RunLatency {
  /** From creation to the first step, in milliseconds. */
  readonly timeToFirstStepMs?: number;
  readonly stepToStep?: StepToStep;
}

export interface LatencyFold {
  /** The events of one run in order; others are passed over. */
  add(entry: Pick<HistoryEntry, "event">): void;
  latency(): RunLatency;
}

export const latencyFold = (): LatencyFold => {
  const begun = new Set<string>();
  const underWay = new Set<string>();
  const samples: number[] = [];
  let createdAt: number | undefined;
  let first: number | undefined;
  /** The end of the step that settled last, while nothing but the engine came after it. */
  let settledAt: number | undefined;
  let waits = 0;
  let waited = false;

  const wait = (more: number): void => {
    waits = Math.max(0, waits + more);
    waited = true;
    settledAt = undefined;
  };

  const claim = (key: string, at: number): void => {
    if (!begun.has(key)) {
      if (begun.size === 0 && !waited && createdAt !== undefined) first = clamped(at - createdAt);
      const sample = underWay.size > 0 || settledAt === undefined ? undefined : clamped(at - settledAt);
      if (sample !== undefined) samples.push(sample);
    }
    settledAt = undefined;
    begun.add(key);
    underWay.add(key);
  };

  const add = ({ event }: Pick<HistoryEntry, "event">): void => {
    const { type, data } = event as RunEvent;
    switch (type) {
      case "RunCreated":
        createdAt ??= data.createdAt;
        return;
      case "AttemptClaimed":
        return claim(data.key, data.at);
      case "AttemptReleased":
        underWay.delete(data.key);
        return;
      case "StepSettled":
        // A recorded read is no step: it takes no time, and nobody charges for it.
        if (!underWay.delete(data.key)) return;
        settledAt = waits > 0 ? undefined : Math.max(data.finishedAt, settledAt ?? data.finishedAt);
        return;
      case "SleepScheduled":
        return wait(data.kind === "sleep" ? 1 : 0);
      case "HookOpened":
        return wait(1);
      case "SleepElapsed":
      case "SleepWoken":
        return wait(isDeadlineKey(data.key) ? 0 : -1);
      case "HookDelivered":
      case "HookClosed":
        return wait(-1);
      default:
        return;
    }
  };

  return {
    add,
    latency: () => ({
      ...(first !== undefined && { timeToFirstStepMs: first }),
      ...(samples.length > 0 && { stepToStep: summed(samples) }),
    }),
  };
};

/** The latency of a history, or of a prefix of it. */
export const latencyOf = (history: Iterable<Pick<HistoryEntry, "event">>): RunLatency => {
  const { add, latency } = latencyFold();
  for (const entry of history) add(entry);
  return latency();
};

const clamped = (ms: number): number | undefined => (ms < -CLOCK_SKEW_MS ? undefined : Math.max(0, ms));

const summed = (samples: readonly number[]): StepToStep => {
  const sorted = samples.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const upper = sorted[half] as number;
  const medianMs = sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2;
  return { count: sorted.length, medianMs, maxMs: sorted.at(-1) as number };
};
