/**
 * What a checkpoint consists of, as facts of the thread's stream: of a change that a run says, and of a checkpoint put whole.
 *
 * Invariant: the last fact of a change carries the checkpoint's number, and no other fact of it does.
 */
import type { ThreadEvent } from "../../events/catalogue.ts";
import { encodePayload, type Payload } from "../../events/payload.ts";
import { formatPath } from "../../events/payload-error.ts";
import type { CheckpointChange } from "../checkpoint-writer.ts";
import type { GraphCheckpoint, GraphStatus, StoredGraphCheckpoint } from "../graph-types.ts";

/** @throws PayloadError for a value that cannot be stored, with its place. */
export const factsOf = (change: CheckpointChange): readonly ThreadEvent[] => {
  const at = Date.parse(change.createdAt);
  const answers = [...(change.answers ?? [])].map(
    ([id, answer]): ThreadEvent => ({
      type: "ThreadAnswered",
      data: { id, ...payload("answer", answer, formatPath("answers", [id])), at },
    }),
  );
  // Answers are to a thread that waits: who starts one over gives none.
  return [...answers, ...beginningOf(change, at), ...endOf(change, at)];
};

/** The one fact of a checkpoint that was made elsewhere. `now` dates it where it bears no date. */
export const factOfWhole = (checkpoint: StoredGraphCheckpoint, now: () => number): ThreadEvent => {
  const { threadId, step, status, metadata, next, createdAt } = checkpoint;
  if (!Number.isSafeInteger(step) || step < 0) throw refused(threadId, `its step is ${String(step)}`);
  if (!STATUSES.includes(status)) throw refused(threadId, `its status is ${JSON.stringify(status)}`);
  const at = Date.parse(createdAt);
  const workflow = metadata?.graph ?? next[0];
  return {
    type: "ThreadCheckpointPut",
    data: {
      checkpoint: step,
      workflow: typeof workflow === "string" ? workflow : "",
      status,
      // Spread, because a checkpoint may make its parts only when they are read.
      value: encodePayload({ ...checkpoint, state: { ...checkpoint.state } }, "checkpoint") as Payload,
      ...tenantOf(metadata),
      at: Number.isNaN(at) ? now() : at,
    },
  };
};

const STATUSES: readonly GraphStatus[] = ["running", "awaiting_input", "completed", "failed", "interrupted"];

const refused = (threadId: string, why: string): TypeError =>
  new TypeError(
    `A checkpoint of thread ${JSON.stringify(threadId)} cannot be put: ${why}. A checkpoint has a number of 0 or more as its step, and one of the statuses ${STATUSES.join(", ")}.`,
  );

const beginningOf = (change: CheckpointChange, at: number): ThreadEvent[] => {
  const { begins, workflow, metadata, status, settled, step } = change;
  if (begins === undefined) return [];
  const data = {
    workflow,
    ...payload("metadata", metadata, "metadata"),
    ...tenantOf(metadata),
    ...(status === "running" && settled === undefined && { checkpoint: step }),
    at,
  };
  return begins.from === "invoke"
    ? [{ type: "ThreadStarted", data: { ...data, ...payload("input", begins.input, "input") } }]
    : [{ type: "ThreadContinued", data }];
};

const endOf = (change: CheckpointChange, at: number): ThreadEvent[] => {
  const { status, step: checkpoint, settled, interrupts = [], asked, output, error, drained } = change;
  switch (status) {
    case "running": {
      if (settled === undefined) return [];
      const { key, record } = settled;
      const { recovered } = record;
      const result = payload("output", record.value, formatPath("steps", [key]));
      return [
        {
          type: "ThreadStepSettled",
          data: { checkpoint, key, ...result, ...(recovered !== undefined && { recovered }), at },
        },
      ];
    }
    case "awaiting_input":
      return [
        ...interrupts.map((question): ThreadEvent => {
          const knownBy = asked?.get(question.id);
          return {
            type: "ThreadQuestionAsked",
            data: {
              id: question.id,
              question: encodePayload(question, formatPath("interrupts", [question.id])) as Payload,
              ...(knownBy !== undefined && { knownBy }),
              at: Date.parse(question.requestedAt),
            },
          };
        }),
        { type: "ThreadPaused", data: { checkpoint, at } },
      ];
    case "interrupted":
      return [
        { type: "ThreadInterrupted", data: { checkpoint, ...(drained !== undefined && { drained }), at } },
      ];
    case "failed":
      return [{ type: "ThreadFailed", data: { checkpoint, error: error ?? UNKNOWN_ERROR, at } }];
    case "completed":
      return [
        { type: "ThreadCompleted", data: { checkpoint, ...payload("output", output?.value, "output"), at } },
      ];
    default:
      return status satisfies never;
  }
};

const UNKNOWN_ERROR = { name: "Error", message: "" };

/** A payload field, absent for `undefined`. */
const payload = <F extends string>(
  field: F,
  value: unknown,
  root: string,
): { readonly [K in F]?: Payload } => {
  const encoded = encodePayload(value, root);
  return (encoded === undefined ? {} : { [field]: encoded }) as { readonly [K in F]?: Payload };
};

const tenantOf = (metadata: GraphCheckpoint["metadata"]): { readonly tenant?: string } =>
  typeof metadata?.tenantId === "string" ? { tenant: metadata.tenantId } : {};
