/**
 * A JournalStore as somebody else would write it: plain maps in memory, straight from the contract in `journal-store.ts`, sharing
 * nothing with Runstream's own journal. The engine must work on it, and the conformance suite's mutants are made from it.
 *
 * - R1 Every method reads and writes without an await in between, so no two calls can interleave.
 * - R2 Values are cloned on their way in and on their way out.
 *
 * Not for users: nothing is ever forgotten, and a step's output costs two copies.
 */
import { JournalConflictError } from "../../src/engine/journal-conflict-error.ts";
import type {
  HookRecord,
  JournalStore,
  ResumableRun,
  RunRecord,
  RunStatus,
  SleepRecord,
  StepEntry,
} from "../../src/engine/journal-store.ts";

interface RunMemory {
  record: RunRecord;
  readonly steps: Map<string, StepEntry>;
  /** Key of a step, then holder, then when that holder claimed. */
  readonly charges: Map<string, Map<string, number>>;
  readonly sleeps: Map<string, SleepRecord>;
  readonly hooks: Map<string, HookRecord>;
}

export const isTerminal = (status: RunStatus): boolean => status !== "pending" && status !== "running";

export const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** A copy with its types kept. `structuredClone` knows neither URLs nor the name that an Error of an author's own class has. */
export const copy = <T>(value: T): T => copied(value) as T;

