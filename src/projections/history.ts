/**
 * A run's history, or a thread's: its events, decoded, in order; and what it was at any revision (time travel), which is the fold of a
 * prefix.
 *
 * Not here: the folds (run-state, thread-state), how a history reads to people (timeline, event-line).
 */
import type { Either } from "fp-ts/lib/Either.js";
import type { HistoryEvent } from "../events/catalogue.ts";
import {
  decodeHistoryEvent,
  decodeRunEvent,
  decodeThreadEvent,
  type EventDecodeError,
} from "../events/codec.ts";
import type { EventLog, Position, RecordedEvent } from "../events/event-log.ts";
import { StoreError } from "../events/store-error.ts";
import { runStream } from "../events/stream-names.ts";
import { emptyRun, evolve, type RunState } from "./run-state.ts";
import { emptyThread, evolveThread, type ThreadState } from "./thread-state.ts";

/**
 * One fact of a run or a thread. `recordedAt` is the store's clock in epoch milliseconds, for people; what the run goes by is in
 * `event`.
 */
export interface HistoryEntry<E extends HistoryEvent = HistoryEvent> {
  readonly id: string;
  readonly revision: number;
  readonly position: Position;
  readonly recordedAt: number;
  readonly event: E;
}

export interface HistoryOptions {
  /** First revision wanted, inclusive. Default 0. */
  readonly from?: number;
  /** Last revision wanted, inclusive. Default: the last there is when the read reaches it. */
  readonly upTo?: number;
}

/**
 * The events of a run or a thread in order; nothing for an unknown one.
 *
 * @throws StoreError (while iterating) `Corrupt`, naming run and revision, at an event that this version cannot read; or the log's own.
 * @throws RangeError (while iterating) for a revision that is not a whole number of 0 or more.
 */
export const readHistory = (
  log: EventLog,
  runId: string,
  options: HistoryOptions = {},
): AsyncGenerator<HistoryEntry, void, undefined> => readDecoded(log, runId, decodeHistoryEvent, options);

/**
 * The run as it was right after the event at `revision`; past the end, as it is now. `undefined` for an unknown run.
 *
 * @throws StoreError as {@link readHistory} does, for an event at or before `revision`; and for a thread.
 * @throws RangeError for a revision that is not a whole number of 0 or more.
 */
export const stateAt = async (
  log: EventLog,
  runId: string,
  revision: number,
): Promise<RunState | undefined> => {
  const state = emptyRun();
  for await (const { event, revision: at } of readDecoded(log, runId, decodeRunEvent, { upTo: revision }))
    evolve(state, event, at);
  return state.revision === -1 ? undefined : state;
};

/**
 * The thread as it was right after the event at `revision` (default: as it is now). `undefined` for an unknown thread.
 *
 * @throws StoreError as {@link readHistory} does, for an event at or before `revision`; and for a run.
 * @throws RangeError for a revision that is not a whole number of 0 or more.
 */
export const threadStateAt = async (
  log: EventLog,
  threadId: string,
  revision?: number,
): Promise<ThreadState | undefined> => {
  const state = emptyThread();
  const range = revision === undefined ? {} : { upTo: revision };
  for await (const { event, revision: at } of readDecoded(log, threadId, decodeThreadEvent, range))
    evolveThread(state, event, at);
  return state.revision === -1 ? undefined : state;
};

async function* readDecoded<E extends HistoryEvent>(
  log: EventLog,
  runId: string,
  decode: (recorded: RecordedEvent) => Either<EventDecodeError, E>,
  { from = 0, upTo }: HistoryOptions,
): AsyncGenerator<HistoryEntry<E>, void, undefined> {
  checkRevision("from", from);
  if (upTo !== undefined) checkRevision("upTo", upTo);
  const max = upTo === undefined ? undefined : upTo - from + 1;
  if (max !== undefined && max <= 0) return;
  for await (const recorded of log.read(runStream(runId), { from, ...(max === undefined ? {} : { max }) })) {
    const decoded = decode(recorded);
    if (decoded._tag === "Left") throw unreadable(runId, recorded.revision, decoded.left);
    const { type, data } = decoded.right;
    yield {
      id: recorded.id,
      revision: recorded.revision,
      position: recorded.position,
      recordedAt: recorded.recordedAt,
      event: { type, data } as E,
    };
  }
}

const checkRevision = (name: string, revision: number): void => {
  if (!Number.isSafeInteger(revision) || revision < 0)
    throw new RangeError(`${name} is ${revision}; a revision is a whole number of 0 or more.`);
};

const unreadable = (runId: string, revision: number, cause: Error): StoreError => {
  const reason = `The history of run ${JSON.stringify(runId)} cannot be read at revision ${revision}: ${cause.message}`;
  return StoreError.corrupt(reason, cause);
};
