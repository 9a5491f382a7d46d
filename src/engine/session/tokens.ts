/**
 * Tokens of hooks: reservations (reservations.ts) in the streams `hook-<token>`. A run that is over holds no tokens, without anybody having
 * to release them.
 */
import type { EventLog } from "../../events/event-log.ts";
import { hookStream } from "../../events/stream-names.ts";
import { isTerminal } from "../../projections/run-state.ts";
import { JournalConflictError } from "../journal-conflict-error.ts";
import { lastHolder, reserve, type TokenHolder } from "./reservations.ts";
import type { SessionPool } from "./session-pool.ts";

/** Who reserved the token last, whether or not that run still lives. */
export const tokenHolder = (log: EventLog, token: string): Promise<TokenHolder | undefined> =>
  lastHolder(log, hookStream(token));

/**
 * Makes `wait` the holder of `token`. Throws {@link JournalConflictError} while another wait of a live run holds it, and
 * StoreError.
 */
export const reserveToken = async (
  log: EventLog,
  sessions: SessionPool,
  token: string,
  { at, ...wait }: TokenHolder & { readonly at: number },
): Promise<void> => {
  const stands = async ({ runId }: TokenHolder): Promise<boolean> => {
    const state = await sessions.get(runId).current();
    return state.created !== undefined && !isTerminal(state.status);
  };
  const holder = await reserve(log, { token, stream: hookStream(token), wait, at, stands });
  if (holder === undefined) return;
  throw new JournalConflictError(
    `Token ${JSON.stringify(token)} is already held by run ${JSON.stringify(holder.runId)} (${holder.key}), so run ` +
      `${JSON.stringify(wait.runId)} (${wait.key}) cannot wait on it. Give every wait a token of its own, for example by adding the run id.`,
  );
};
