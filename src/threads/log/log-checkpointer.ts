/**
 * `logCheckpointer`: threads on an EventLog. There is no second record: what a run says is appended to the thread's stream as facts, and
 * a checkpoint is what the fold of a prefix says.
 *
 * Not here: the facts of a change (thread-facts), the stream (thread-stream), checkpoints as objects (checkpoint-view).
 *
 * Invariants:
 * - K1 A change is one append, together with the changes that gathered while the one before it was under way. A step costs one append.
 * - K2 A run writes only onto what it has read: where somebody else has written meanwhile, it is told, and nothing is overwritten.
 * - K3 Nothing is ever deleted. A checkpoint that is put under a number takes back those from that number on, for readers; the facts
 *   stay.
 */
import type { EventLog } from "../../events/event-log.ts";
import { StoreError } from "../../events/store-error.ts";
import { RUN_PREFIX, runIdOf } from "../../events/stream-names.ts";
import { checkpointAt, type ThreadCheckpoint } from "../../projections/thread-state.ts";
import { type ChangeCheckpointer, type CheckpointChange, OPEN_THREAD } from "../checkpoint-writer.ts";
import type { GraphCheckpoint, GraphCheckpointer } from "../graph-types.ts";
import { viewCheckpoint } from "./checkpoint-view.ts";
import { createFoldedThreads } from "./folded-threads.ts";
import { ThreadConflictError } from "./thread-conflict-error.ts";
import { factOfWhole, factsOf } from "./thread-facts.ts";
import type { ThreadStream } from "./thread-stream.ts";

/** A checkpointer whose methods all answer promises, and which can say what threads there are. */
export interface LogCheckpointer extends GraphCheckpointer {
  /**
   * Records a checkpoint made elsewhere, whole, whatever the thread is by then; those from its number on are taken back.
   *
   * @throws TypeError for a step or status that no checkpoint has, PayloadError for a value that cannot be stored, StoreError.
   */
  put(checkpoint: GraphCheckpoint): Promise<void>;
  /** @throws StoreError */
  get(threadId: string, step?: number): Promise<GraphCheckpoint | undefined>;
  /** The newest first. `limit` defaults to 20. @throws StoreError */
  history(threadId: string, limit?: number): Promise<GraphCheckpoint[]>;
  /** Every thread in the log, in the order in which they began. Reads the log from its beginning. @throws StoreError */
  threadIds(): Promise<string[]>;
}

/**
 * Keeps threads in `log`, one stream a thread, beside the runs of the engine; a thread's id must not be a run's. The log stays yours to
 * close. Folded threads are kept in memory: 512 of them, half a million events in all.
 *
 * A run whose thread another worker has carried on meanwhile fails with {@link ThreadConflictError}.
 */
export const logCheckpointer = (log: EventLog): LogCheckpointer => {
  const threads = createFoldedThreads(log);

  const checkpointer: LogCheckpointer & ChangeCheckpointer = {
    async put(checkpoint) {
      const fact = factOfWhole(checkpoint, () => Date.now());
      const thread = threads.get(checkpoint.threadId);
      for (;;) {
        const { revision } = await thread.current();
        try {
          await thread.append(revision, [fact]);
          return;
        } catch (error) {
          // It replaces what there is, whatever that is: decided again on what came between.
          if (!ThreadConflictError.is(error)) throw error;
        }
      }
    },

    async get(threadId, step) {
      const place = checkpointAt(await threads.get(threadId).current(), step);
      return place === undefined ? undefined : viewCheckpoint(threadId, place);
    },

    async history(threadId, limit = DEFAULT_HISTORY) {
      const { checkpoints } = await threads.get(threadId).current();
      return newest(checkpoints, limit).map((place) => viewCheckpoint(threadId, place));
    },

    async threadIds() {
      const ids = new Set<string>();
      const filter = { streamPrefix: RUN_PREFIX, types: ["ThreadStarted", "ThreadCheckpointPut"] };
      for await (const { stream } of log.readAll({ filter })) ids.add(runIdOf(stream) as string);
      return [...ids];
    },

    async [OPEN_THREAD](threadId) {
      const thread = threads.get(threadId);
      const state = await thread.current();
      const place = checkpointAt(state);
      let { revision } = state;
      return {
        latest: place === undefined ? undefined : viewCheckpoint(threadId, place),
        async write(changes) {
          revision = await record(thread, revision, changes);
        },
      };
    },
  };
  return checkpointer;
};

const DEFAULT_HISTORY = 20;

const newest = (checkpoints: readonly ThreadCheckpoint[], limit: number): ThreadCheckpoint[] =>
  checkpoints.slice(Math.max(0, checkpoints.length - Math.max(0, limit))).reverse();

/** All changes in one append; in two or more where the store does not take so much at once. */
const record = async (
  thread: ThreadStream,
  revision: number,
  changes: readonly CheckpointChange[],
): Promise<number> => {
  try {
    return await thread.append(revision, changes.flatMap(factsOf));
  } catch (error) {
    if (changes.length < 2 || !StoreError.is(error) || error.error._tag !== "TooLarge") throw error;
    const half = Math.ceil(changes.length / 2);
    return record(thread, await record(thread, revision, changes.slice(0, half)), changes.slice(half));
  }
};
