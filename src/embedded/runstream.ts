/**
 * Runstream on one machine: a log, its run index, the engine and, when asked to work, the delivery pipeline and the timers, put together.
 *
 * This is a composition root: it decides nothing itself. `openRunstream` alone reads and writes runs; `work` makes the process a worker.
 */
import { startDeliveries } from "../engine/deliveries.ts";
import { createJournal } from "../engine/journal/create-journal.ts";
import { type Logger, silentLogger } from "../engine/logger.ts";
import { createMemoryStreams } from "../engine/progress-streams.ts";
import { DEFAULT_WORKER_STEP_CONCURRENCY, stepConcurrencyFrom } from "../engine/step-gate.ts";
import { startTimers } from "../engine/timers.ts";
import type { AnyWorkflowDef } from "../engine/workflow.ts";
import { createWorkflowEngine } from "../engine/workflow-engine.ts";
import type { EventLog } from "../events/event-log.ts";
import { openRunIndex, type RunIndex } from "../projections/run-index.ts";
import { openSqliteLog } from "../store-sqlite/index.ts";
import { createClient, type RunstreamClient } from "./client.ts";
import { keepAlive } from "./keep-alive.ts";
import { RequestError } from "./request-error.ts";
import { type PayloadOptions, sealedLog } from "./sealed-log.ts";

export interface RunstreamOptions {
  /** A file (made when it does not exist), `":memory:"`, or any EventLog, which is then closed by its owner and not by `stop`. */
  readonly store: string | EventLog;
  /** The workflows this process knows, by the key that identifies them. Needed to start and to work, not to read. */
  readonly workflows?: Readonly<Record<string, AnyWorkflowDef>>;
  /** The run index's file. Default: `<store>-index` beside a store file, else in memory. It may be deleted at any time. */
  readonly index?: string;
  /** `"full"` (default): an acknowledged fact is on the disk. `"normal"`: a power cut may lose the last moments. Files only. */
  readonly durability?: "full" | "normal";
  /**
   * The group of workers that share the runs. All of them must declare the same workflows: a run that reached a worker which does not
   * declare its workflow waits, and is said to its logger, until that worker stops. Default `"runstream"`.
   */
  readonly group?: string;
  /** Walks at once in this worker, a whole number of 1 or more. Default 256. */
  readonly concurrency?: number;
  /** Step bodies at once in this worker. Default 128, or `RUNSTREAM_STEP_CONCURRENCY`. */
  readonly stepConcurrency?: number;
  /** How the payloads of runs are stored: compressed, or encrypted with a key of each run. Default: plain JSON. */
  readonly payloads?: PayloadOptions;
  readonly logger?: Logger;
  /** Epoch milliseconds. Default: `Date.now` as it is at the call. */
  readonly clock?: () => number;
}

