/**
 * The facts a run's stream consists of, and the one fact of a token's stream. Past tense, never renamed after release.
 * All instants are epoch milliseconds. A `Payload` field is absent where the value is `undefined`.
 */
import type { Payload } from "./payload.ts";
import type { JsonObject } from "./json.ts";

export type RunCreated = {
  readonly type: "RunCreated";
  readonly data: {
    readonly workflow: string;
    readonly input?: Payload;
    readonly createdAt: number;
    readonly codeVersion?: string;
    /** The caller's own key of the run: not unique; `find` looks runs up by it. */
    readonly key?: string;
    readonly tenant?: string;
    readonly metadata?: JsonObject;
  };
};
export type RunStarted = { readonly type: "RunStarted"; readonly data: { readonly at: number } };
export type RunCompleted = { readonly type: "RunCompleted"; readonly data: { readonly output?: Payload; readonly at: number } };
export type RunFailed = { readonly type: "RunFailed"; readonly data: { readonly error: { readonly message: string }; readonly at: number } };
export type RunCancelled = { readonly type: "RunCancelled"; readonly data: { readonly reason?: string; readonly at: number } };

export type AttemptClaimed = { readonly type: "AttemptClaimed"; readonly data: { readonly key: string; readonly holder: string; readonly at: number } };
export type AttemptReleased = { readonly type: "AttemptReleased"; readonly data: { readonly key: string; readonly holder: string; readonly at: number } };
/** Narration of a failed try: folds ignore it. */
export type StepRetried = {
  readonly type: "StepRetried";
  readonly data: { readonly key: string; readonly attempt: number; readonly maxAttempts: number; readonly error: { readonly message: string }; readonly delayMs: number; readonly at: number };
};
export type StepSettled = {
  readonly type: "StepSettled";
  readonly data: {
    readonly key: string;
    readonly name: string;
    readonly status: "ok" | "failed";
    readonly output?: Payload;
    readonly error?: { readonly message: string };
    readonly attempts: number;
    readonly startedAt?: number;
    readonly finishedAt: number;
  };
};

export type SleepScheduled = {
  readonly type: "SleepScheduled";
  readonly data: { readonly key: string; readonly wakeAt: number; readonly kind: "sleep" | "hookTimeout"; readonly correlationId?: string; readonly at: number };
};
export type SleepElapsed = { readonly type: "SleepElapsed"; readonly data: { readonly key: string; readonly at: number } };
export type SleepWoken = { readonly type: "SleepWoken"; readonly data: { readonly key: string; readonly at: number } };

export type HookOpened = { readonly type: "HookOpened"; readonly data: { readonly key: string; readonly token: string; readonly at: number } };
export type HookDelivered = { readonly type: "HookDelivered"; readonly data: { readonly key: string; readonly payload?: Payload; readonly at: number } };
export type HookClosed = { readonly type: "HookClosed"; readonly data: { readonly key: string; readonly at: number } };

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

/** The one fact of a `hook-<token>` stream: this run, at this key, may wait on the token (until the run is over). */
export type TokenReserved = { readonly type: "TokenReserved"; readonly data: { readonly runId: string; readonly key: string; readonly at: number } };
