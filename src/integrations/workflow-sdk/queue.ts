/**
 * The sending half of the queue: a message is an event in its run's queue stream, so it is as durable as the run.
 *
 * Not here: who delivers it and when (deliveries.ts).
 */

import type { SdkQueueEvent } from "../../events/sdk-queue.ts";
import { sdkQueueStream } from "../../events/stream-names.ts";
import type { QueueOptions, QueuePayload } from "../../executor/world.ts";
import { WorkflowWorldError } from "../../executor/world-errors.ts";
import { messageToStored } from "./event-form.ts";
import { newMessageId } from "./ids.ts";
import { decideSend, type QueueState } from "./queue-fold.ts";
import type { SessionPool } from "./session-pool.ts";
import { queueKind } from "./transport.ts";

export type Queues = SessionPool<QueueState, SdkQueueEvent>;

/** Sends a message; answers its id, or that of the pending one that has the same key. Throws for a queue that the SDK does not make. */
export const sendMessage = async (
  queues: Queues,
  queue: string,
  message: QueuePayload,
  { idempotencyKey, headers, delaySeconds = 0 }: QueueOptions,
  now: number,
): Promise<string> => {
  if (queueKind(queue) === undefined)
    throw new WorkflowWorldError(
      `There is no queue ${JSON.stringify(queue)}: names begin with __wkf_workflow_ or __wkf_step_.`,
      { status: 400 },
    );
  const session = queues.get(sdkQueueStream(ownerOf(message)));
  return session.propose(
    decideSend({
      messageId: newMessageId(now),
      queue,
      message: messageToStored(message),
      ...(idempotencyKey !== undefined && { key: idempotencyKey }),
      ...(headers !== undefined && { headers }),
      at: now,
      deliverAt: now + Math.max(0, delaySeconds) * 1_000,
    }),
    { creates: true },
  );
};

/** Whose queue a message belongs in: its run's. */
const ownerOf = (message: QueuePayload): string => {
  if ("runId" in message) return message.runId;
  return "workflowRunId" in message ? message.workflowRunId : message.correlationId;
};
