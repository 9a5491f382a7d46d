/**
 * How long a run took to its first step, and from step to step: decided once for a batch of steps, computed just before the body runs,
 * and carried by the step's terminal event. Measurements only; nothing depends on them.
 *
 * Invariants:
 * - M1 Only a first attempt is measured, and never a retry.
 * - M2 A sample that clocks out of step made negative is 0; one below −60 s says nothing and is dropped.
 */
import { decodeTime, isValid } from "ulid";
import type { Event, StepLatencyEventData } from "./world-events.ts";

const SKEW_TOLERANCE_MS = 60_000;

/** What the orchestrator knows when it schedules a batch; given to the batch's first step. All instants are epoch milliseconds. */
export interface StepLatencyTracking {
  /** When the run was created; only if the step counts for the time to first step. */
  ttfsAnchorMs?: number;
  /** Milliseconds spent on writing hooks before the step, which are not the engine's. */
  preStepBlockingMs?: number;
  /** When the first attribute was written before the step: the measurement ends there. */
  preStepAttrStartMs?: number;
  /** When the step before was over; only if this one counts for the time between steps. */
  prevStepEndMs?: number;
  /** Steps that are over. */
  stepCount?: number;
  /** Events in the log. */
  eventCount?: number;
  /** When the answer to `run_started` arrived. */
  rsfsAnchorMs?: number;
  /** Milliseconds that the last replay took. */
  replayMs?: number;
  /** Whether this is a run's first delivery in the fast mode. */
  turbo: boolean;
}

/** What the orchestrator looks at to decide. */
export interface StepLatencyView {
  /** The log, oldest first. */
  readonly events: readonly Event[];
  /** The first load of this delivery held nothing but `run_created`, `run_started` and `attr_set`. */
  readonly invocationStartedClean: boolean;
  readonly runCreatedAtMs: number | undefined;
  readonly runStartedReceivedAtMs: number | undefined;
  readonly replayMs: number;
  readonly preStepBlockingMs: number;
  /** The part of it from before the first attribute; `undefined` counts as none. */
  readonly preStepBlockingBeforeAttrMs: number | undefined;
  readonly suspensionHasWaits: boolean;
  readonly suspensionCreatedHooks: boolean;
  readonly turbo: boolean;
}

const instantOf = (event: Event): number => (event.occurredAt ?? event.createdAt).getTime();

const isStepEnd = (event: Event): boolean =>
  event.eventType === "step_completed" || event.eventType === "step_failed";

const isPastFirstStep = ({ eventType }: Event): boolean =>
  eventType.startsWith("step_") || eventType.startsWith("wait_") || eventType === "hook_received";

const firstStep = (view: StepLatencyView): Omit<StepLatencyTracking, "turbo"> | undefined => {
  const { events, runCreatedAtMs, runStartedReceivedAtMs } = view;
  if (runCreatedAtMs === undefined || !view.invocationStartedClean || view.suspensionHasWaits)
    return undefined;
  if (events.some(isPastFirstStep)) return undefined;
  const attributes = events.filter(({ eventType }) => eventType === "attr_set").map(instantOf);
  const ends = attributes.length > 0;
  return {
    ttfsAnchorMs: runCreatedAtMs,
    preStepBlockingMs: ends ? (view.preStepBlockingBeforeAttrMs ?? 0) : view.preStepBlockingMs,
    ...(ends ? { preStepAttrStartMs: Math.min(...attributes) } : {}),
    ...(runStartedReceivedAtMs === undefined
      ? {}
      : { rsfsAnchorMs: runStartedReceivedAtMs, replayMs: view.replayMs }),
  };
};

const nextStep = (view: StepLatencyView): Omit<StepLatencyTracking, "turbo"> | undefined => {
  const last = view.events.at(-1);
  if (last === undefined || !isStepEnd(last)) return undefined;
  if (view.suspensionHasWaits || view.suspensionCreatedHooks) return undefined;
  return {
    prevStepEndMs: instantOf(last),
    stepCount: new Set(view.events.filter(isStepEnd).map(({ correlationId }) => correlationId)).size,
    eventCount: view.events.length,
  };
};

