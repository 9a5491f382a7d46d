/** Decisions about durable waits: a deadline is taken once (law L7), and a wait is over when the stream says so (law L1). */
import { map } from "fp-ts/lib/Either.js";
import type { RunEvent } from "../../events/catalogue.ts";
import { isTerminal, type RunState, type SleepState } from "../../projections/run-state.ts";
import { already, type Decide, type Decision, decided, rejected } from "./decision.ts";

export interface Wait {
  readonly key: string;
  readonly wakeAt: number;
  readonly kind: "sleep" | "hookTimeout";
  readonly correlationId?: string | undefined;
  readonly at: number;
}

/** Records the wait at its first reach; later reaches get the record that stands. */
export const scheduleSleep =
  ({ key, wakeAt, kind, correlationId, at }: Wait): Decide<SleepState> =>
  (state) => {
    if (state.created === undefined) return rejected("RunMissing");
    const stored = state.sleeps.get(key);
    if (stored !== undefined) return already(stored);
    if (isTerminal(state.status)) return rejected("RunSettled");
    const named = correlationId !== undefined && { correlationId };
    return decided(
      { wakeAt, kind, ...named },
      { type: "SleepScheduled", data: { key, wakeAt, kind, ...named, at } },
    );
  };

/** `scheduleSleep` as a walk reaches it: a deadline that has passed is recorded as over in the same decision. */
export const reachSleep =
  (wait: Wait): Decide<SleepState> =>
  (state) =>
    map((decision: Decision<SleepState>) => {
      const sleep = decision.answer;
      if (sleep.over !== undefined || sleep.wakeAt > wait.at || isTerminal(state.status)) return decision;
      const elapsed: RunEvent = { type: "SleepElapsed", data: { key: wait.key, at: wait.at } };
      return { events: [...decision.events, elapsed], answer: { ...sleep, over: "elapsed" as const } };
    })(scheduleSleep(wait)(state));

/** Cuts outstanding waits short and answers how many. Without ids sleeps only; with ids whatever declared one of them. */
export const wakeSleeps =
  (ids: readonly string[] | undefined, at: number): Decide<number> =>
  (state) => {
    if (state.created === undefined || isTerminal(state.status)) return already(0);
    const wanted = (sleep: SleepState): boolean =>
      ids === undefined
        ? sleep.kind === "sleep"
        : sleep.correlationId !== undefined && ids.includes(sleep.correlationId);
    const events = outstanding(state)
      .filter(([, sleep]) => sleep.wakeAt > at && wanted(sleep))
      .map(([key]): RunEvent => ({ type: "SleepWoken", data: { key, at } }));
    return decided(events.length, ...events);
  };

/** Records as over every wait whose deadline has passed, in the order of their deadlines; answers how many. */
export const elapseDue =
  (at: number): Decide<number> =>
  (state) => {
    if (state.created === undefined || isTerminal(state.status)) return already(0);
    const events = outstanding(state)
      .filter(([, sleep]) => sleep.wakeAt <= at)
      .sort(([keyA, a], [keyB, b]) => a.wakeAt - b.wakeAt || (keyA < keyB ? -1 : 1))
      .map(([key]): RunEvent => ({ type: "SleepElapsed", data: { key, at } }));
    return decided(events.length, ...events);
  };

const outstanding = (state: RunState): [string, SleepState][] =>
  [...state.sleeps.entries()].filter(([, sleep]) => sleep.over === undefined);
