/** Rebuilds a run's log from any prefix of its stream, and walks it on a log that takes nothing more. */
import { createJournal, type LogJournal } from "../../src/engine/journal/create-journal.ts";
import type { EventLog, RecordedEvent } from "../../src/events/event-log.ts";
import { runStream } from "../../src/events/stream-names.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";

const noIndex = (): never => {
  throw new Error("this test lists nothing");
};

/** A worker of its own on `log`: its own sessions, nothing shared but the log. */
export const workerOn = (log: EventLog, clock: () => number): LogJournal =>
  createJournal(log, { index: noIndex, clock });

export const streamOf = async (log: EventLog, runId: string): Promise<RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for await (const event of log.read(runStream(runId))) events.push(event);
  return events;
};

const TERMINAL = ["RunCompleted", "RunFailed", "RunCancelled"];

/** Every non-empty prefix of a stream in which the run is not over, shortest first. */
export const openPrefixes = (events: readonly RecordedEvent[]): RecordedEvent[][] => {
  const end = events.findIndex(({ type }) => TERMINAL.includes(type));
  const open = end === -1 ? events.length : end;
  return Array.from({ length: open }, (_, index) => events.slice(0, index + 1));
};

/** A log with just these events of one stream. */
export const logOf = async (events: readonly RecordedEvent[]): Promise<EventLog> => {
  const log = createMemoryLog();
  const stream = events[0]?.stream ?? "";
  await log.append(
    stream,
    "none",
    events.map(({ id, type, data, metadata }) => ({ id, type, data, metadata })),
  )();
  return log;
};

/** The same log, whose appends are never answered: what a walk is told on it, it is told of what is recorded. */
export const unanswering = (log: EventLog): EventLog => ({
  ...log,
  append: () => () => new Promise(() => {}),
});
