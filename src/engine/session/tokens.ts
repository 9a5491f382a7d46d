/**
 * Tokens: who may wait on a token is the last fact of the stream `hook-<token>`, so that uniqueness across runs is an append with an
 * exact expected revision and no index.
 *
 * A token is reserved first and its hook opened after; a crash in between is healed by reserving again, which finds the token held
 * by the same wait. A run that is over holds no tokens, without anybody having to release them.
 */
import { isLeft } from "fp-ts/lib/Either.js";
import type { TokenReserved } from "../../events/catalogue.ts";
import { decodeTokenEvent, encodeEvent } from "../../events/codec.ts";
import type { EventLog, ExpectedRevision } from "../../events/event-log.ts";
import { StoreError } from "../../events/store-error.ts";
import { hookStream } from "../../events/stream-names.ts";
import { isTerminal } from "../../projections/run-state.ts";
import { JournalConflictError } from "../journal-conflict-error.ts";
import { MAX_UNKNOWN_OUTCOMES } from "./exact-append.ts";
import type { SessionPool } from "./session-pool.ts";

export interface TokenHolder {
  readonly runId: string;
  readonly key: string;
}

/** Who reserved the token last, whether or not that run still lives. */
export const tokenHolder = async (log: EventLog, token: string): Promise<TokenHolder | undefined> =>
  (await lastReservation(log, token))?.holder;

/**
 * Makes `wait` the holder of `token`. Throws {@link JournalConflictError} while another wait of a live run holds it, and
 * {@link StoreError}.
 */
export const reserveToken = async (
  log: EventLog,
  sessions: SessionPool,
  token: string,
  wait: TokenHolder & { readonly at: number },
): Promise<void> => {
  const event: TokenReserved = {
    type: "TokenReserved",
    data: { runId: wait.runId, key: wait.key, at: wait.at },
  };
  let expected: ExpectedRevision = "none";
  let unanswered = 0;
  for (;;) {
    const result = await log.append(hookStream(token), expected, [encodeEvent(event)])();
    if (!isLeft(result)) return;
    const error = result.left;
    if (error._tag !== "WrongExpectedRevision") {
      unanswered += 1;
      if (error._tag !== "UnknownOutcome" || unanswered > MAX_UNKNOWN_OUTCOMES) {
        throw new StoreError(
          `Token ${JSON.stringify(token)} could not be reserved for run ${JSON.stringify(wait.runId)}.`,
          error,
        );
      }
    }
    const last = await lastReservation(log, token);
    if (last === undefined) continue;
    if (last.holder.runId === wait.runId && last.holder.key === wait.key) return;
    await assertFree(sessions, token, last.holder, wait);
    expected = last.revision;
  }
};

const assertFree = async (
  sessions: SessionPool,
  token: string,
  holder: TokenHolder,
  wait: TokenHolder,
): Promise<void> => {
  const state = await sessions.get(holder.runId).current();
  if (state.created === undefined || isTerminal(state.status)) return;
  throw new JournalConflictError(
    `Token ${JSON.stringify(token)} is already held by run ${JSON.stringify(holder.runId)} (${holder.key}), so run ` +
      `${JSON.stringify(wait.runId)} (${wait.key}) cannot wait on it. Give every wait a token of its own, for example by adding the run id.`,
  );
};

const lastReservation = async (
  log: EventLog,
  token: string,
): Promise<{ readonly holder: TokenHolder; readonly revision: number } | undefined> => {
  for await (const recorded of log.read(hookStream(token), { direction: "backwards", max: 1 })) {
    const decoded = decodeTokenEvent(recorded);
    if (isLeft(decoded)) throw StoreError.corrupt(decoded.left.message, decoded.left);
    return { holder: decoded.right.data, revision: recorded.revision };
  }
  return undefined;
};
