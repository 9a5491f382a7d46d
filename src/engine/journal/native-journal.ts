/**
 * Which functions belong to a journal over an EventLog, and what stands behind them.
 *
 * A journal is a plain object whose functions people spread, wrap and replace. What our own can do beyond the contract is therefore
 * found through a function itself: a journal with one function replaced still pipelines through the others, and calls the replacement.
 */
import type { HookState } from "../../projections/run-state.ts";
import type { JournalStore } from "../journal-store.ts";
import type { ProposeOptions } from "../session/batch.ts";
import type { SessionPool } from "../session/session-pool.ts";

export interface NativeJournal {
  readonly sessions: SessionPool;
  readonly clock: () => number;
  readonly claimHook: (
    runId: string,
    key: string,
    token: string,
    options?: ProposeOptions<HookState>,
  ) => Promise<HookState>;
}

type JournalFunction = Exclude<JournalStore[keyof JournalStore], undefined>;

const natives = new WeakMap<object, NativeJournal>();

export const registerJournal = (journal: JournalStore, native: NativeJournal): void => {
  for (const method of Object.values(journal)) if (typeof method === "function") natives.set(method, native);
};

/** The journal over an EventLog that `method` was made for; `undefined` for anybody else's function. */
export const nativeOf = (method: JournalFunction | undefined): NativeJournal | undefined =>
  method === undefined ? undefined : natives.get(method);
