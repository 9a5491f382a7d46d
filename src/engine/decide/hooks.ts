/** Decisions about hooks: answered or closed, never both, and only while the run lives. Tokens are reserved elsewhere (tokens.ts). */
import type { Payload } from "../../events/payload.ts";
import { type HookState, isTerminal } from "../../projections/run-state.ts";
import { already, type Decide, decided, rejected } from "./decision.ts";

export const openHook =
  (key: string, token: string, at: number): Decide<HookState> =>
  (state) => {
    if (state.created === undefined) return rejected("RunMissing");
    const stored = state.hooks.get(key);
    if (stored !== undefined) return already(stored);
    if (isTerminal(state.status)) return rejected("RunSettled");
    return decided({ token, status: "open" }, { type: "HookOpened", data: { key, token, at } });
  };

/** Answers whether the signal was accepted. Accepted means recorded (law L5). */
export const deliverHook =
  (key: string, token: string, payload: Payload | undefined, at: number): Decide<boolean> =>
  (state) => {
    const hook = state.hooks.get(key);
    if (hook?.status !== "open" || hook.token !== token || isTerminal(state.status)) return already(false);
    const sealed = state.created?.input?.sealed;
    if (sealed !== undefined) return rejected(sealed === "erased" ? "PayloadsErased" : "PayloadsLocked");
    return decided(true, {
      type: "HookDelivered",
      data: { key, at, ...(payload !== undefined && { payload }) },
    });
  };

/** Answers whether the window is closed to signals; `false` only where it was answered before. */
export const closeHook =
  (key: string, at: number): Decide<boolean> =>
  (state) => {
    const hook = state.hooks.get(key);
    if (hook?.status === "delivered") return already(false);
    if (hook?.status !== "open" || isTerminal(state.status)) return already(true);
    return decided(true, { type: "HookClosed", data: { key, at } });
  };
