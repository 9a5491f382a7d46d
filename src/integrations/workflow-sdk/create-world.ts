/**
 * The World: Runstream as the storage, queue and streams of the Workflow SDK, at spec version 5.
 *
 * This is a composition root: it decides nothing itself. The store is opened at the first use, so that a build which only asks for the
 * queue's handler makes no file.
 */
import type { EventLog } from "../../events/event-log.ts";
import type { SdkChunkEvent } from "../../events/sdk-chunks.ts";
import type { SdkQueueEvent } from "../../events/sdk-queue.ts";
import { SPEC_VERSION } from "../../executor/spec-version.ts";
import type { World } from "../../executor/world.ts";
import type { WorkflowRun } from "../../executor/world-entities.ts";
import type { Event } from "../../executor/world-events.ts";
import { openRunIndex, type RunIndex } from "../../projections/run-index.ts";
import { type ChunksState, chunkFold } from "./chunk-fold.ts";
import { type Deliveries, startDeliveries } from "./deliveries.ts";
import { newUlid } from "./ids.ts";
import { openStore } from "./open-store.ts";
import { sendMessage } from "./queue.ts";
import { type QueueState, queueFold } from "./queue-fold.ts";
import { type SdkRunState, sdkRunFold } from "./run-fold.ts";
import { createSessionPool, type SessionPool } from "./session-pool.ts";
import { keyOfRun, type Settings, settingsOf, type WorldOptions } from "./settings.ts";
import { createStorage } from "./storage.ts";
import { createStreamer } from "./streamer.ts";
import { createQueueHandler, createTransport } from "./transport.ts";

/** A World of the Workflow SDK that keeps everything in an EventLog. `MessageId` is how the SDK at hand spells the ids of messages. */
export interface RunstreamWorld<MessageId extends string = string> extends World<MessageId> {
  /** It answers 412 to a write that rests on a view older than what a hook has received. */
  readonly capabilities: { readonly preconditionGuard: true };
  /** Takes messages and delivers them; before that, sends those that a crash kept from being sent. Idempotent. */
  start(): Promise<void>;
  /** Stops delivering, waits up to 5 s for what is under way, and closes the store unless it was given. Idempotent. */
  close(): Promise<void>;
  createRunId(): string;
}

interface Opened {
  readonly log: EventLog;
  readonly runs: SessionPool<SdkRunState, Event>;
  readonly queues: SessionPool<QueueState, SdkQueueEvent>;
  readonly chunks: SessionPool<ChunksState, SdkChunkEvent>;
  /** Opened at the first question. */
  readonly index: () => RunIndex;
  close(): Promise<void>;
}

const GRACE_MS = 5_000;

const openedOn = (log: EventLog, { store, index: path, clock }: Settings): Opened => {
  let index: RunIndex | undefined;
  return {
    log,
    runs: createSessionPool(log, sdkRunFold),
    queues: createSessionPool(log, queueFold),
    chunks: createSessionPool(log, chunkFold),
    index: () => {
      index ??= openRunIndex(log, { path, clock });
      return index;
    },
    async close() {
      await index?.close();
      if (typeof store === "string") await log.close();
    },
  };
};

/**
 * Makes a World for the Workflow SDK: name this package's `runstream/workflow-sdk` as its target world, or hand the result to `setWorld`.
 *
 * Every option may come from the environment. Nothing is opened before the first use, and nothing is delivered before `start`.
 * @throws RangeError for an encryption key that is not 32 bytes, a concurrency below 1, and a durability that there is not.
 */
export const createWorld = <MessageId extends string = string>(
  options: WorldOptions = {},
): RunstreamWorld<MessageId> => {
  const settings = settingsOf(options, process.env);
  const { clock, encryptionKey, logger } = settings;
  const transport = createTransport(settings.baseUrl);
  let opened: Promise<Opened> | undefined;
  let started: Promise<Deliveries> | undefined;
  let closed: Promise<void> | undefined;

  const open = (): Promise<Opened> => {
    if (closed !== undefined)
      return Promise.reject(new Error("This World is closed. Make another one with createWorld()."));
    opened ??= openStore(settings.store, settings.durability).then((log) => openedOn(log, settings));
    // An opening that failed is tried again: the file may be there next time.
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };

  const begin = async (): Promise<Deliveries> => {
    const { log, index, queues } = await open();
    // Messages that were sent are in the log until they are done. What a crash leaves behind is a run that was created, or that received
    // something, right before the message about it would have been sent.
    const owed = await index().sdk.owed();
    for (const { runId, workflow } of owed)
      await sendMessage(queues, settings.workflowQueue(workflow), { runId }, {}, clock());
    if (owed.length > 0)
      logger.info("Runs that no message was on its way to were sent one", { runs: owed.length });
    const { group, concurrency } = settings;
    return startDeliveries({ log, queues, transport, group, concurrency, clock, logger });
  };

  const end = async (): Promise<void> => {
    const deliveries = await started?.catch(() => undefined);
    await deliveries?.stop(GRACE_MS);
    transport.close();
    await (await opened?.catch(() => undefined))?.close();
  };

  return {
    specVersion: SPEC_VERSION,
    capabilities: { preconditionGuard: true },
    ...createStorage({ open, clock }),
    ...createStreamer({ open, clock }),
    getDeploymentId: async () => settings.deploymentId,
    async queue(name, message, queueOptions = {}) {
      const { queues } = await open();
      return { messageId: (await sendMessage(queues, name, message, queueOptions, clock())) as MessageId };
    },
    createQueueHandler: createQueueHandler as World<MessageId>["createQueueHandler"],
    createRunId: () => newUlid(clock()),
    ...(encryptionKey !== undefined && {
      getEncryptionKeyForRun: async (run: WorkflowRun | string) =>
        keyOfRun(encryptionKey, typeof run === "string" ? run : run.runId),
    }),
    async start() {
      started ??= begin();
      started.catch(() => {
        started = undefined;
      });
      await started;
    },
    close() {
      closed ??= end();
      return closed;
    },
  };
};