/** What to measure of the batch's first step; `undefined` when there is nothing to measure. */
export const computeStepLatencyTracking = (view: StepLatencyView): StepLatencyTracking | undefined => {
  const tracked = firstStep(view) ?? nextStep(view);
  return tracked === undefined ? undefined : { ...tracked, turbo: view.turbo };
};

/** What is known once the body is about to run. */
export interface StepLatencyMoment {
  readonly tracking: StepLatencyTracking | undefined;
  readonly stepCodeStartedAtMs: number;
  /** When the start of a lazy step was sent. */
  readonly stepStartPostSentAtMs: number | undefined;
  readonly attempt: number;
  readonly lazyStepStart: boolean;
  readonly optimisticStart: boolean;
}

const sample = (ms: number): number | undefined => (ms < -SKEW_TOLERANCE_MS ? undefined : Math.max(0, ms));

const timeToFirstStep = ({ tracking, stepCodeStartedAtMs }: StepLatencyMoment): number | undefined => {
  if (tracking?.ttfsAnchorMs === undefined) return undefined;
  const end = tracking.preStepAttrStartMs ?? stepCodeStartedAtMs;
  return sample(end - tracking.ttfsAnchorMs - (tracking.preStepBlockingMs ?? 0));
};

const stepToStep = ({ tracking, stepCodeStartedAtMs }: StepLatencyMoment): number | undefined =>
  tracking?.prevStepEndMs === undefined ? undefined : sample(stepCodeStartedAtMs - tracking.prevStepEndMs);

const OPTIMIZATIONS: readonly [string, (moment: StepLatencyMoment) => boolean][] = [
  ["turbo", ({ tracking }) => tracking?.turbo === true],
  ["lazyStepStart", ({ lazyStepStart }) => lazyStepStart],
  ["optimisticStart", ({ optimisticStart }) => optimisticStart],
];

/** What the step's terminal event carries; `undefined` when there is nothing to say. */
export const computeStepLatencyEventData = (moment: StepLatencyMoment): StepLatencyEventData | undefined => {
  const { tracking, attempt, stepStartPostSentAtMs } = moment;
  if (tracking === undefined || attempt !== 1) return undefined;
  const ttfs = timeToFirstStep(moment);
  const stso = stepToStep(moment);
  if (ttfs === undefined && stso === undefined) return undefined;
  const data: StepLatencyEventData = {
    optimizations: OPTIMIZATIONS.filter(([, applies]) => applies(moment)).map(([name]) => name),
  };
  if (ttfs !== undefined) {
    data.ttfs = ttfs;
    const { rsfsAnchorMs, replayMs } = tracking;
    if (rsfsAnchorMs !== undefined && stepStartPostSentAtMs !== undefined) {
      data.rsfs = Math.max(0, stepStartPostSentAtMs - rsfsAnchorMs);
    }
    if (rsfsAnchorMs !== undefined && replayMs !== undefined)
      data.finalSchedulingReplay = Math.max(0, replayMs);
  }
  if (stso !== undefined) {
    data.stso = stso;
    if (tracking.stepCount !== undefined) data.stepCount = tracking.stepCount;
    if (tracking.eventCount !== undefined) data.eventCount = tracking.eventCount;
  }
  return data;
};

const PREFIX = "wrun_";
/** The highest bit of a ULID's 48 bits of time marks a run id that carries more than a time. */
const TAG = 2 ** 47;

/** When a run was created, in epoch milliseconds, by its id; `undefined` for an id that is no ULID, with or without `wrun_`. */
export const runIdCreatedAt = (runId: string): number | undefined => {
  const id = runId.startsWith(PREFIX) ? runId.slice(PREFIX.length) : runId;
  if (!isValid(id)) return undefined;
  const time = decodeTime(id);
  return time >= TAG ? time - TAG : time;
};
