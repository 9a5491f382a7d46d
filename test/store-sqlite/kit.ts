/** What the tests of the SQLite log share: a folder for their files, events, and processes of their own. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach } from "vitest";
import type {
  AppendError,
  Appended,
  EventData,
  EventLog,
  ExpectedRevision,
} from "../../src/events/event-log.ts";
import type { JsonObject } from "../../src/events/json.ts";
import { openSqliteLog, type SqliteLogOptions } from "../../src/store-sqlite/index.ts";

export const event = (type = "Happened", data: JsonObject = {}): EventData => ({
  id: randomUUID(),
  type,
  data,
  metadata: {},
});

/** A folder of the test file's own. Logs opened with `open` are closed after each test. */
export const testFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "runstream-sqlite-"));
  const opened: EventLog[] = [];
  const processes: ChildProcess[] = [];
  let files = 0;
  afterEach(async () => {
    for (const child of processes.splice(0)) child.kill("SIGKILL");
    for (const log of opened.splice(0)) await log.close();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return {
    folder,
    path: (): string => {
      files += 1;
      return join(folder, `log-${files}.db`);
    },
    open: (path: string, options?: SqliteLogOptions): EventLog => {
      const log = openSqliteLog(path, options);
      opened.push(log);
      return log;
    },
    /** Runs `script` (beside this file) in a process of its own; `lines` are what it says. */
    start: (script: string, args: readonly string[], options: { uid?: number; shell?: string } = {}) => {
      const command = [process.execPath, "--no-warnings", join(import.meta.dirname, script), ...args];
      const child =
        options.shell === undefined
          ? spawn(command[0]!, command.slice(1), {
              stdio: ["ignore", "pipe", "inherit"],
              ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
            })
          : spawn("sh", ["-c", `${options.shell}; exec "$@"`, "sh", ...command], {
              stdio: ["ignore", "pipe", "inherit"],
            });
      processes.push(child);
      const gone = once(child, "exit");
      return { child, gone, lines: createInterface({ input: child.stdout! })[Symbol.asyncIterator]() };
    },
  };
};

export const put = async (
  log: EventLog,
  stream: string,
  expected: ExpectedRevision,
  ...events: EventData[]
): Promise<Appended | AppendError> => {
  const answer = await log.append(stream, expected, events)();
  return answer._tag === "Right" ? answer.right : answer.left;
};

export const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

/** Resolves once `holds` answers true; looks again in every turn of the event loop. */
export const until = async (what: string, holds: () => boolean, deadlineMs = 8_000): Promise<void> => {
  const end = performance.now() + deadlineMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`still waiting for ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
};
