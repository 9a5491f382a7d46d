/**
 * Stores with one defect each, made from the reference journal: what real stores got wrong, and what one easily gets wrong. Each
 * names the cases of the conformance suite that are there to find it.
 */
import { JournalConflictError } from "../../src/engine/journal-conflict-error.ts";
import type { JournalStore, RunRecord } from "../../src/engine/journal-store.ts";
import { byCodeUnit, type createReferenceJournal, isTerminal } from "./reference-journal.ts";

type Store = ReturnType<typeof createReferenceJournal>;

export interface Mutant {
  readonly defect: string;
  readonly foundBy: readonly string[];
  readonly break: (store: Store) => JournalStore;
}

/** Works because the reference journal reads the clock before it first awaits. */
const atTheBeginningOfTime = <T>(work: () => T): T => {
  const real = Date.now;
  Date.now = () => Number.MIN_SAFE_INTEGER;
  try {
    return work();
  } finally {
    Date.now = real;
  }
};

const plainly = (_: string, value: unknown): unknown => {
  if (typeof value === "bigint") return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
};

const readThenWriteCharges = (): Pick<JournalStore, "claimAttempt" | "releaseAttempt"> => {
  const rows = new Map<string, number>();
  const row = (...parts: readonly string[]): string => JSON.stringify(parts);
  return {
    claimAttempt: async (runId, key, holder, leaseMs) => {
      const since = Date.now() - leaseMs;
      const now = Date.now();
      const mine = row(runId, key, holder);
      const others = [...rows].filter(
        ([name, at]) => name.startsWith(row(runId, key).slice(0, -1)) && name !== mine && at >= since,
      );
      await Promise.resolve();
      if ((rows.get(mine) ?? Number.NEGATIVE_INFINITY) < since) rows.set(mine, now);
      return others.length + 1;
    },
    releaseAttempt: async (runId, key, holder) => {
      rows.delete(row(runId, key, holder));
    },
  };
};

const tokensKeptForEver = (store: Store): Partial<JournalStore> => {
  const held = new Map<string, string>();
  return {
    claimHook: async (runId, key, token) => {
      const holder = held.get(token) ?? runId;
      if (holder !== runId) throw new JournalConflictError(`token ${token} is already held by ${holder}`);
      held.set(token, runId);
      return store.claimHook(runId, key, token);
    },
  };
};

const oneLiveRecordPerRun = (store: Store): Partial<JournalStore> => {
  const cached = new Map<string, RunRecord>();
  return {
    getRun: async (runId) => {
      const record = cached.get(runId) ?? (await store.getRun(runId));
      if (record !== undefined) cached.set(runId, record);
      return record;
    },
    setStatus: (runId, ...rest) => {
      cached.delete(runId);
      return store.setStatus(runId, ...rest);
    },
  };
};

const parkedRunsOwed = (store: Store): Partial<JournalStore> => {
  const parked = new Set<string>();
  return {
    claimHook: (runId, key, token) => {
      parked.add(runId);
      return store.claimHook(runId, key, token);
    },
    resumableRuns: async (limit) => {
      const owed = await store.resumableRuns(limit);
      const known = new Set(owed.map(({ runId }) => runId));
      return [...owed, ...[...parked].filter((runId) => !known.has(runId)).map((runId) => ({ runId }))].slice(
        0,
        limit,
      );
    },
  };
};

