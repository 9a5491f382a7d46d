/**
 * The start of a run: whose it is, whether it may be, and what it goes on from. Everything that can refuse a run before its function is
 * called is here, in this order: tenant and principal agree, the lifecycle admits, the thread is there, it is this tenant's, it waits
 * for an answer.
 */
import { openThread, type RunBeginning, type ThreadWriter } from "./checkpoint-writer.ts";
import { GraphError, GraphNotInterruptedError, GraphThreadNotFoundError } from "./errors.ts";
import type { GraphCheckpoint, GraphCheckpointer, PendingInterrupt } from "./graph-types.ts";
import type { OperationLifecycleLike } from "./surroundings.ts";
import type { WorkflowRunOptions } from "./types.ts";

/** How a run was asked for. */
export type Entry =
  | { readonly from: "invoke"; readonly input: unknown }
  | { readonly from: "resume"; readonly answers: (waiting: readonly PendingInterrupt[]) => Answers }
  | { readonly from: "continue" };

export type Answers = Readonly<Record<string, unknown>>;

/** Whose the run is. */
export type Owner = { readonly tenantId: string | undefined; readonly userId: string | undefined };

/** Throws `TypeError` when the run is asked for in the name of two tenants. */
export const ownerOf = ({ tenantId, principal }: WorkflowRunOptions): Owner => {
  const theirs = principal?.tenantId;
  if (tenantId !== undefined && theirs !== undefined && tenantId !== theirs) {
    throw new TypeError(
      `The run's tenantId ${JSON.stringify(tenantId)} and its principal's ${JSON.stringify(theirs)} differ. Give one of them, or the same.`,
    );
  }
  return { tenantId: tenantId ?? theirs, userId: principal?.userId };
};

/** Runs `work` as one operation of the lifecycle. Rejects with what its `start` throws; the ticket is settled before this settles. */
export const admitted = async <T>(
  lifecycle: OperationLifecycleLike | undefined,
  run: {
    readonly workflow: string;
    readonly threadId: string;
    readonly owner: Owner;
    readonly signal: AbortSignal | undefined;
  },
  work: () => Promise<T>,
): Promise<T> => {
  if (lifecycle === undefined) return work();
  const { workflow, threadId, owner, signal } = run;
  const { tenantId, userId } = owner;
  const metadata = {
    threadId,
    graph: workflow,
    ...(tenantId !== undefined && { tenantId }),
    ...(userId !== undefined && { userId }),
  };
  const ticket = await lifecycle.start(
    { family: "graph", operation: `workflow.${workflow}`, metadata },
    { ...(signal !== undefined && { signal }) },
  );
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await ticket.fail(error);
    throw error;
  }
  await ticket.succeed();
  return result;
};

/** What a run begins with. */
export interface Opening {
  readonly writer: ThreadWriter;
  readonly from: RunBeginning["from"];
  /** What it goes on from; `undefined` where it starts from nothing. */
  readonly latest: GraphCheckpoint | undefined;
  /** Number of the thread's latest checkpoint. */
  readonly step: number;
  /** Of a run that starts from nothing; `undefined` for others, whose input is recorded. */
  readonly input: unknown;
  /** Given to this run, by the question's id. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** Recorded on every checkpoint of the run. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tenantId: string | undefined;
}

export interface OpeningRequest {
  readonly checkpointer: GraphCheckpointer | false;
  readonly workflow: string;
  readonly threadId: string;
  readonly entry: Entry;
  readonly owner: Owner;
  readonly metadata: Record<string, unknown> | undefined;
}

/**
 * Opens the thread for a run.
 *
 * Rejects with `GraphThreadNotFoundError` (no such thread, or another tenant's), `GraphNotInterruptedError` (it waits for no answer),
 * `GraphError` `GRAPH_VALIDATION_ERROR` (`invoke` on another tenant's thread), and with what the checkpointer throws.
 */
export const open = async (request: OpeningRequest): Promise<Opening> => {
  const { checkpointer, workflow, threadId, entry, owner } = request;
  const writer = await openThread(checkpointer, threadId);
  const thread = writer.latest;
  const theirs = ownerIn(thread);
  const foreign = owner.tenantId !== undefined && theirs !== undefined && owner.tenantId !== theirs;
  const tenantId = owner.tenantId ?? theirs;
  const metadata = (base: Record<string, unknown> | undefined): Record<string, unknown> => ({
    ...base,
    graph: workflow,
    ...request.metadata,
    ...(owner.userId !== undefined && { userId: owner.userId }),
    ...(tenantId !== undefined && { tenantId }),
  });
  if (entry.from === "invoke") {
    if (foreign) {
      throw new GraphError(
        `Thread ${JSON.stringify(threadId)} cannot be used by this tenant: it belongs to another one. Choose another thread id.`,
        "GRAPH_VALIDATION_ERROR",
      );
    }
    const step = thread?.step ?? 0;
    const { from, input } = entry;
    return {
      writer,
      from,
      latest: undefined,
      step,
      input,
      answers: new Map(),
      metadata: metadata({}),
      tenantId,
    };
  }
  if (thread === undefined || foreign) throw new GraphThreadNotFoundError(threadId);
  const given = entry.from === "resume" ? entry.answers(waitingIn(thread)) : {};
  return {
    writer,
    from: entry.from,
    latest: thread,
    step: thread.step,
    input: undefined,
    answers: new Map(Object.entries(given)),
    metadata: metadata(thread.metadata),
    tenantId,
  };
};

const ownerIn = (thread: GraphCheckpoint | undefined): string | undefined => {
  const tenantId = thread?.metadata?.tenantId;
  return typeof tenantId === "string" ? tenantId : undefined;
};

const waitingIn = ({ threadId, status, interrupts }: GraphCheckpoint): readonly PendingInterrupt[] => {
  if (status !== "awaiting_input") throw new GraphNotInterruptedError(threadId, status);
  return interrupts;
};
