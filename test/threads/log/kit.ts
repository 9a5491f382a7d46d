/** What the tests of threads on a log share: logs that count, and a model of a thread that knows what every checkpoint has to be. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ThreadEvent } from "../../../src/events/catalogue.ts";
import { decodeThreadEvent } from "../../../src/events/codec.ts";
import type { EventLog } from "../../../src/events/event-log.ts";
import { runStream } from "../../../src/events/stream-names.ts";
import { openEventStoreLog } from "../../../src/store-eventstore/index.ts";
import { createMemoryLog } from "../../../src/store-memory/index.ts";
import { openSqliteLog } from "../../../src/store-sqlite/index.ts";
import type { CheckpointChange } from "../../../src/threads/checkpoint-writer.ts";
import type { GraphCheckpoint, PendingInterrupt } from "../../../src/threads/graph-types.ts";
import { startNode } from "../../esdb-node/node.ts";

/** `eventstore` is the real adapter and the official client against the stand-in node. */
export const STORES = ["memory", "sqlite", "eventstore"] as const;

/** A log of the test's own, closed and removed after it. */
export const openLog = async (store: (typeof STORES)[number]): Promise<EventLog> => {
  if (store === "memory") return createMemoryLog();
  if (store === "eventstore") {
    const node = await startNode();
    const log = await openEventStoreLog(node.connectionString);
    onTestFinished(async () => {
      await log.close();
      await node.stop();
    });
    return log;
  }
  const folder = mkdtempSync(join(tmpdir(), "runstream-threads-"));
  const log = openSqliteLog(join(folder, "log.db"));
  onTestFinished(async () => {
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return log;
};

export interface CountingLog extends EventLog {
  appends: number;
  /** Events handed out by `read`. */
  eventsRead: number;
}

export const counting = (inner: EventLog): CountingLog => {
  const log: CountingLog = {
    appends: 0,
    eventsRead: 0,
    append: (stream, expected, events) => {
      log.appends += 1;
      return inner.append(stream, expected, events);
    },
    async *read(stream, options) {
      for await (const event of inner.read(stream, options)) {
        log.eventsRead += 1;
        yield event;
      }
    },
    readAll: (options) => inner.readAll(options),
    subscribe: (options) => inner.subscribe(options),
    consume: (group, options) => inner.consume(group, options),
    head: () => inner.head(),
    close: () => inner.close(),
  };
  return log;
};

/** The events of a thread's stream. */
export const eventsOf = async (log: EventLog, threadId: string): Promise<ThreadEvent[]> => {
  const events: ThreadEvent[] = [];
  for await (const recorded of log.read(runStream(threadId))) {
    const decoded = decodeThreadEvent(recorded);
    if (decoded._tag === "Left") throw decoded.left;
    const { type, data } = decoded.right;
    events.push({ type, data } as ThreadEvent);
  }
  return events;
};

export const typesOf = async (log: EventLog, threadId: string): Promise<string[]> =>
  (await eventsOf(log, threadId)).map(({ type }) => type);

const WORKFLOW = "refunds";

/** A thread kept in the dear way: every checkpoint whole, in a list. */
export class ThreadModel {
  readonly threadId: string;
  checkpoints: GraphCheckpoint[] = [];
  #metadata: Record<string, unknown> = {};
  #minute = 0;

  constructor(threadId: string) {
    this.threadId = threadId;
  }

  get latest(): GraphCheckpoint | undefined {
    return this.checkpoints.at(-1);
  }

  get #now(): string {
    this.#minute += 1;
    return new Date(Date.UTC(2026, 0, 1, 0, this.#minute)).toISOString();
  }

  /** The next change of a run, `begins` where it is the run's first. */
  next(
    change: Pick<
      CheckpointChange,
      "status" | "settled" | "answers" | "begins" | "output" | "error" | "drained"
    > & {
      readonly metadata?: Record<string, unknown>;
      readonly reasons?: readonly string[];
    },
  ): CheckpointChange {
    const { status, settled, answers, begins, output, error, drained, reasons = [] } = change;
    if (begins !== undefined) this.#metadata = { graph: WORKFLOW, ...change.metadata };
    const before = begins?.from === "invoke" ? undefined : this.latest;
    const step = (this.latest?.step ?? 0) + 1;
    const createdAt = this.#now;
    const interrupts = reasons.map(
      (reason, index): PendingInterrupt => ({
        id: `${WORKFLOW}:interrupt:${index}`,
        node: WORKFLOW,
        reason,
        step: step - 1,
        index,
        requestedAt: createdAt,
      }),
    );
    const asked = new Map(interrupts.map(({ id, reason }) => [id, reason]));
    const state = before?.state as { input: unknown; steps: Record<string, unknown> } | undefined;
    const whole: GraphCheckpoint = {
      version: 2,
      id: `${this.threadId}:${step}`,
      threadId: this.threadId,
      step,
      state: {
        input: begins?.from === "invoke" ? begins.input : state?.input,
        steps: { ...state?.steps, ...(settled && { [settled.key]: settled.record }) },
        ...(output !== undefined && "value" in output && { output: output.value }),
      },
      next: status === "completed" ? [] : [WORKFLOW],
      tasks: status === "completed" ? [] : [{ id: WORKFLOW, node: WORKFLOW }],
      status,
      interrupts,
      resolved: { ...before?.resolved, ...Object.fromEntries(answers ?? []) },
      ...(before?.asked !== undefined || asked.size > 0
        ? { asked: { ...before?.asked, ...Object.fromEntries(asked) } }
        : {}),
      ...(error !== undefined && { error }),
      ...(drained !== undefined && { drained }),
      createdAt,
      metadata: this.#metadata,
    };
    this.checkpoints.push(whole);
    return {
      threadId: this.threadId,
      workflow: WORKFLOW,
      step,
      status,
      createdAt,
      metadata: this.#metadata,
      ...(begins && { begins }),
      ...(settled && { settled }),
      ...(answers && { answers }),
      ...(status === "awaiting_input" && { interrupts, asked }),
      ...(output && { output }),
      ...(error && { error }),
      ...(drained && { drained }),
      whole: () => whole,
    };
  }

  /** A checkpoint that is put whole. */
  put(checkpoint: GraphCheckpoint): GraphCheckpoint {
    this.checkpoints = [...this.checkpoints.filter(({ step }) => step < checkpoint.step), checkpoint];
    return checkpoint;
  }
}

export const settled = (key: string, value?: unknown): NonNullable<CheckpointChange["settled"]> => ({
  name: key,
  key,
  record: value === undefined ? {} : { value },
});

export const invoked = (input: unknown = { order: 1 }): NonNullable<CheckpointChange["begins"]> => ({
  from: "invoke",
  input,
});

/** As JSON has it, but for values beyond JSON: parts that are made when they are read are made. */
export const plain = <T>(value: T): T => structuredClone(value);
