/**
 * An engine for tests: deliveries only queue, and are made when a test says so. The same scene stands on our own journal and on one that
 * somebody else wrote, which knows no settlement order.
 */
import { createMemoryJournal } from "../../src/embedded/memory-journal.ts";
import type { JournalStore, RunStatus } from "../../src/engine/journal-store.ts";
import type { Logger } from "../../src/engine/logger.ts";
import { createMemoryStreams, type ProgressStreams } from "../../src/engine/progress-streams.ts";
import type { AnyWorkflowDef, WorkflowContext } from "../../src/engine/workflow.ts";
import { createWorkflowEngine, type WorkflowEngine } from "../../src/engine/workflow-engine.ts";
import { createReferenceJournal } from "../reference-journal/reference-journal.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Both journals, for `describe.each`. */
export const JOURNALS: readonly (readonly [string, () => JournalStore])[] = [
  ["our journal", () => createMemoryJournal()],
  ["somebody else's journal", () => createReferenceJournal()],
];

/** The context without the compile-time demand for literal names: tests compute them. */
export interface Ctx extends Omit<WorkflowContext, "step" | "sleep"> {
  // biome-ignore lint/suspicious/noExplicitAny: a test knows what its own steps return.
  step<T = any>(
    name: string,
    fn: () => T | Promise<T>,
    options?: { maxAttempts?: number; schema?: unknown; optimistic?: boolean },
  ): Promise<T>;
  sleep(label: string, until: number | Date, options?: { correlationId?: string }): Promise<void>;
}

export type Body = (ctx: Ctx, input: Record<string, unknown>) => unknown;

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: Record<string, unknown>;
}

/** A logger that remembers. */
export const recordingLogger = (): Logger & { readonly lines: LogLine[] } => {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine["level"]) =>
    (message: string, fields: Record<string, unknown> = {}): void => {
      lines.push({ level, message, fields });
    };
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
};

export interface SceneOptions {
  readonly journal?: JournalStore;
  readonly dispatch?: (runId: string, at?: number) => void | Promise<void>;
  readonly stepConcurrency?: number;
  readonly clock?: () => number;
  readonly workflows?: Record<string, AnyWorkflowDef>;
  readonly output?: unknown;
  readonly streams?: ProgressStreams;
  readonly runId?: string;
}

export interface Scene {
  readonly engine: WorkflowEngine;
  readonly journal: JournalStore;
  readonly streams: ProgressStreams;
  readonly log: readonly LogLine[];
  /** The arguments of every call of the dispatcher. */
  readonly dispatched: unknown[][];
  /** Starts a run of the scene's body, without a delivery. */
  start(input?: Record<string, unknown>): Promise<string>;
  /** Starts a run and delivers it once. */
  run(input?: Record<string, unknown>): Promise<{ runId: string; status: RunStatus | undefined }>;
  keys(runId: string): Promise<string[]>;
  errorOf(runId: string): Promise<string | undefined>;
}

/** A workflow called `job` whose body is `body`, on an engine over `options.journal`. */
export const scene = (body: Body, options: SceneOptions = {}): Scene => {
  const journal = options.journal ?? createMemoryJournal();
  const logger = recordingLogger();
  const dispatched: unknown[][] = [];
  const streams = options.streams ?? createMemoryStreams();
  const job = {
    run: (input: Record<string, unknown>, ctx: WorkflowContext) => body(ctx as unknown as Ctx, input),
    ...(options.output !== undefined && { output: options.output }),
  } as AnyWorkflowDef;
  const engine = createWorkflowEngine({
    workflows: options.workflows ?? { job },
    journal,
    streams,
    logger,
    dispatch: (...args: [string, number?]) => {
      dispatched.push(args);
      return options.dispatch?.(...args);
    },
    ...(options.stepConcurrency !== undefined && { stepConcurrency: options.stepConcurrency }),
    ...(options.clock !== undefined && { clock: options.clock }),
    ...(options.runId !== undefined && { newRunId: () => options.runId as string }),
  });
  const start: Scene["start"] = (input = {}) => engine.start("job", [input]);
  return {
    engine,
    journal,
    streams,
    log: logger.lines,
    dispatched,
    start,
    async run(input) {
      const runId = await start(input);
      return { runId, status: await engine.execute(runId) };
    },
    keys: async (runId) => (await journal.readSteps(runId)).map((entry) => entry.key),
    errorOf: async (runId) => (await engine.getRun(runId))?.error?.message,
  };
};

/** A promise, and what settles it. */
export const deferred = <T = void>() => {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
};

/** Lets everything that needs no time go on, `turns` times. */
export const turns = async (count = 8): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise((next) => setImmediate(next));
};

/** What becomes of `promise` within a number of turns: a test that would hang says so. */
export const soon = async <T>(promise: Promise<T>, what = "it", count = 200): Promise<T> => {
  const hung = turns(count).then(() => {
    throw new Error(`${what} is still pending after ${count} turns`);
  });
  return Promise.race([promise, hung]);
};
