/**
 * Thread state: the fold of one thread's stream. Every checkpoint of the thread is in it, as what the fold of a prefix says.
 *
 * Not here: checkpoints as objects and payload decoding (threads/log), how a thread reads to people (timeline, event-line).
 *
 * Invariants:
 * - F1 The fold is total, costs the same for every event, and copies nothing: a checkpoint is a place in lists that only grow.
 * - F2 fold(prefix) then fold(rest) = fold(all), and the checkpoints up to a prefix are not altered by the rest, but for those that a
 *   fact with their number, or a lower one, takes back.
 * - F3 `checkpoints` ascends by number, without doubles.
 */
import type {
  ThreadAnswered,
  ThreadEvent,
  ThreadFailed,
  ThreadInterrupted,
  ThreadQuestionAsked,
  ThreadStatus,
  ThreadStepSettled,
} from "../events/catalogue.ts";
import type { Payload } from "../events/payload.ts";

/** What a thread has gathered since it began, or began again. The lists only grow. */
export interface ThreadLife {
  /** The checkpoint that was put whole and from which this life goes on; its input, steps and answers come first. */
  readonly base?: Payload;
  readonly input?: Payload;
  readonly steps: ThreadStepSettled["data"][];
  readonly answers: ThreadAnswered["data"][];
  readonly asked: ThreadQuestionAsked["data"][];
}

/** A checkpoint as a place: so many steps, answers and questions of `life`, and what was true just then. */
export interface ThreadCheckpoint {
  /** The checkpoint's number. */
  readonly step: number;
  /** The revision of the fact that made it. */
  readonly revision: number;
  readonly status: ThreadStatus;
  readonly workflow: string;
  readonly metadata: Payload | undefined;
  readonly life: ThreadLife;
  readonly steps: number;
  readonly answers: number;
  readonly asked: number;
  /** It waits for the questions from this place of `life.asked` on. */
  readonly waitsFrom: number;
  readonly output: Payload | undefined;
  readonly error: ThreadFailed["data"]["error"] | undefined;
  readonly drained: ThreadInterrupted["data"]["drained"];
  /** Epoch milliseconds. */
  readonly at: number;
  /** Set where the checkpoint was put whole: it is this, and nothing else. */
  readonly whole: Payload | undefined;
}

export interface ThreadState {
  /** Last revision folded; -1 before the first event. */
  revision: number;
  workflow: string;
  tenant: string | undefined;
  metadata: Payload | undefined;
  /** Of the latest checkpoint; `running` from when the thread is begun or carried on. */
  status: ThreadStatus;
  /** When the thread first began, in epoch milliseconds. */
  createdAt: number | undefined;
  life: ThreadLife;
  readonly checkpoints: ThreadCheckpoint[];
}

export const emptyThread = (): ThreadState => ({
  revision: -1,
  workflow: "",
  tenant: undefined,
  metadata: undefined,
  status: "running",
  createdAt: undefined,
  life: newLife({}),
  checkpoints: [],
});

/** Folds one event into `state`, which it edits. `revision` is the event's place in the stream. */
export const evolveThread = (state: ThreadState, event: ThreadEvent, revision: number): void => {
  state.revision = revision;
  switch (event.type) {
    case "ThreadStarted": {
      const { input } = event.data;
      state.life = newLife(input === undefined ? {} : { input });
      return takeUp(state, event.data);
    }
    case "ThreadContinued":
      return takeUp(state, event.data);
    case "ThreadStepSettled":
      state.life.steps.push(event.data);
      return checkpoint(state, event.data, "running");
    case "ThreadQuestionAsked":
      state.life.asked.push(event.data);
      return;
    case "ThreadAnswered":
      state.life.answers.push(event.data);
      return;
    case "ThreadPaused":
      return checkpoint(state, event.data, "awaiting_input");
    case "ThreadInterrupted":
      return checkpoint(state, event.data, "interrupted", { drained: event.data.drained });
    case "ThreadFailed":
      return checkpoint(state, event.data, "failed", { error: event.data.error });
    case "ThreadCompleted":
      return checkpoint(state, event.data, "completed", { output: event.data.output });
    case "ThreadCheckpointPut": {
      const { status, value } = event.data;
      state.life = newLife({ base: value });
      takeUp(state, { ...event.data, checkpoint: undefined });
      return checkpoint(state, event.data, status, { whole: value });
    }
    default:
      return event satisfies never;
  }
};

/** Folds a whole stream, or a prefix of it, from revision 0. */
export const foldThread = (events: Iterable<ThreadEvent>): ThreadState => {
  const state = emptyThread();
  for (const event of events) evolveThread(state, event, state.revision + 1);
  return state;
};

/** The checkpoint with this number; without one, the latest. */
export const checkpointAt = ({ checkpoints }: ThreadState, step?: number): ThreadCheckpoint | undefined => {
  const last = checkpoints.at(-1);
  if (step === undefined || last?.step === step) return last;
  let from = 0;
  let to = checkpoints.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (checkpoints[middle]!.step < step) from = middle + 1;
    else to = middle;
  }
  return checkpoints[from]?.step === step ? checkpoints[from] : undefined;
};

/** The thread as it is after everything folded: between the facts of one checkpoint, what is known of it so far. */
export const presentPlace = (state: ThreadState): ThreadCheckpoint => {
  const { life, revision, status, createdAt = 0 } = state;
  const last = checkpointAt(state);
  if (last?.revision === revision) return last;
  return {
    ...placeOf(state),
    step: last?.step ?? 0,
    status,
    waitsFrom: status === "awaiting_input" && last?.life === life ? last.waitsFrom : life.asked.length,
    at: last?.at ?? createdAt,
  };
};

/** Where the thread is in its life, and nothing that only a checkpoint's end says. */
const placeOf = ({ life, revision, workflow, metadata }: ThreadState) => ({
  revision,
  workflow,
  metadata,
  life,
  steps: life.steps.length,
  answers: life.answers.length,
  asked: life.asked.length,
  output: undefined,
  error: undefined,
  drained: undefined,
  whole: undefined,
});

const takeUp = (
  state: ThreadState,
  data: {
    workflow: string;
    metadata?: Payload;
    tenant?: string;
    checkpoint?: number | undefined;
    at: number;
  },
): void => {
  state.workflow = data.workflow;
  state.metadata = data.metadata;
  state.tenant = data.tenant;
  state.status = "running";
  state.createdAt ??= data.at;
  const { checkpoint: step, at } = data;
  if (step !== undefined) checkpoint(state, { checkpoint: step, at }, "running");
};

const checkpoint = (
  state: ThreadState,
  { checkpoint: step, at }: { checkpoint: number; at: number },
  status: ThreadStatus,
  more: Partial<Pick<ThreadCheckpoint, "output" | "error" | "drained" | "whole">> = {},
): void => {
  const { checkpoints, life } = state;
  const before = checkpoints.at(-1);
  while (checkpoints.length > 0 && checkpoints.at(-1)!.step >= step) checkpoints.pop();
  const first = before?.life === life ? before.asked : 0;
  checkpoints.push({
    ...placeOf(state),
    step,
    status,
    waitsFrom: status === "awaiting_input" ? first : life.asked.length,
    at,
    ...more,
  });
  state.status = status;
};

const newLife = (start: Pick<ThreadLife, "base" | "input">): ThreadLife => ({
  ...start,
  steps: [],
  answers: [],
  asked: [],
});
