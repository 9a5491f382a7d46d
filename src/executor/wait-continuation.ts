/**
 * How a wait's continuation is sent: the delay and the key. A queue drops a second message with a key that is in use, which is what
 * keeps many observers of one wait from sending many; so a continuation that arrives before its wait is over needs another key to send
 * the next one.
 */

/** The longest delay of one continuation, in seconds; longer waits go in hops. */
export const WAIT_CONTINUATION_MAX_DELAY_SECONDS = 82_800;

/** With no more than this left, in seconds, a continuation may have come early, and gets a key of its own. */
export const NEAR_ELAPSED_WAIT_THRESHOLD_SECONDS = 2;

/** How to send it. */
export interface WaitContinuationDispatch {
  readonly delaySeconds: number;
  readonly idempotencyKey: string;
}

/** For a wait with so many seconds left; `nowMs` in epoch milliseconds. */
export const getWaitContinuationDispatch = (
  timeoutSeconds: number,
  waitCorrelationId: string,
  nowMs: number = Date.now(),
): WaitContinuationDispatch => {
  if (timeoutSeconds > WAIT_CONTINUATION_MAX_DELAY_SECONDS) {
    const hop = Math.ceil(timeoutSeconds / WAIT_CONTINUATION_MAX_DELAY_SECONDS);
    return {
      delaySeconds: WAIT_CONTINUATION_MAX_DELAY_SECONDS,
      idempotencyKey: `${waitCorrelationId}:hop-${hop}`,
    };
  }
  const near = timeoutSeconds <= NEAR_ELAPSED_WAIT_THRESHOLD_SECONDS;
  return {
    delaySeconds: timeoutSeconds,
    idempotencyKey: near ? `${waitCorrelationId}:${Math.floor(nowMs / 1000)}` : waitCorrelationId,
  };
};
