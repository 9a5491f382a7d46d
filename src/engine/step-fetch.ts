/**
 * A fetch for step bodies: it ends with the walk, and an answer outside 2xx is thrown as the error that says whether to try again.
 */
import { stepSignal } from "./step-context.ts";
import { toStepError } from "./step-errors.ts";

/**
 * Like `fetch`, aborted when the run is cancelled; outside a step only by the caller's own signal.
 *
 * Throws `RetryableError` for 408, 429 and 5xx (not before `Retry-After`), `FatalError` for any other status outside 2xx; its `cause` is
 * the answer with its body discarded. What `fetch` itself rejects with, a broken connection say, passes as it is: an ordinary failure.
 *
 * @example
 * const page = await ctx.step("page", async () => (await stepFetchOrFail("https://example.org/")).text());
 */
export const stepFetchOrFail = async (
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<Response> => {
  const own = init.signal === undefined && input instanceof Request ? input.signal : init.signal;
  const signals = [own, stepSignal()].filter((signal) => signal !== undefined && signal !== null);
  const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
  const answer = await fetch(input, signal === undefined ? init : { ...init, signal });
  if (answer.ok) return answer;
  // An unread body keeps its connection. A body that cannot be discarded must not hide the status.
  await answer.body?.cancel().catch(() => undefined);
  throw toStepError(answer);
};