const copied = (value: unknown): unknown => {
  if (value instanceof URL) return new URL(value.href);
  if (Array.isArray(value)) return value.map(copied);
  if (value instanceof Map) return new Map([...value].map(([key, inner]) => [copied(key), copied(inner)]));
  if (value instanceof Set) return new Set([...value].map(copied));
  if (value === null || typeof value !== "object") return value;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return structuredClone(value);
  const plain = Object.create(prototype);
  for (const [key, inner] of Object.entries(value)) {
    Object.defineProperty(plain, key, {
      value: copied(inner),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return plain;
};

export const createReferenceJournal = (): Required<Omit<JournalStore, "settlements">> => {
  const runs = new Map<string, RunMemory>();
  /** Who may be answered by a token: the one live wait that claimed it. */
  const tokens = new Map<string, { readonly runId: string; readonly key: string }>();

  const existing = (runId: string): RunMemory => {
    const run = runs.get(runId);
    if (run === undefined) throw new Error(`there is no run ${JSON.stringify(runId)}`);
    return run;
  };

  const owedTo = ({ record, sleeps, hooks }: RunMemory): ResumableRun | undefined => {
    if (isTerminal(record.status)) return undefined;
    const deadlines = [...sleeps.values()].filter(({ woken }) => !woken).map(({ wakeAt }) => wakeAt);
    if (deadlines.length > 0) return { runId: record.runId, wakeAt: Math.min(...deadlines) };
    if ([...hooks.values()].some(({ delivered, closed }) => !delivered && !closed)) return undefined;
    return { runId: record.runId };
  };

  return {
    createRun: async (record) => {
      if (runs.has(record.runId)) throw new Error(`run ${JSON.stringify(record.runId)} exists already`);
      const tables = { steps: new Map(), charges: new Map(), sleeps: new Map(), hooks: new Map() };
      runs.set(record.runId, { record: copy(record), ...tables });
    },

    getRun: async (runId) => copy(runs.get(runId)?.record),

    listRuns: async (workflow, limit) =>
      [...runs.values()]
        .map(({ record }) => record)
        .filter((record) => record.workflow === workflow)
        .sort((a, b) => b.createdAt - a.createdAt || byCodeUnit(a.runId, b.runId))
        .slice(0, limit)
        .map(copy),

    setStatus: async (runId, next, patch, expect) => {
      const run = runs.get(runId);
      if (run === undefined || (expect !== undefined && !expect.includes(run.record.status))) return false;
      run.record = {
        ...run.record,
        status: next,
        ...(patch?.output === undefined ? {} : { output: copy(patch.output) }),
        ...(patch?.error === undefined ? {} : { error: copy(patch.error) }),
      };
      if (isTerminal(next)) {
        for (const { token } of run.hooks.values())
          if (tokens.get(token)?.runId === runId) tokens.delete(token);
      }
      return true;
    },

    readSteps: async (runId) =>
      [...(runs.get(runId)?.steps.values() ?? [])]
        .sort((a, b) => a.finishedAt - b.finishedAt || byCodeUnit(a.key, b.key))
        .map(copy),

    readStep: async (runId, key) => copy(runs.get(runId)?.steps.get(key)),

    appendStep: async (runId, entry) => {
      const { steps } = existing(runId);
      const stored = steps.get(entry.key) ?? copy(entry);
      steps.set(entry.key, stored);
      return copy(stored);
    },

    claimAttempt: async (runId, key, holder, leaseMs) => {
      const { charges } = existing(runId);
      const now = Date.now();
      const live = new Map(
        [...(charges.get(key) ?? [])].filter(([, claimedAt]) => claimedAt >= now - leaseMs),
      );
      if (!live.has(holder)) live.set(holder, now);
      charges.set(key, live);
      return live.size;
    },

    releaseAttempt: async (runId, key, holder) => {
      existing(runId).charges.get(key)?.delete(holder);
    },

    claimSleep: async (runId, key, wakeAt, correlationId, kind = "sleep") => {
      const { sleeps } = existing(runId);
      const fresh = { wakeAt, woken: false, kind, ...(correlationId === undefined ? {} : { correlationId }) };
      const stored = sleeps.get(key) ?? fresh;
      sleeps.set(key, stored);
      return copy(stored);
    },

    wakeSleeps: async (runId, correlationIds) => {
      const now = Date.now();
      const reached = ({ kind, correlationId }: SleepRecord): boolean =>
        correlationIds === undefined
          ? kind === "sleep"
          : correlationId !== undefined && correlationIds.includes(correlationId);
      const ended = [...(runs.get(runId)?.sleeps.values() ?? [])].filter(
        (sleep) => reached(sleep) && !sleep.woken && sleep.wakeAt > now,
      );
      for (const sleep of ended) sleep.woken = true;
      return ended.length;
    },

    readSleeps: async (runId) =>
      [...(runs.get(runId)?.sleeps ?? [])]
        .sort(([a], [b]) => byCodeUnit(a, b))
        .map(([key, sleep]) => ({ ...copy(sleep), key })),

    claimHook: async (runId, key, token) => {
      const { hooks } = existing(runId);
      const stored = hooks.get(key);
      if (stored !== undefined) return copy(stored);
      const holder = tokens.get(token);
      if (holder !== undefined) {
        throw new JournalConflictError(
          `token ${JSON.stringify(token)} is already held by run ${holder.runId} at ${holder.key}: give each wait a token of its own`,
        );
      }
      const hook: HookRecord = { token, delivered: false, closed: false };
      hooks.set(key, hook);
      tokens.set(token, { runId, key });
      return copy(hook);
    },

    closeHook: async (runId, key) => {
      const hook = runs.get(runId)?.hooks.get(key);
      if (hook === undefined) return true;
      if (hook.delivered) return false;
      hook.closed = true;
      return true;
    },

    deliverHook: async (token, payload) => {
      const holder = tokens.get(token);
      const hook = holder && runs.get(holder.runId)?.hooks.get(holder.key);
      if (holder === undefined || hook === undefined || hook.delivered || hook.closed) return undefined;
      hook.delivered = true;
      if (payload !== undefined) hook.payload = copy(payload);
      return holder.runId;
    },

    resumableRuns: async (limit) => {
      const now = Date.now();
      return [...runs.values()]
        .flatMap((run) => owedTo(run) ?? [])
        .sort((a, b) => (a.wakeAt ?? now) - (b.wakeAt ?? now) || byCodeUnit(a.runId, b.runId))
        .slice(0, limit);
    },
  };
};
