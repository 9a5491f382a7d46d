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
}

/** A checkpoint as a place: so many steps and answers of `life`, and what was true just then. */
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
  /** The questions it waits for. */
  readonly questions: readonly ThreadQuestionAsked["data"][];
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
  /** Questions asked since the last checkpoint. */
  asked: ThreadQuestionAsked["data"][];
  readonly checkpoints: ThreadCheckpoint[];
}

export const emptyThread = (): ThreadState => ({
  revision: -1,
  workflow: "",
  tenant: undefined,
  metadata: undefined,
  status: "running",
  createdAt: undefined,
  life: { steps: [], answers: [] },
  asked: [],
  checkpoints: [],
});

/** Folds one event into `state`, which it edits. `revision` is the event's place in the stream. */
export const evolveThread = (state: ThreadState, event: ThreadEvent, revision: number): void => {
  state.revision = revision;
  switch (event.type) {
    case "ThreadStarted": {
      const { input } = event.data;
      state.life = { ...(input !== undefined && { input }), steps: [], answers: [] };
      return takeUp(state, event.data);
    }
    case "ThreadContinued":
      return takeUp(state, event.data);
    case "ThreadStepSettled":
      state.life.steps.push(event.data);
      return checkpoint(state, event.data, "running");
    case "ThreadQuestionAsked":
      state.asked.push(event.data);
      return;
    case "ThreadAnswered":
      state.life.answers.push(event.data);
      return;
    case "ThreadPaused":
      return checkpoint(state, event.data, "awaiting_input", { questions: state.asked });
    case "ThreadInterrupted":
      return checkpoint(state, event.data, "interrupted", { drained: event.data.drained });
    case "ThreadFailed":
      return checkpoint(state, event.data, "failed", { error: event.data.error });
    case "ThreadCompleted":
      return checkpoint(state, event.data, "completed", { output: event.data.output });
    case "ThreadCheckpointPut": {
      const { status, value } = event.data;
      state.life = { base: value, steps: [], answers: [] };
      takeUp(state, event.data);
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

const takeUp = (
  state: ThreadState,
  data: { workflow: string; metadata?: Payload; tenant?: string; at: number },
): void => {
  state.workflow = data.workflow;
  state.metadata = data.metadata;
  state.tenant = data.tenant;
  state.status = "running";
  state.createdAt ??= data.at;
  state.asked = [];
};

const checkpoint = (
  state: ThreadState,
  { checkpoint: step, at }: { checkpoint: number; at: number },
  status: ThreadStatus,
  more: Partial<Pick<ThreadCheckpoint, "questions" | "output" | "error" | "drained" | "whole">> = {},
): void => {
  const { checkpoints, life, revision, workflow, metadata } = state;
  while (checkpoints.length > 0 && checkpoints.at(-1)!.step >= step) checkpoints.pop();
  checkpoints.push({
    step,
    revision,
    status,
    workflow,
    metadata,
    life,
    steps: life.steps.length,
    answers: life.answers.length,
    questions: NO_QUESTIONS,
    output: undefined,
    error: undefined,
    drained: undefined,
    at,
    whole: undefined,
    ...more,
  });
  state.status = status;
  state.asked = [];
};

const NO_QUESTIONS: readonly ThreadQuestionAsked["data"][] = [];
