/**
 * A workflow of somebody's module on another checkpointer than its own: the command line carries threads on in the store it was given.
 * Not part of the public API. Workflows are told by a symbol and not by their class: the module may have loaded another copy of it.
 */
import type { GraphCheckpointer } from "./graph-types.ts";
import type { WorkflowEvent, WorkflowRunOptions } from "./types.ts";

export const ON_CHECKPOINTER: unique symbol = Symbol.for("runstream.threads.onCheckpointer/1");

/** What a workflow is asked to do with the threads of another checkpointer. */
export interface ReboundWorkflow {
  resumeInterrupts(
    threadId: string,
    answers: Record<string, unknown>,
    runOptions?: WorkflowRunOptions,
  ): AsyncIterable<WorkflowEvent>;
  continue(threadId: string, runOptions?: WorkflowRunOptions): AsyncIterable<WorkflowEvent>;
}

/** A workflow, as far as it can be put on another checkpointer. */
export interface ThreadWorkflow {
  readonly name: string;
  [ON_CHECKPOINTER](checkpointer: GraphCheckpointer): ReboundWorkflow;
}

export const isThreadWorkflow = (value: unknown): value is ThreadWorkflow =>
  typeof value === "object" && value !== null && ON_CHECKPOINTER in value;

/** The same function and options, with the threads of `checkpointer`. */
export const onCheckpointer = (workflow: ThreadWorkflow, checkpointer: GraphCheckpointer): ReboundWorkflow =>
  workflow[ON_CHECKPOINTER](checkpointer);
