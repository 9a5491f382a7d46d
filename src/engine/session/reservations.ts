/**
 * Reservations: who may wait on a token is the last fact of the token's stream, so that uniqueness across runs is an append with an exact
 * expected revision and no index.
 *
 * Not here: which stream a token has, and until when a reservation stands. A token is reserved first and its hook opened after; a crash in
 * between is healed by reserving again, which finds the token held by the same wait.
 */
import { isLeft } from "fp-ts/lib/Either.js";
import type { TokenReserved } from "../../events/catalogue.ts";
import { decodeTokenEvent, encodeEvent } from "../../events/codec.ts";
import type { EventLog, ExpectedRevision } from "../../events/event-log.ts";
import { StoreError } from "../../events/store-error.ts";
import { MAX_UNKNOWN_OUTCOMES } from "./exact-append.ts";

/** A wait of a run, by its key. */
export interface TokenHolder {
  readonly runId: string;
  readonly key: string;
}

export interface Reservation {
  readonly token: string;
  /** The token's stream. */
  readonly stream: string;
  readonly wait: TokenHolder;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Whether somebody else's reservation still stands. */
  readonly stands: (holder: TokenHolder) => Promise<boolean>;
}

/** Makes the wait the token's holder, or answers who holds it. Throws {@link StoreError}. */
export const reserve = async (log: EventLog, reservation: Reservation): Promise<TokenHolder | undefined> => {
  const { token, stream, wait, at, stands } = reservation;
  const event: TokenReserved = { type: "TokenReserved", data: { runId: wait.runId, key: wait.key, at } };
  let expected: ExpectedRevision = "none";
  let unknown = 0;
  for (;;) {
    const result = await log.append(stream, expected, [encodeEvent(event)])();
    if (!isLeft(result)) return undefined;
    const error = result.left;
    if (error._tag !== "WrongExpectedRevision") {
      unknown += 1;
      if (error._tag !== "UnknownOutcome" || unknown > MAX_UNKNOWN_OUTCOMES)
        throw new StoreError(
          `Token ${JSON.stringify(token)} could not be reserved for run ${JSON.stringify(wait.runId)}.`,
          error,
        );
    }
    const last = await lastReservation(log, stream);
    if (last === undefined) continue;
    const { holder, revision } = last;
    if (holder.runId === wait.runId && holder.key === wait.key) return undefined;
    if (await stands(holder)) return holder;
    expected = revision;
  }
};

/** Who reserved the token of this stream last, whether or not that still stands. */
export const lastHolder = async (log: EventLog, stream: string): Promise<TokenHolder | undefined> =>
  (await lastReservation(log, stream))?.holder;

const lastReservation = async (
  log: EventLog,
  stream: string,
): Promise<{ readonly holder: TokenHolder; readonly revision: number } | undefined> => {
  for await (const recorded of log.read(stream, { direction: "backwards", max: 1 })) {
    const decoded = decodeTokenEvent(recorded);
    if (isLeft(decoded)) throw StoreError.corrupt(decoded.left.message, decoded.left);
    return { holder: decoded.right.data, revision: recorded.revision };
  }
  return undefined;
};
