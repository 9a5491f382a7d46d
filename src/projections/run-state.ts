/**
 * Run state: the fold of one run's stream, from which every decision about the run is taken and every view of it is read.
 *
 * Not here: what may happen next (engine/decide), payload decoding (a payload stays encoded until somebody asks for it).
 *
 * Invariants:
 * - S1 The fold is total: any order of events gives a state, and what contradicts an earlier fact changes nothing (law L4).
 * - S2 `settled` lists the steps, sleeps and hooks in the order in which they settled in the stream (law L1).
 * - S3 fold(prefix) then fold(rest) = fold(all); values in the maps are replaced, never edited, so that layers may share them.
 */
import type { RunCreated, RunEvent, StepSettled, ThreadStatus } from "../events/catalogue.ts";
import type { Payload } from "../events/payload.ts";
import { layeredOver, type MapLike } from "./layered-map.ts";

export type RunStatus = "pending" | "running" | "completed" | "failed" | "cancelled";

/** What a list may hold: a run of the engine, a thread, or a run of the Workflow SDK. */
export type RunKind = "run" | "thread" | "sdk";

/** Every kind. The run index stores a kind as its place here: the order stays, new ones go to the end. */
export const KINDS: readonly RunKind[] = ["run", "thread", "sdk"];

/** Where a run or a thread stands, as lists and reports have it. */
export type ListedStatus = RunStatus | ThreadStatus;

/** One holder's charge for an attempt, taken at an instant in epoch milliseconds. */
export type Charge = { readonly holder: string; readonly at: number };

export type SleepState = {
  readonly wakeAt: number;
  readonly kind: "sleep" | "hookTimeout";
  readonly correlationId?: string;
  /** How the wait ended; absent while it is outstanding. */
  readonly over?: "elapsed" | "woken";
};

export type HookState = {
  readonly token: string;
  readonly status: "open" | "delivered" | "closed";
  readonly payload?: Payload;
};

/** Something that settled. Its kind is part of its name: a step called `sleep!a` has the key of a sleep called `a`. */
export type Settlement = { readonly of: "step" | "sleep" | "hook"; readonly key: string };

export interface RunState {
  /** Last revision folded; -1 before the first event. */
  revision: number;
  created: RunCreated["data"] | undefined;
  status: RunStatus;
  output: Payload | undefined;
  error: { readonly message: string } | undefined;
  readonly steps: MapLike<string, StepSettled["data"]>;
  readonly charges: MapLike<string, readonly Charge[]>;
  readonly sleeps: MapLike<string, SleepState>;
  readonly hooks: MapLike<string, HookState>;
  readonly settled: Settlement[];
}

export const emptyRun = (): RunState => ({
  revision: -1,
  created: undefined,
  status: "pending",
  output: undefined,
  error: undefined,
  steps: new Map(),
  charges: new Map(),
  sleeps: new Map(),
  hooks: new Map(),
  settled: [],
});

/** A state that goes on from `state` and leaves it as it is. Its `settled` holds only what came on top. */
export const speculate = (state: RunState): RunState => ({
  ...state,
  steps: layeredOver(state.steps),
  charges: layeredOver(state.charges),
  sleeps: layeredOver(state.sleeps),
  hooks: layeredOver(state.hooks),
  settled: [],
});

/** Every status. The run index stores a status as its place here: the order stays, new ones go to the end. */
export const STATUSES: readonly ListedStatus[] = [
  "pending",
  "running",
  "completed",
  "failed",
  "cancelled",
  "awaiting_input",
  "interrupted",
];

/** The statuses of a run that is not over: only such a run is walked, ended or cancelled. */
export const RUNNABLE: readonly RunStatus[] = ["pending", "running"];

export const isTerminal = (status: ListedStatus): boolean =>
  status === "completed" || status === "failed" || status === "cancelled";

/** Folds one event into `state`, which it edits. `revision` is the event's place in the stream. */
export const evolve = (state: RunState, event: RunEvent, revision: number): void => {
  state.revision = revision;
  switch (event.type) {
    case "RunCreated":
      state.created ??= event.data;
      return;
    case "RunStarted":
      if (state.status === "pending") state.status = "running";
      return;
    case "RunCompleted":
      if (isTerminal(state.status)) return;
      state.status = "completed";
      state.output = event.data.output;
      return;
    case "RunFailed":
      if (isTerminal(state.status)) return;
      state.status = "failed";
      state.error = event.data.error;
      return;
    case "RunCancelled":
      if (!isTerminal(state.status)) state.status = "cancelled";
      return;
    case "AttemptClaimed":
      return charge(state, event.data.key, event.data);
    case "AttemptReleased":
      return discharge(state, event.data.key, event.data.holder);
    case "StepRetried":
      return;
    case "StepSettled":
      if (state.steps.has(event.data.key)) return;
      state.steps.set(event.data.key, event.data);
      state.settled.push({ of: "step", key: event.data.key });
      return;
    case "SleepScheduled":
      if (state.sleeps.has(event.data.key)) return;
      state.sleeps.set(event.data.key, sleepOf(event.data));
      return;
    case "SleepElapsed":
      return endSleep(state, event.data.key, "elapsed");
    case "SleepWoken":
      return endSleep(state, event.data.key, "woken");
    case "HookOpened":
      if (state.hooks.has(event.data.key)) return;
      state.hooks.set(event.data.key, { token: event.data.token, status: "open" });
      return;
    case "HookDelivered":
      return endHook(state, event.data.key, "delivered", event.data.payload);
    case "HookClosed":
      return endHook(state, event.data.key, "closed", undefined);
    default:
      return event satisfies never;
  }
};

/** Folds a whole stream, or a prefix of it, from revision 0. */
export const foldRun = (events: Iterable<RunEvent>): RunState => {
  const state = emptyRun();
  for (const event of events) evolve(state, event, state.revision + 1);
  return state;
};

const charge = (state: RunState, key: string, { holder, at }: Charge): void => {
  const others = state.charges.get(key)?.filter((held) => held.holder !== holder);
  state.charges.set(key, others === undefined ? [{ holder, at }] : [...others, { holder, at }]);
};

const discharge = (state: RunState, key: string, holder: string): void => {
  const held = state.charges.get(key);
  if (held !== undefined)
    state.charges.set(
      key,
      held.filter((one) => one.holder !== holder),
    );
};

const sleepOf = (data: { wakeAt: number; kind: SleepState["kind"]; correlationId?: string }): SleepState => ({
  wakeAt: data.wakeAt,
  kind: data.kind,
  ...(data.correlationId !== undefined && { correlationId: data.correlationId }),
});

const endSleep = (state: RunState, key: string, over: "elapsed" | "woken"): void => {
  const sleep = state.sleeps.get(key);
  if (sleep === undefined || sleep.over !== undefined) return;
  state.sleeps.set(key, { ...sleep, over });
  if (sleep.kind === "sleep") state.settled.push({ of: "sleep", key });
};

const endHook = (
  state: RunState,
  key: string,
  status: "delivered" | "closed",
  payload: Payload | undefined,
): void => {
  const hook = state.hooks.get(key);
  if (hook === undefined || hook.status !== "open") return;
  state.hooks.set(key, { token: hook.token, status, ...(payload !== undefined && { payload }) });
  state.settled.push({ of: "hook", key });
};
