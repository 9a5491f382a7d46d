/**
 * The run index: a view of the whole log in SQLite, in which runs are listed, what is due is looked up, and what is owed a
 * delivery is found. The same for every EventLog.
 *
 * It decides nothing and holds nothing of its own: it can be deleted at any time and is made again from the log. A run's full state
 * is the fold of its stream (run-state), never this.
 *
 * Invariants:
 * - R1 A method that answers from the index catches up first, so it sees everything appended before the call (unless told not to).
 * - R2 A run that cannot be read holds up no other: it is marked, and listed by `problems`.
 * - R3 Damage to the index file is healed by filling it again; nothing that was acknowledged can be lost here.
 */
import { comparePositions, type EventLog, type Position } from "../events/event-log.ts";
import { onDemand } from "./on-demand.ts";
import { type CatchUp, catchUpOf, type IndexProgress } from "./run-index-catch-up.ts";
import { decodeForIndex } from "./run-index-decode.ts";
import { type RunLatencies, runLatencies } from "./run-index-latency.ts";
import {
  type ListQuery,
  pageSize,
  type RunFilter,
  type RunPage,
  type RunQueries,
  type RunSummary,
  runQueries,
  type UnreadableRun,
} from "./run-index-queries.ts";
import { indexError, isDamage, openIndexDatabase, reopenDamaged, trouble } from "./run-index-schema.ts";
import {
  type SdkHook,
  type SdkHookQuery,
  type SdkOwedRun,
  type SdkQueries,
  sdkQueries,
} from "./run-index-sdk.ts";
import {
  type DueQuery,
  type DueWait,
  type OpenWait,
  type OwedRun,
  type WaitQueries,
  waitQueries,
} from "./run-index-waits.ts";

export interface RunIndexOptions {
  /** The index's own file, which several processes may share; default `":memory:"`, this process's alone. */
  readonly path?: string;
  /** Epoch milliseconds; says which deadlines `owed` counts as past. Default `Date.now()`. */
  readonly clock?: () => number;
  /** Told after every step of a catch-up. It must not throw. */
  readonly onProgress?: (progress: IndexProgress) => void;
}

/** `catchUp: false` answers from what the index holds already. Default true. */
export interface AskOptions {
  readonly catchUp?: boolean;
}

export interface IndexLag {
  /** How far the index has looked; absent while it is empty. */
  readonly checkpoint: Position | undefined;
  /** Where the log ends; absent while it is empty. */
  readonly head: Position | undefined;
  readonly caughtUp: boolean;
}

/**
 * Every method may reject with a `StoreError`: the log's, or the index's own (`Unavailable` where its file cannot be used or it is
 * closed, `Corrupt` where its path holds something else).
 */
export interface RunIndex {
  /**
   * Runs, newest first (`createdAt`, then run id, both descending), in pages.
   *
   * @throws InvalidCursorError for a cursor that no page answered.
   */
  list(query?: ListQuery, options?: AskOptions): Promise<RunPage>;
  get(runId: string, options?: AskOptions): Promise<RunSummary | undefined>;
  count(filter?: RunFilter, options?: AskOptions): Promise<number>;
  /** Open waits with a deadline at or before `until`, soonest first; go on with `after`, the last one of the page before. */
  due(query: DueQuery, options?: AskOptions): Promise<readonly DueWait[]>;
  /** The soonest deadline that somebody waits for, past or not. */
  nextDeadline(options?: AskOptions): Promise<number | undefined>;
  /** Runs owed a delivery, soonest first, as `JournalStore.resumableRuns` has it; `limit` 0 or less gives none. */
  owed(limit: number, options?: AskOptions): Promise<readonly OwedRun[]>;
  /** What a run is waiting for and until when: sleeps by deadline, then hooks by age. Nothing for an unknown run. */
  waits(runId: string, options?: AskOptions): Promise<readonly OpenWait[]>;
  /** Runs that this version cannot read, at most `limit` (default 20, held between 1 and 1,000), by id. */
  problems(limit?: number, options?: AskOptions): Promise<readonly UnreadableRun[]>;
  /** What a World of the Workflow SDK asks. */
  readonly sdk: {
    /** Hooks that can be answered, by the events that made them. */
    hooks(query: SdkHookQuery): Promise<readonly SdkHook[]>;
    hook(hookId: string): Promise<SdkHook | undefined>;
    /** Runs that wait for a message which nobody has sent. */
    owed(): Promise<readonly SdkOwedRun[]>;
  };
  /** Brings the index to the log's present end. Calls that overlap share their work. */
  catchUp(): Promise<void>;
  /**
   * Answers once the index has seen everything up to `position`.
   *
   * @throws StoreError `Unavailable` where the log itself does not show that position yet.
   */
  reached(position: Position): Promise<void>;
  lag(): Promise<IndexLag>;
  /** Empties the index and fills it from the log. `onProgress` is told of every step. */
  rebuild(): Promise<void>;
  /** Stops catching up and closes the file. Idempotent. The log stays open. */
  close(): Promise<void>;
}

