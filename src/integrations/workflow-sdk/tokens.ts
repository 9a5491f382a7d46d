/**
 * Tokens of hooks: which hook holds a token is the last fact of the stream `sdk-token-<token>`, so that uniqueness across runs is an
 * append with an exact expected revision and no index.
 *
 * A token is reserved first and its hook created after. A crash in between is healed when the run is replayed and reserves it again.
 *
 * Invariants:
 * - K1 A token has at most one live hook.
 * - K2 A token is free once its hook is disposed, or its run over or unknown, without anybody having to release it.
 */
import { isLeft } from "fp-ts/lib/Either.js";
import { decodeTokenEvent, encodeEvent } from "../../events/codec.ts";
import type { EventLog, ExpectedRevision } from "../../events/event-log.ts";
import { StoreError } from "../../events/store-error.ts";
import { sdkTokenStream } from "../../events/stream-names.ts";
import { isOver, type SdkRunState } from "./run-fold.ts";

export interface TokenHolder {
  readonly runId: string;
  readonly hookId: string;
}

type StateOf = (runId: string) => Promise<SdkRunState>;

const MAX_UNKNOWN_OUTCOMES = 5;

/** Who reserved the token last, whether or not that hook still lives. */
export const tokenHolder = async (log: EventLog, token: string): Promise<TokenHolder | undefined> =>
  (await lastReservation(log, token))?.holder;

/** Makes `hook` the holder of `token`, or answers who holds it. Throws {@link StoreError}. */
export const reserveToken = async (
  log: EventLog,
  stateOf: StateOf,
  token: string,
  hook: TokenHolder,
  now: number,
): Promise<TokenHolder | undefined> => {
  let expected: ExpectedRevision = "none";
  for (let unknown = 0; ; ) {
    const event = encodeEvent({
      type: "TokenReserved",
      data: { runId: hook.runId, key: hook.hookId, at: now },
    });
    const result = await log.append(sdkTokenStream(token), expected, [event])();
    if (!isLeft(result)) return undefined;
    const error = result.left;
    if (error._tag !== "WrongExpectedRevision") {
      unknown += 1;
      if (error._tag !== "UnknownOutcome" || unknown > MAX_UNKNOWN_OUTCOMES)
        throw new StoreError(
          `Token ${JSON.stringify(token)} could not be reserved for run ${hook.runId}.`,
          error,
        );
    }
    const last = await lastReservation(log, token);
    if (last === undefined) continue;
    const { holder } = last;
    if (holder.runId === hook.runId && holder.hookId === hook.hookId) return undefined;
    if (await mayLive(stateOf, holder)) return holder;
    expected = last.revision;
  }
};

/** Between its reservation and its creation a hook lives already, as far as others are concerned. */
const mayLive = async (stateOf: StateOf, { runId, hookId }: TokenHolder): Promise<boolean> => {
  const { run, hooks } = await stateOf(runId);
  return run !== undefined && !isOver(run) && hooks.get(hookId)?.disposed !== true;
};

const lastReservation = async (
  log: EventLog,
  token: string,
): Promise<{ readonly holder: TokenHolder; readonly revision: number } | undefined> => {
  for await (const recorded of log.read(sdkTokenStream(token), { direction: "backwards", max: 1 })) {
    const decoded = decodeTokenEvent(recorded);
    if (isLeft(decoded)) throw StoreError.corrupt(decoded.left.message, decoded.left);
    const { runId, key } = decoded.right.data;
    return { holder: { runId, hookId: key }, revision: recorded.revision };
  }
  return undefined;
};
