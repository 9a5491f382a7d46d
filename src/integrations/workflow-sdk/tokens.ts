/**
 * Tokens of the SDK's hooks: reservations (engine/session/reservations.ts) in the streams `sdk-token-<token>`.
 *
 * Invariants:
 * - K1 A token has at most one live hook.
 * - K2 A token is free once its hook is disposed, or its run over or unknown, without anybody having to release it.
 */
import { lastHolder, reserve } from "../../engine/session/reservations.ts";
import type { EventLog } from "../../events/event-log.ts";
import { sdkTokenStream } from "../../events/stream-names.ts";
import { isOver, type SdkRunState } from "./run-fold.ts";

/** A hook of a run. */
export interface TokenHolder {
  readonly runId: string;
  readonly hookId: string;
}

/** The state of a run after everything the log has now. */
export type StateOf = (runId: string) => Promise<SdkRunState>;

/** Who reserved the token last, whether or not that hook still lives. */
export const tokenHolder = async (log: EventLog, token: string): Promise<TokenHolder | undefined> => {
  const holder = await lastHolder(log, sdkTokenStream(token));
  return holder === undefined ? undefined : { runId: holder.runId, hookId: holder.key };
};

/** Makes `hook` the holder of `token`, or answers who holds it. Throws StoreError. */
export const reserveToken = async (
  log: EventLog,
  stateOf: StateOf,
  token: string,
  { runId, hookId }: TokenHolder,
  now: number,
): Promise<TokenHolder | undefined> => {
  const holder = await reserve(log, {
    token,
    stream: sdkTokenStream(token),
    wait: { runId, key: hookId },
    at: now,
    stands: (other) => mayLive(stateOf, { runId: other.runId, hookId: other.key }),
  });
  return holder === undefined ? undefined : { runId: holder.runId, hookId: holder.key };
};

/** Between its reservation and its creation a hook lives already, as far as others are concerned. */
const mayLive = async (stateOf: StateOf, { runId, hookId }: TokenHolder): Promise<boolean> => {
  const { run, hooks } = await stateOf(runId);
  return run !== undefined && !isOver(run) && hooks.get(hookId)?.disposed !== true;
};
