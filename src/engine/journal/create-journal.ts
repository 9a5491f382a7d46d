/**
 * The journal over an EventLog: the JournalStore contract, implemented once for every store, on run sessions.
 *
 * Its methods are own properties that need no `this`. A walk gets more out of it than the contract says (lane-journal.ts): that
 * ability is found through the very functions made here, so that a journal with a function replaced behaves as the contract says.
 */
import type { EventLog } from "../../events/event-log.ts";
import { encodePayload } from "../../events/payload.ts";
import type { RunIndex } from "../../projections/run-index.ts";
import { closeHook, deliverHook, openHook } from "../decide/hooks.ts";
import { createRun, moveStatus } from "../decide/run.ts";
import { elapseDue, scheduleSleep, wakeSleeps } from "../decide/sleeps.ts";
import { claimAttempt, releaseAttempt, settleStep } from "../decide/steps.ts";
import type { JournalStore, RunRecord } from "../journal-store.ts";
import { mapConcurrent } from "../map-concurrent.ts";
import type { ProposeOptions } from "../session/batch.ts";
import { createSessionPool, type SessionPool } from "../session/session-pool.ts";
import { reserveToken, tokenHolder } from "../session/tokens.ts";
import { registerJournal } from "./native-journal.ts";
import {
  createdOf,
  entriesOf,
  entryOf,
  hookRecordOf,
  type RunAttributes,
  recordOf,
  settledOf,
  sleepRecordOf,
  sleepsOf,
} from "./records.ts";

export interface JournalOptions {
  /** Where lists come from. Opened at the first question that needs it. */
  readonly index: () => RunIndex;
  /** Epoch milliseconds. Default: `Date.now` as it is at the call. */
  readonly clock?: () => number;
}

/** What the journal over an EventLog adds to the contract. */
export interface LogJournal extends JournalStore {
  readonly resumableRuns: NonNullable<JournalStore["resumableRuns"]>;
  readonly settlements: NonNullable<JournalStore["settlements"]>;
  /** `createRun` with the open-ended attributes of a run. */
  readonly createRunWith: (record: RunRecord, attributes: RunAttributes) => Promise<void>;
  readonly sessions: SessionPool;
}

const LIST_READS = 8;

export const createJournal = (
  log: EventLog,
  { index, clock = () => Date.now() }: JournalOptions,
): LogJournal => {
  const sessions = createSessionPool(log);
  const session = (runId: string) => sessions.get(runId);

  const createRunWith = async (record: RunRecord, attributes: RunAttributes): Promise<void> => {
    const output = encodePayload(record.output, "output");
    const decide = createRun(createdOf(record, attributes), record.status, { output, error: record.error });
    return session(record.runId).propose(decide, { creates: true });
  };

  const journal: LogJournal = {
    sessions,
    createRunWith,
    createRun: async (record) => createRunWith(record, {}),
    getRun: async (runId) => recordOf(runId, await session(runId).current()),
    listRuns: async (workflow, limit) => {
      if (limit <= 0) return [];
      const { runs } = await index().list({ kind: "run", workflow, limit });
      const records = await mapConcurrent(runs, LIST_READS, ({ runId }) => journal.getRun(runId));
      return records.filter((record) => record !== undefined);
    },
    setStatus: async (runId, next, patch, expect) => {
      const output = encodePayload(patch?.output, "output");
      return session(runId).propose(moveStatus(next, { output, error: patch?.error }, expect, clock()));
    },
    readSteps: async (runId) => entriesOf(runId, await session(runId).current()),
    readStep: async (runId, key) => {
      const settled = (await session(runId).current()).steps.get(key);
      return settled === undefined ? undefined : entryOf(runId, settled);
    },
    claimAttempt: async (runId, key, holder, leaseMs) =>
      session(runId).propose(claimAttempt({ key, holder, leaseMs, at: clock() })),
    releaseAttempt: async (runId, key, holder) =>
      session(runId).propose(releaseAttempt(key, holder, clock())),
    claimSleep: async (runId, key, wakeAt, correlationId, kind = "sleep") =>
      sleepRecordOf(
        await session(runId).propose(scheduleSleep({ key, wakeAt, kind, correlationId, at: clock() })),
      ),
    wakeSleeps: async (runId, correlationIds) => session(runId).propose(wakeSleeps(correlationIds, clock())),
    readSleeps: async (runId) => sleepsOf(await session(runId).current()),
    claimHook: async (runId, key, token) => hookRecordOf(runId, await claimHook(runId, key, token)),
    closeHook: async (runId, key) => session(runId).propose(closeHook(key, clock())),
    deliverHook: async (token, payload) => {
      const encoded = encodePayload(payload, "payload");
      const holder = await tokenHolder(log, token);
      if (holder === undefined) return undefined;
      const accepted = await session(holder.runId).propose(deliverHook(holder.key, token, encoded, clock()));
      return accepted ? holder.runId : undefined;
    },
    appendStep: async (runId, entry) => {
      const { entry: stored } = await session(runId).propose(settleStep(settledOf(entry)));
      return entryOf(runId, stored);
    },
    resumableRuns: async (limit) => [...(await index().owed(limit))],
    settlements: async (runId) => {
      const held = session(runId);
      await held.propose(elapseDue(clock()));
      return [...held.state.settled];
    },
  };

  /** The hook at `key`, opened if this is its first reach; its token is reserved before it is opened. */
  const claimHook = async (
    runId: string,
    key: string,
    token: string,
    options: ProposeOptions<never> = {},
  ) => {
    const held = (await session(runId).current()).hooks.get(key);
    if (held !== undefined) return held;
    await reserveToken(log, sessions, token, { runId, key, at: clock() });
    return session(runId).propose(openHook(key, token, clock()), options as object);
  };

  registerJournal(journal, { sessions, clock, claimHook });
  return journal;
};
