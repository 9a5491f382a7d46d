/** Settlements: what reaches its end in a run's stream, a step, a sleep or a hook, and so has a place in the order of results (law L1). */
import type { RunEvent } from "../../events/catalogue.ts";
import type { RunState, Settlement } from "../../projections/run-state.ts";

/** A name for looking settlements up: a step, a sleep and a hook may share a key. */
export const settlementName = ({ of, key }: Settlement): string => `${of} ${key}`;

/** What the event settles, if it settles anything. */
export const settlementOf = (event: RunEvent): Settlement | undefined => {
  switch (event.type) {
    case "StepSettled":
      return { of: "step", key: event.data.key };
    case "SleepElapsed":
    case "SleepWoken":
      return { of: "sleep", key: event.data.key };
    case "HookDelivered":
    case "HookClosed":
      return { of: "hook", key: event.data.key };
    default:
      return undefined;
  }
};

/** Has it reached its end in the stream, as far as it is folded? */
export const isSettled = (state: RunState, { of, key }: Settlement): boolean => {
  switch (of) {
    case "step":
      return state.steps.has(key);
    case "sleep":
      return state.sleeps.get(key)?.over !== undefined;
    case "hook":
      return (state.hooks.get(key)?.status ?? "open") !== "open";
  }
};
