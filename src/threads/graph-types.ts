/**
 * What a thread is outside its own run: checkpoints, questions, the events a listener hears, and the port behind which checkpoints are
 * kept. The shapes are those of graph checkpoints (schema version 2), so that one checkpointer serves graphs and workflows.
 *
 * Optional members that only graphs use are here so that code written for either fits; a workflow never writes them.
 */
import type { RetryPolicy } from "../engine/attempts/retry-policy.ts";

export type { RetryPolicy };

/** Where a thread stands: running, waiting for a person, over, failed, or stopped by its signal or a drain. */
export type GraphStatus = "running" | "awaiting_input" | "completed" | "failed" | "interrupted";

/** Part of what runs next: for a workflow always its one node. */
export interface GraphTask {
  id: string;
  node: string;
  input?: unknown;
  timeout?: { runMs?: number; idleMs?: number };
}

/** A question to a person. */
export interface InterruptRequest {
  /** What is asked, in the words of whoever answers. */
  reason: string;
  /** What they need for it. Has to survive the checkpointer. */
  payload?: unknown;
  /**
   * Names the question for good: its id is then `<workflow>:interrupt:<key>`, whatever else changes. Give one where the words or the
   * payload of a question differ from run to run, and where branches ask the same at the same time. Not empty, not a whole number.
   */
  key?: string;
}

/** A question that nobody has answered yet. */
export interface PendingInterrupt extends InterruptRequest {
  /** What `resumeInterrupts()` answers by; the same however often it is asked again. */
  id: string;
  /** The workflow's name. */
  node: string;
  /** Graphs only. */
  taskId?: string;
  /** Checkpoints written when it was asked. */
  step: number;
  /** Its place among the thread's questions, from 0. */
  index: number;
  /** When it was asked, ISO-8601. */
  requestedAt: string;
}

/** A thread after one of its steps: everything another process needs to go on. Schema version 2. */
export interface GraphCheckpoint<S = Record<string, unknown>> {
  version: 2;
  /** `<threadId>:<step>`. */
  id: string;
  threadId: string;
  /** Its number in the thread, from 1. */
  step: number;
  /** For a workflow a `WorkflowState`. */
  state: S;
  /** What runs next: the workflow's name, or nothing once it is completed. */
  next: string[];
  tasks: GraphTask[];
  /** Graphs only. */
  completed?: string[];
  /** Graphs only. */
  gotos?: Record<string, Array<string | { node: string; input?: unknown }>>;
  status: GraphStatus;
  /** The questions that wait for an answer. */
  interrupts: PendingInterrupt[];
  /** All answers so far, by the question's id. */
  resolved?: Record<string, unknown>;
  /** By what each question that has been asked is known again, by its id. Text that means nothing outside this package. */
  asked?: Record<string, string>;
  /** Why it failed. */
  error?: { name: string; message: string };
  /** Graphs only. */
  breakpoint?: { when: "before" | "after"; nodes: string[] };
  /** Graphs only: a workflow records what `onError` gave with the step. */
  recovered?: Array<{
    node: string;
    taskId: string;
    step: number;
    attempts: number;
    error: { name: string; message: string };
    failedAt: string;
    retryExhausted: boolean;
    timeout?: { type: "run" | "idle"; limitMs: number };
    goto?: string[];
  }>;
  /** Set when a drain ended the run: `at` is ISO-8601. */
  drained?: { reason?: string; at: string };
  /** When it was written, ISO-8601. */
  createdAt: string;
  metadata?: Record<string, unknown>;
}

/** A checkpoint of schema version 1: without version and id, its first question in `interrupt`. */
export interface GraphCheckpointV1<S = Record<string, unknown>>
  extends Omit<GraphCheckpoint<S>, "version" | "id" | "tasks" | "interrupts"> {
  version?: undefined;
  tasks?: GraphTask[];
  interrupt?: PendingInterrupt;
  interrupts?: PendingInterrupt[];
}

/** What a checkpointer may answer: either schema. */
export type StoredGraphCheckpoint<S = Record<string, unknown>> = GraphCheckpoint<S> | GraphCheckpointV1<S>;

/** Where checkpoints are kept. */
export interface GraphCheckpointer {
  /** Keeps a checkpoint, and drops those of its thread that have the same number or a later one. */
  put(checkpoint: GraphCheckpoint): Promise<void> | void;
  /** The thread's latest checkpoint, or the one with exactly this number. */
  get(
    threadId: string,
    step?: number,
  ): Promise<StoredGraphCheckpoint | undefined> | StoredGraphCheckpoint | undefined;
  /** The newest first; how many where `limit` is absent is the checkpointer's choice. */
  history(threadId: string, limit?: number): Promise<StoredGraphCheckpoint[]> | StoredGraphCheckpoint[];
  /** Drops a thread. */
  delete?(threadId: string): Promise<void> | void;
  /** The threads there are. */
  threadIds?(): Promise<string[]> | string[];
}

/** Asks a run to stop between two steps. */
export interface RunControlLike {
  readonly draining: boolean;
  readonly reason?: string;
}

/** A piece of a model's output. Graphs only. */
export interface GraphMessageChunk {
  kind?: "text" | "reasoning";
  content: string;
  messageId?: string;
}

/** How a tool call goes. Graphs only. */
export interface GraphToolEvent {
  phase: "start" | "progress" | "result" | "error";
  id: string;
  name: string;
  args?: unknown;
  progress?: unknown;
  result?: unknown;
  error?: string;
}

/**
 * What a run's `onEvent` hears. `step` is how many checkpoints there were at that moment (of a step: when it began), except of
 * `checkpoint`, where it is that checkpoint's number. A workflow sends no `message` and no `tool`, and no `namespace`.
 */
export type GraphEvent = (
  | { type: "task_start"; step: number; taskId: string; node: string; attempt: number }
  | { type: "task_retry"; step: number; taskId: string; node: string; attempt: number; error: string }
  | {
      type: "task_failed";
      step: number;
      taskId: string;
      node: string;
      attempts: number;
      error: string;
      recovered: boolean;
    }
  | {
      type: "task_end";
      step: number;
      taskId: string;
      node: string;
      update?: unknown;
      goto?: string[];
      cached?: boolean;
    }
  | { type: "checkpoint"; step: number; status: GraphStatus; next: string[] }
  | { type: "custom"; step: number; taskId: string; node: string; data: unknown }
  | { type: "message"; step: number; taskId: string; node: string; chunk: GraphMessageChunk }
  | { type: "tool"; step: number; taskId: string; node: string; tool: GraphToolEvent }
) & { namespace?: string[] };

/** A workflow seen as a graph, for diagrams: one node between the two ends. */
export interface GraphDescription {
  name?: string;
  nodes: Array<{ id: string }>;
  edges: Array<{ from: string; to: string; conditional?: boolean; label?: string }>;
  dynamic: string[];
}
