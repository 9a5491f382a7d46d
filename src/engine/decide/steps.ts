/** Decisions about steps: one entry a key, the first one stands; a charge for every holder that set out to run it. */
import type { RunEvent, StepRetried, StepSettled } from "../../events/catalogue.ts";
import { isTerminal, type RunState } from "../../projections/run-state.ts";
import { already, type Decide, decided, rejected } from "./decision.ts";

/** `entry` is what stands for the key now; `mine` says whether this command put it there. */
export interface Settlement {
  readonly entry: StepSettled["data"];
  readonly mine: boolean;
}

export const settleStep =
  (entry: StepSettled["data"]): Decide<Settlement> =>
  (state) => {
    if (state.created === undefined) return rejected("RunMissing");
    const stored = state.steps.get(entry.key);
    if (stored !== undefined) return already({ entry: stored, mine: false });
    if (isTerminal(state.status)) return already({ entry, mine: false });
    return decided({ entry, mine: true }, { type: "StepSettled", data: entry });
  };

export interface Claim {
  readonly key: string;
  readonly holder: string;
  readonly leaseMs: number;
  readonly at: number;
}

/**
 * Charges an attempt, and answers how many holders have a live charge, this one included. A live charge is not renewed: its age
 * is the age of the attempt. A charge is dead when it was taken strictly before `at - leaseMs`.
 */
export const claimAttempt =
  ({ key, holder, leaseMs, at }: Claim): Decide<number> =>
  (state) => {
    if (state.created === undefined) return rejected("RunMissing");
    if (isTerminal(state.status)) return rejected("RunSettled");
    const live = liveCharges(state, key, at - leaseMs);
    if (live.some((held) => held.holder === holder)) return already(live.length);
    return decided(live.length + 1, { type: "AttemptClaimed", data: { key, holder, at } });
  };

export const releaseAttempt =
  (key: string, holder: string, at: number): Decide<void> =>
  (state) => {
    if (state.created === undefined) return rejected("RunMissing");
    const held = state.charges.get(key)?.some((one) => one.holder === holder) ?? false;
    if (!held || isTerminal(state.status)) return already(undefined);
    return decided(undefined, { type: "AttemptReleased", data: { key, holder, at } });
  };

export const noteRetry =
  (data: StepRetried["data"]): Decide<void> =>
  (state) => {
    if (state.created === undefined || isTerminal(state.status)) return already(undefined);
    const event: RunEvent = { type: "StepRetried", data };
    return decided(undefined, event);
  };

const liveCharges = (state: RunState, key: string, since: number) =>
  state.charges.get(key)?.filter((held) => held.at >= since) ?? [];
