/** What the tests of projections share: a memory log, and events put into it as the engine would. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { RunCreated, RunEvent } from "../../src/events/catalogue.ts";
import { encodeEvent } from "../../src/events/codec.ts";
import type { EventData, EventLog, Position } from "../../src/events/event-log.ts";
import { runStream } from "../../src/events/stream-names.ts";

/** Appends to a run's stream; answers the position of the last event. */
export const put = async (
  log: EventLog,
  runId: string,
  ...events: readonly (RunEvent | EventData)[]
): Promise<Position> => {
  const encoded = events.map((event) => ("metadata" in event ? event : encodeEvent(event)));
  const appended = await log.append(runStream(runId), "any", encoded)();
  if (appended._tag === "Left") throw new Error(`append failed: ${appended.left._tag}`);
  return appended.right.position;
};

export const created = (
  workflow = "orders",
  createdAt = 1_000,
  more: Partial<RunCreated["data"]> = {},
): RunCreated => ({
  type: "RunCreated",
  data: { workflow, createdAt, ...more },
});
export const started = (at = 2_000): RunEvent => ({ type: "RunStarted", data: { at } });
export const completed = (at = 9_000): RunEvent => ({ type: "RunCompleted", data: { at } });
export const failed = (message = "boom", at = 9_000): RunEvent => ({
  type: "RunFailed",
  data: { error: { message }, at },
});
export const cancelled = (at = 9_000): RunEvent => ({ type: "RunCancelled", data: { at } });
export const asleep = (
  key: string,
  wakeAt: number,
  kind: "sleep" | "hookTimeout" = "sleep",
  correlationId?: string,
): RunEvent => ({
  type: "SleepScheduled",
  data: { key, wakeAt, kind, at: 3_000, ...(correlationId === undefined ? {} : { correlationId }) },
});
export const elapsed = (key: string, at = 4_000): RunEvent => ({ type: "SleepElapsed", data: { key, at } });
export const woken = (key: string, at = 4_000): RunEvent => ({ type: "SleepWoken", data: { key, at } });
export const opened = (key: string, token: string, at = 3_000): RunEvent => ({
  type: "HookOpened",
  data: { key, token, at },
});
export const delivered = (key: string, at = 5_000): RunEvent => ({
  type: "HookDelivered",
  data: { key, at },
});
export const closed = (key: string, at = 5_000): RunEvent => ({ type: "HookClosed", data: { key, at } });

/** The same event as a version would write it that nobody here knows. */
export const ofNewerVersion = (event: RunEvent): EventData => ({
  ...encodeEvent(event),
  metadata: { v: 999 },
});

/** A path in a directory of the test's own. */
export const temporaryPath = (name = "index.db"): string => {
  const directory = mkdtempSync(join(tmpdir(), "run-index-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, name);
};

export const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};