export const mutants: readonly Mutant[] = [
  {
    defect: "closeHook closes an answered window",
    foundBy: ["case 79"],
    break: (store) => ({ ...store, closeHook: async (...args) => (await store.closeHook(...args)) || true }),
  },
  {
    defect: "appendStep answers the caller's entry",
    foundBy: ["case 24", "case 25"],
    break: (store) => ({
      ...store,
      appendStep: async (runId, entry) => {
        await store.appendStep(runId, entry);
        return entry;
      },
    }),
  },
  {
    defect: "a terminal setStatus ignores what it should expect",
    foundBy: ["case 19", "case 22"],
    break: (store) => ({
      ...store,
      setStatus: (runId, next, patch, expect) =>
        store.setStatus(runId, next, patch, isTerminal(next) ? undefined : expect),
    }),
  },
  {
    defect: "a duplicate createRun is answered with success",
    foundBy: ["case 3", "final 1"],
    break: (store) => ({ ...store, createRun: (record) => store.createRun(record).catch(() => undefined) }),
  },
  {
    defect: "charges are counted before they are written, a row for each holder",
    foundBy: ["case 42"],
    break: (store) => ({ ...store, ...readThenWriteCharges() }),
  },
  {
    defect: "a live charge is refreshed by claiming again",
    foundBy: ["case 39"],
    break: (store) => ({
      ...store,
      claimAttempt: async (runId, key, holder, leaseMs) => {
        await store.releaseAttempt(runId, key, holder);
        return store.claimAttempt(runId, key, holder, leaseMs);
      },
    }),
  },
  {
    defect: "a charge whose lease ends this instant no longer counts",
    foundBy: ["case 37"],
    break: (store) => ({
      ...store,
      claimAttempt: async (runId, key, holder, leaseMs) => {
        const count = await store.claimAttempt(runId, key, holder, leaseMs);
        return leaseMs === 0 ? count - 1 : count;
      },
    }),
  },
  {
    defect: "a bare wake ends a hook's deadline",
    foundBy: ["case 61"],
    break: (store) => ({
      ...store,
      wakeSleeps: async (runId, ids) => {
        if (ids !== undefined) return store.wakeSleeps(runId, ids);
        const declared = (await store.readSleeps(runId)).flatMap(({ correlationId }) => correlationId ?? []);
        return (await store.wakeSleeps(runId, undefined)) + (await store.wakeSleeps(runId, declared));
      },
    }),
  },
  {
    defect: "an empty correlation id matches waits that declared none",
    foundBy: ["case 63"],
    break: (store) => ({
      ...store,
      wakeSleeps: (runId, ids) => store.wakeSleeps(runId, ids?.includes("") ? undefined : ids),
    }),
  },
  {
    defect: "an elapsed sleep is counted as woken",
    foundBy: ["case 65"],
    break: (store) => ({
      ...store,
      wakeSleeps: (runId, ids) => atTheBeginningOfTime(() => store.wakeSleeps(runId, ids)),
    }),
  },
  {
    defect: "null is stored as absent",
    foundBy: ["case 7", "case 12"],
    break: (store) => ({
      ...store,
      getRun: async (runId) => {
        const record = await store.getRun(runId);
        return record && { ...record, input: record.input ?? undefined, output: record.output ?? undefined };
      },
    }),
  },
  {
    defect: "absent is read as null",
    foundBy: ["case 9"],
    break: (store) => ({
      ...store,
      getRun: async (runId) => {
        const record = await store.getRun(runId);
        return record && Object.assign({ codeVersion: null as unknown as string }, record);
      },
    }),
  },
  {
    defect: "zero is read as absent",
    foundBy: ["case 33"],
    break: (store) => ({
      ...store,
      readSteps: async (runId) =>
        (await store.readSteps(runId)).map(({ startedAt, ...entry }) =>
          startedAt ? { ...entry, startedAt } : entry,
        ),
    }),
  },
  {
    defect: "a later move clears the output",
    foundBy: ["case 23"],
    break: (store) => ({
      ...store,
      setStatus: (runId, next, patch, expect) =>
        store.setStatus(runId, next, { output: null, ...patch }, expect),
    }),
  },
  {
    defect: "a settled run keeps its tokens",
    foundBy: ["case 81"],
    break: (store) => ({ ...store, ...tokensKeptForEver(store) }),
  },
  {
    defect: "a conflict of tokens is any old error",
    foundBy: ["case 69", "case 70"],
    break: (store) => ({
      ...store,
      claimHook: (...args) =>
        store.claimHook(...args).catch((cause) => {
          throw new Error("conflict", { cause });
        }),
    }),
  },
  {
    defect: "a hook says nothing of being closed while it is open",
    foundBy: ["case 67"],
    break: (store) => ({
      ...store,
      claimHook: async (...args) => {
        const { closed, ...hook } = await store.claimHook(...args);
        return closed ? { ...hook, closed } : hook;
      },
    }),
  },
  {
    defect: "the caller gets the stored object itself",
    foundBy: ["shape 4", "shape 6"],
    break: (store) => ({ ...store, ...oneLiveRecordPerRun(store) }),
  },
  {
    defect: "runs are listed oldest first",
    foundBy: ["case 4", "order 3"],
    break: (store) => ({
      ...store,
      listRuns: async (workflow, limit) =>
        (await store.listRuns(workflow, Number.MAX_SAFE_INTEGER)).reverse().slice(0, limit),
    }),
  },
  {
    defect: "steps are read by key",
    foundBy: ["case 26", "order 1"],
    break: (store) => ({
      ...store,
      readSteps: async (runId) => (await store.readSteps(runId)).sort((a, b) => byCodeUnit(a.key, b.key)),
    }),
  },
  {
    defect: "the last deadline stands instead of the first",
    foundBy: ["case 52", "case 56"],
    break: (store) => ({
      ...store,
      claimSleep: async (runId, key, wakeAt, id, kind) => ({
        ...(await store.claimSleep(runId, key, wakeAt, id, kind)),
        wakeAt,
      }),
    }),
  },
  {
    defect: "a parked run is owed a delivery",
    foundBy: ["case 91"],
    break: (store) => ({ ...store, ...parkedRunsOwed(store) }),
  },
  {
    defect: "values pass through plain JSON",
    foundBy: ["case 46", "case 48", "case 49"],
    break: (store) => ({
      ...store,
      appendStep: (runId, entry) => store.appendStep(runId, JSON.parse(JSON.stringify(entry, plainly))),
    }),
  },
  {
    defect: "names are written as UTF-8, which has no lone surrogates",
    foundBy: ["name 3b", "name 4b"],
    break: (store) => ({
      ...store,
      claimHook: (runId, key, token) => store.claimHook(runId, key, token.toWellFormed()),
      deliverHook: (token, payload) => store.deliverHook(token.toWellFormed(), payload),
    }),
  },
  {
    defect: "the methods are inherited",
    foundBy: ["shape 1"],
    break: (store) => Object.create(store) as JournalStore,
  },
];
