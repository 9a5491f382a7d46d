/**
 * Between two tries of a step in one walk: how long to wait, the waiting, and the line that tells of it. How many tries there are is the
 * attempt loop's matter.
 *
 * Invariants:
 * - B1 There is no curve: a RetryableError says when, every other failure is tried again at once.
 * - B2 The wait ends with the walk and leaves neither timer nor listener behind (law L10).
 * - B3 While it lasts it keeps the process alive: the step is in flight and holds its claim and its place, as it would in the middle
 *   of a request; a process that left now would leave an abandoned step.
 */
import { sliceDelay } from "./deadline.ts";
import { messageOf, RetryableError } from "./step-errors.ts";

/** The longest wait between two tries in a process, in milliseconds; a later `retryAfter` is cut to it. */
export const MAX_IN_PROCESS_RETRY_MS = 30_000;

/** Milliseconds to wait before the next try; `now` in epoch milliseconds. */
export const retryDelayMs = (error: unknown, now: number): number => {
  if (!RetryableError.is(error)) return 0;
  const delay = error.retryAfter.getTime() - now;
  return Number.isNaN(delay) ? 0 : Math.min(Math.max(delay, 0), MAX_IN_PROCESS_RETRY_MS);
};

/**
 * Resolves after `ms` milliseconds (at once, without a timer, for 0 or less), or rejects with the signal's reason. A wait longer than one
 * timer can take is waited for in slices.
 */
export const waitMs = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    if (!(ms > 0)) return resolve();
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const arm = (left: number): void => {
      const slice = sliceDelay(left);
      timer = setTimeout(() => {
        if (left > slice) return arm(left - slice);
        signal?.removeEventListener("abort", onAbort);
        resolve();
      }, slice);
    };
    arm(ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });

/** The progress line of a try that failed and will be repeated. */
export const retryNarration = (facts: {
  name: string;
  /** The try that failed, from 1. */
  attempt: number;
  maxAttempts: number;
  delayMs: number;
  error: unknown;
}): string => {
  const message = messageOf(facts.error);
  return (
    `Step ${facts.name} failed on attempt ${facts.attempt} of ${facts.maxAttempts}, ` +
    `retrying in ${facts.delayMs}ms: ${message}${causeOf(facts.error, message)}`
  );
};

/** One level deep, and only what the message does not say already. */
const causeOf = (error: unknown, message: string): string => {
  if (!(error instanceof Error)) return "";
  const { cause } = error;
  const text = typeof cause === "string" ? cause : hasMessage(cause) ? cause.message : "";
  return text === "" || message.includes(text) ? "" : ` — caused by ${text}`;
};

const hasMessage = (value: unknown): value is { readonly message: string } =>
  typeof value === "object" && value !== null && typeof (value as { message?: unknown }).message === "string";