export interface Runstream extends RunstreamClient {
  /** Payloads are sealed and opened as `payloads` says. */
  readonly log: EventLog;
  readonly index: RunIndex;
  /**
   * Makes this process a worker: it walks the runs it gets a share of and wakes the sleeping ones. It keeps the process alive until
   * `stop`. Idempotent. Throws `RequestError` (`Stopped`) after `stop`.
   */
  work(): void;
  /** Walks under way in this process. */
  readonly walking: number;
  /**
   * Drains and closes: no further walk begins, walks under way get `graceMs` (default 5,000) to end and are aborted then, and what is
   * left goes to other workers. Whoever waits for a `result` meanwhile is refused at the end. Idempotent: the first call's grace counts.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

const DEFAULT_GRACE_MS = 5_000;
const DEFAULT_CONCURRENCY = 256;

/** Throws `StoreError` where the store or the run index cannot be opened, and `RequestError` (`InvalidInput`) for a wrong option. */
export const openRunstream = (options: RunstreamOptions): Runstream => {
  const { workflows = {}, group = "runstream", logger = silentLogger, clock = () => Date.now() } = options;
  checkStore(options.store);
  checkWorkflows(workflows);
  checkPayloads(options.payloads);
  const concurrency = atLeastOne("concurrency", options.concurrency ?? DEFAULT_CONCURRENCY);
  if (options.stepConcurrency !== undefined) atLeastOne("stepConcurrency", options.stepConcurrency);
  const store = openLog(options);
  const log = options.payloads === undefined ? store : sealedLog(store, options.payloads);
  // What needs no payload reads the store itself, and asks for no keys.
  const index = openIndex(store, options, clock);
  const journal = createJournal(log, { index: () => index, clock });
  const engine = createWorkflowEngine({
    workflows,
    journal,
    streams: createMemoryStreams(),
    // Facts in the log cause the deliveries, here and in other processes: nobody has to ask for one.
    dispatch: () => {},
    stepConcurrency:
      options.stepConcurrency ?? stepConcurrencyFrom(process.env, DEFAULT_WORKER_STEP_CONCURRENCY),
    undeclared: "leave",
    logger,
    clock,
  });
  const client = createClient({ log, store, index, journal, engine, workflows, logger, clock });

  let working: { stop(graceMs: number): Promise<void>; readonly walking: number } | undefined;
  let stopping: Promise<void> | undefined;

  const close = async (graceMs: number): Promise<void> => {
    try {
      await working?.stop(graceMs);
    } finally {
      client.close();
      try {
        await index.close();
      } finally {
        if (typeof options.store === "string") await store.close();
      }
    }
  };

  return {
    ...client,
    log,
    index,
    work() {
      if (stopping !== undefined)
        throw new RequestError("Stopped", "This Runstream was stopped. Open the store again to work.");
      if (working !== undefined) return;
      const deliveries = startDeliveries({
        log: store,
        group,
        execute: engine.execute,
        // A log that cannot be read now is the walk's own matter, at its next append.
        look: (runId) =>
          void journal.sessions
            .get(runId)
            .current()
            .catch(() => {}),
        abortWalks: engine.abortWalks,
        concurrency,
        logger,
      });
      const timers = startTimers({ log: store, index, sessions: journal.sessions, clock, logger });
      const alive = keepAlive();
      working = {
        async stop(graceMs) {
          try {
            await Promise.all([timers.stop(), deliveries.stop(graceMs)]);
          } finally {
            alive.end();
          }
        },
        get walking() {
          return deliveries.walking;
        },
      };
    },
    get walking() {
      return working?.walking ?? 0;
    },
    stop({ graceMs = DEFAULT_GRACE_MS } = {}) {
      stopping ??= close(graceMs);
      return stopping;
    },
  };
};

/** A log of ours does not stay open when the index beside it cannot be opened. */
const openIndex = (log: EventLog, options: RunstreamOptions, clock: () => number): RunIndex => {
  try {
    return openRunIndex(log, { path: indexPath(options), clock });
  } catch (error) {
    if (typeof options.store === "string") void log.close();
    throw error;
  }
};

const checkStore = (store: unknown): void => {
  if (typeof store === "string" && store !== "") return;
  if (
    typeof store === "object" &&
    store !== null &&
    typeof (store as Partial<EventLog>).append === "function"
  )
    return;
  const given = store === "" ? "an empty string" : store === null ? "null" : typeof store;
  throw new RequestError(
    "InvalidInput",
    `store is ${given}. Give the path of a file, ":memory:", or an EventLog.`,
  );
};

const checkWorkflows = (workflows: unknown): void => {
  const named = typeof workflows === "object" && workflows !== null && !Array.isArray(workflows);
  if (!named)
    throw new RequestError("InvalidInput", "workflows has to be a record of declarations, by name.");
  for (const [name, def] of Object.entries(workflows)) {
    if (typeof (def as Partial<AnyWorkflowDef> | undefined)?.run === "function") continue;
    const message = `workflows.${name} is no workflow: it has no run function. Declare it with workflow({ run }).`;
    throw new RequestError("InvalidInput", message);
  }
};

const checkPayloads = (payloads: unknown): void => {
  if (payloads === undefined) return;
  const { keys } = (payloads ?? {}) as Partial<PayloadOptions>;
  const found = typeof payloads === "object" && payloads !== null;
  if (found && (keys === undefined || typeof (keys as Partial<typeof keys> | null)?.keyFor === "function"))
    return;
  throw new RequestError(
    "InvalidInput",
    "payloads has to be an object, and payloads.keys one with a function keyFor(runId, use).",
  );
};

const atLeastOne = (option: string, value: number): number => {
  if (Number.isSafeInteger(value) && value >= 1) return value;
  throw new RequestError("InvalidInput", `${option} is ${value}. Give a whole number of 1 or more.`);
};

const openLog = ({ store, durability, clock }: RunstreamOptions): EventLog =>
  typeof store === "string"
    ? openSqliteLog(store, {
        ...(durability !== undefined && { durability }),
        ...(clock !== undefined && { clock }),
      })
    : store;

const indexPath = ({ store, index }: RunstreamOptions): string => {
  if (index !== undefined) return index;
  return typeof store === "string" && store !== ":memory:" ? `${store}-index` : ":memory:";
};