interface Opened {
  readonly catchUp: CatchUp;
  readonly runs: RunQueries;
  readonly waits: WaitQueries;
  readonly latencies: RunLatencies;
  readonly sdk: SdkQueries;
  close(): void;
}

/**
 * Opens the run index of `log`, making its file where there is none.
 *
 * @throws StoreError `Corrupt` where `path` is a file of another kind, `Unavailable` where it cannot be opened.
 */
export const openRunIndex = (log: EventLog, options: RunIndexOptions = {}): RunIndex => {
  const path = options.path ?? ":memory:";
  const clock = options.clock ?? (() => Date.now());

  /** A worker takes over what another has left before it asks the index anything: statements are prepared at the first question. */
  const opened = (database: ReturnType<typeof openIndexDatabase>): Opened => {
    const runs = onDemand(() => runQueries(database));
    const waits = onDemand(() => waitQueries(database));
    const latencies = onDemand(() => runLatencies(database, log));
    const sdk = onDemand(() => sdkQueries(database));
    return {
      catchUp: catchUpOf(database, log, decodeForIndex, options.onProgress),
      get runs() {
        return runs();
      },
      get waits() {
        return waits();
      },
      get latencies() {
        return latencies();
      },
      get sdk() {
        return sdk();
      },
      close: () => database.close(),
    };
  };

  let index = opened(openIndexDatabase(path));
  let closing: Promise<void> | undefined;
  const underWay = new Set<Promise<unknown>>();

  /** Runs `work`, and once more on an index made anew where SQLite finds this one damaged (R3). */
  const guarded = async <T>(work: (index: Opened) => Promise<T>): Promise<T> => {
    if (closing !== undefined) throw closed();
    const used = index;
    try {
      return await work(used);
    } catch (error) {
      if (closing !== undefined) throw closed();
      if (!isDamage(error)) throw isSqlite(error) ? indexError(path, error) : error;
      if (index === used) {
        used.catchUp.stop();
        used.close();
        index = opened(reopenDamaged(path));
      }
    }
    try {
      return await work(index);
    } catch (error) {
      throw isSqlite(error) ? indexError(path, error) : error;
    }
  };

  const tracked = <T>(work: (index: Opened) => Promise<T>): Promise<T> => {
    const running = guarded(work).finally(() => underWay.delete(running));
    underWay.add(running);
    return running;
  };

  const ask = <T>(answer: (index: Opened) => T, asked: AskOptions | undefined): Promise<T> =>
    tracked(async (used) => {
      if (asked?.catchUp !== false) await used.catchUp.run();
      if (closing !== undefined) throw closed();
      return answer(used);
    });

  return {
    list: (query = {}, asked) =>
      tracked(async (used) => {
        if (asked?.catchUp !== false) await used.catchUp.run();
        if (closing !== undefined) throw closed();
        const page = used.runs.list(query);
        if (query.latency !== true) return page;
        return { ...page, runs: await used.latencies(page.runs, () => closing !== undefined) };
      }),
    get: (runId, asked) => ask(({ runs }) => runs.get(runId), asked),
    count: (filter = {}, asked) => ask(({ runs }) => runs.count(filter), asked),
    problems: (limit, asked) => ask(({ runs }) => runs.problems(pageSize(limit)), asked),
    due: (query, asked) => ask(({ waits }) => waits.due(query, pageSize(query.limit)), asked),
    nextDeadline: (asked) => ask(({ waits }) => waits.nextDeadline(), asked),
    waits: (runId, asked) => ask(({ waits }) => waits.waits(runId), asked),
    owed: (limit, asked) =>
      ask(({ waits }) => (limit >= 1 ? waits.owed(Math.floor(limit), clock()) : []), asked),

    sdk: {
      hooks: (query) => ask(({ sdk }) => sdk.hooks(query), undefined),
      hook: (hookId) => ask(({ sdk }) => sdk.hook(hookId), undefined),
      owed: () => ask(({ sdk }) => sdk.owed(), undefined),
    },

    catchUp: () => ask(() => undefined, undefined),

    reached: (position) =>
      tracked(async ({ catchUp }) => {
        const seen = (): boolean => {
          const checkpoint = catchUp.checkpoint();
          return checkpoint !== undefined && comparePositions(checkpoint, position) >= 0;
        };
        if (seen()) return;
        await catchUp.run();
        if (!seen())
          throw trouble(
            `The log does not show position ${position} yet, or it is a position of another log.`,
            "Unavailable",
          );
      }),

    lag: () =>
      tracked(async ({ catchUp }) => {
        const checkpoint = catchUp.checkpoint();
        const head = await log.head();
        const caughtUp =
          head === undefined || (checkpoint !== undefined && comparePositions(checkpoint, head) >= 0);
        return { checkpoint, head, caughtUp };
      }),

    rebuild: () =>
      tracked(async ({ catchUp }) => {
        catchUp.reset();
        await catchUp.run();
      }),

    close: () => {
      closing ??= (async () => {
        index.catchUp.stop();
        await Promise.allSettled(underWay);
        index.close();
      })();
      return closing;
    },
  };
};

const isSqlite = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR";

const closed = () => trouble("The run index is closed.", "Unavailable");
