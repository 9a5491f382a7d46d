/**
 * A thread: a function whose steps are recorded, and which people answer. Its stream bears the name of a run's, `run-<threadId>`, and
 * holds these facts and no others.
 *
 * Some facts end a *checkpoint* and carry its number: what the thread was then is the fold of the stream up to that fact. A fact with
 * the number n takes back every checkpoint from n on. What belongs to one checkpoint is written in one append.
 */
import * as t from "io-ts";
import { type EventSchema, Finite, SEALED_FAILURE, storedData } from "./event-schema.ts";
import type { Payload } from "./payload.ts";

/** The statuses of a thread's checkpoints. */
export type ThreadStatus = "running" | "awaiting_input" | "completed" | "failed" | "interrupted";

/** The thread begins, or begins again from nothing: no steps, no answers. */
export type ThreadStarted = {
  readonly type: "ThreadStarted";
  readonly data: {
    readonly workflow: string;
    readonly input?: Payload;
    readonly metadata?: Payload;
    readonly tenant?: string;
    /** Present where this is a checkpoint of its own: that of a start, before any step. */
    readonly checkpoint?: number;
    readonly at: number;
  };
};

/** Somebody carries the thread on from its latest checkpoint. */
export type ThreadContinued = {
  readonly type: "ThreadContinued";
  readonly data: {
    readonly workflow: string;
    readonly metadata?: Payload;
    readonly tenant?: string;
    /** As for {@link ThreadStarted}. */
    readonly checkpoint?: number;
    readonly at: number;
  };
};

export type ThreadStepSettled = {
  readonly type: "ThreadStepSettled";
  readonly data: {
    readonly checkpoint: number;
    readonly key: string;
    readonly output?: Payload;
    /** The output is `onError`'s, after the step had failed for good. */
    readonly recovered?: {
      readonly error: { readonly name: string; readonly message: string };
      readonly attempts: number;
    };
    readonly at: number;
  };
};

/**
 * A question, as the thread asks it: an object with at least `id` and `reason`. The pause that follows holds it. `knownBy` is what the
 * workflow knows the question again by when it is asked anew.
 */
export type ThreadQuestionAsked = {
  readonly type: "ThreadQuestionAsked";
  readonly data: {
    readonly id: string;
    readonly question: Payload;
    readonly knownBy?: string;
    readonly at: number;
  };
};

/** An answer. The last one of an id stands. */
export type ThreadAnswered = {
  readonly type: "ThreadAnswered";
  readonly data: { readonly id: string; readonly answer?: Payload; readonly at: number };
};

export type ThreadPaused = {
  readonly type: "ThreadPaused";
  readonly data: { readonly checkpoint: number; readonly at: number };
};

/** Stopped by its signal, or drained. */
export type ThreadInterrupted = {
  readonly type: "ThreadInterrupted";
  readonly data: {
    readonly checkpoint: number;
    readonly drained?: { readonly reason?: string; readonly at: string };
    readonly at: number;
  };
};

export type ThreadFailed = {
  readonly type: "ThreadFailed";
  readonly data: {
    readonly checkpoint: number;
    readonly error: { readonly name: string; readonly message: string };
    readonly at: number;
  };
};

export type ThreadCompleted = {
  readonly type: "ThreadCompleted";
  readonly data: { readonly checkpoint: number; readonly output?: Payload; readonly at: number };
};

/** A checkpoint made elsewhere, whole: what the thread is from here on. */
export type ThreadCheckpointPut = {
  readonly type: "ThreadCheckpointPut";
  readonly data: {
    readonly checkpoint: number;
    readonly workflow: string;
    readonly status: ThreadStatus;
    readonly value: Payload;
    readonly tenant?: string;
    readonly at: number;
  };
};

const Status = t.keyof({
  running: null,
  awaiting_input: null,
  completed: null,
  failed: null,
  interrupted: null,
});
const NamedFailure = t.exact(t.type({ name: t.string, message: t.string }));
const Recovered = t.exact(t.type({ error: NamedFailure, attempts: Finite }));
const SEALED_ERROR = { name: "Error", ...SEALED_FAILURE } as const;
const Drained = t.exact(t.intersection([t.type({ at: t.string }), t.partial({ reason: t.string })]));

export const threads = {
  ThreadStarted: {
    version: 1,
    payload: ["input", "metadata"],
    stored: storedData(
      { workflow: t.string, at: Finite },
      { input: t.unknown, metadata: t.unknown, tenant: t.string, checkpoint: Finite },
    ),
  },
  ThreadContinued: {
    version: 1,
    payload: "metadata",
    stored: storedData(
      { workflow: t.string, at: Finite },
      { metadata: t.unknown, tenant: t.string, checkpoint: Finite },
    ),
  },
  ThreadStepSettled: {
    version: 1,
    payload: "output",
    failures: { recovered: { error: SEALED_ERROR, attempts: 0 } },
    stored: storedData(
      { checkpoint: Finite, key: t.string, at: Finite },
      { output: t.unknown, recovered: Recovered },
    ),
  },
  ThreadQuestionAsked: {
    version: 1,
    payload: "question",
    stored: storedData({ id: t.string, question: t.unknown, at: Finite }, { knownBy: t.string }),
  },
  ThreadAnswered: {
    version: 1,
    payload: "answer",
    stored: storedData({ id: t.string, at: Finite }, { answer: t.unknown }),
  },
  ThreadPaused: { version: 1, stored: storedData({ checkpoint: Finite, at: Finite }) },
  ThreadInterrupted: {
    version: 1,
    stored: storedData({ checkpoint: Finite, at: Finite }, { drained: Drained }),
  },
  ThreadFailed: {
    version: 1,
    failures: { error: SEALED_ERROR },
    stored: storedData({ checkpoint: Finite, error: NamedFailure, at: Finite }),
  },
  ThreadCompleted: {
    version: 1,
    payload: "output",
    stored: storedData({ checkpoint: Finite, at: Finite }, { output: t.unknown }),
  },
  ThreadCheckpointPut: {
    version: 1,
    payload: "value",
    stored: storedData(
      { checkpoint: Finite, workflow: t.string, status: Status, value: t.unknown, at: Finite },
      { tenant: t.string },
    ),
  },
} as const satisfies Record<string, EventSchema>;
