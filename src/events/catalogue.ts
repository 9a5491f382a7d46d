/**
 * The facts that the stream of a run, or of a thread, consists of, and the one fact of a token's stream. Past tense, never renamed after release.
 * All instants are epoch milliseconds. A `Payload` field is absent where the value is `undefined`.
 *
 * One file per family holds the types and says what their stored data looks like; this one puts them together.
 */
import { type AttemptClaimed, type AttemptReleased, attempts } from "./attempts.ts";
import { type EventSchema, payloadsOf } from "./event-schema.ts";
import { type HookClosed, type HookDelivered, type HookOpened, hooks } from "./hooks.ts";
import {
  type RunCancelled,
  type RunCompleted,
  type RunCreated,
  type RunFailed,
  type RunStarted,
  runLifecycle,
} from "./run-lifecycle.ts";
import { SDK_RUN_EVENTS, type SdkEvent } from "./sdk-runs.ts";
import { type SleepElapsed, type SleepScheduled, type SleepWoken, sleeps } from "./sleeps.ts";
import { type StepRetried, type StepSettled, steps } from "./steps.ts";
import {
  type ThreadAnswered,
  type ThreadCheckpointPut,
  type ThreadCompleted,
  type ThreadContinued,
  type ThreadFailed,
  type ThreadInterrupted,
  type ThreadPaused,
  type ThreadQuestionAsked,
  type ThreadStarted,
  type ThreadStepSettled,
  threads,
} from "./threads.ts";

export type { AttemptClaimed, AttemptReleased } from "./attempts.ts";
export type { HookClosed, HookDelivered, HookOpened } from "./hooks.ts";
export type { RunCancelled, RunCompleted, RunCreated, RunFailed, RunStarted } from "./run-lifecycle.ts";
export { isSdkEvent, type SdkEvent } from "./sdk-runs.ts";
export type { SleepElapsed, SleepScheduled, SleepWoken } from "./sleeps.ts";
export type { StepRetried, StepSettled } from "./steps.ts";
export type {
  ThreadAnswered,
  ThreadCheckpointPut,
  ThreadCompleted,
  ThreadContinued,
  ThreadFailed,
  ThreadInterrupted,
  ThreadPaused,
  ThreadQuestionAsked,
  ThreadStarted,
  ThreadStatus,
  ThreadStepSettled,
} from "./threads.ts";
export { type TokenReserved, tokens as TOKEN_EVENTS } from "./tokens.ts";

export type RunEvent =
  | RunCreated
  | RunStarted
  | RunCompleted
  | RunFailed
  | RunCancelled
  | AttemptClaimed
  | AttemptReleased
  | StepRetried
  | StepSettled
  | SleepScheduled
  | SleepElapsed
  | SleepWoken
  | HookOpened
  | HookDelivered
  | HookClosed;

/** Every event type of a run's stream, as the codec needs it. */
export const RUN_EVENTS: { readonly [T in RunEvent["type"]]: EventSchema } = {
  ...runLifecycle,
  ...attempts,
  ...steps,
  ...sleeps,
  ...hooks,
};

export type ThreadEvent =
  | ThreadStarted
  | ThreadContinued
  | ThreadStepSettled
  | ThreadQuestionAsked
  | ThreadAnswered
  | ThreadPaused
  | ThreadInterrupted
  | ThreadFailed
  | ThreadCompleted
  | ThreadCheckpointPut;

/** Every event type of a thread's stream, as the codec needs it. */
export const THREAD_EVENTS: { readonly [T in ThreadEvent["type"]]: EventSchema } = threads;

/** What a stream called `run-…` may hold: the facts of a run, those of a thread, or those of a run of the Workflow SDK. */
export type HistoryEvent = RunEvent | ThreadEvent | SdkEvent;

export const isThreadEvent = <E extends { readonly type: string }>(
  event: E,
): event is E & { readonly type: ThreadEvent["type"] } => Object.hasOwn(THREAD_EVENTS, event.type);

/** The fields of an event of this type that hold payloads. */
export const payloadFields = (type: HistoryEvent["type"]): readonly string[] => {
  const schema = SCHEMAS[type];
  return schema === undefined ? [] : payloadsOf(schema);
};

/** The fields of an event of this type that are sealed where a run's payloads are; none for a type that is not in the catalogue. */
export const sealedFields = (type: string): readonly string[] => SEALED_FIELDS.get(type) ?? NONE;

const NONE: readonly string[] = [];

const OWN: Readonly<Record<string, EventSchema>> = { ...RUN_EVENTS, ...THREAD_EVENTS };
const SCHEMAS: Readonly<Record<string, EventSchema>> = { ...OWN, ...SDK_RUN_EVENTS };

/** The Workflow SDK encrypts what is in its runs itself. */
const SEALED_FIELDS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(OWN).map(([type, schema]) => [
    type,
    [...payloadsOf(schema), ...Object.keys(schema.failures ?? {})],
  ]),
);
