/**
 * Retry policy: how often a failing attempt is made again, and how long after. Numbers only; the loop is attempt-loop.ts, and what must
 * never be repeated is for its caller to say.
 *
 * Invariants:
 * - R1 A field that is `undefined` is a field that was not given, whichever policy it stands in.
 * - R2 Whatever the numbers, there is at least one attempt and the number of attempts is bounded, unless `Infinity` was asked for.
 */

/** How a failing attempt is repeated. */
export interface RetryPolicy {
  /** Attempts, the first included; at least 1. Default 1. */
  maxAttempts?: number;
  /** Before the second attempt, in milliseconds. Default 250. */
  initialIntervalMs?: number;
  /** What the wait is multiplied by from one attempt to the next. Default 2. */
  backoffFactor?: number;
  /** The longest wait, in milliseconds. Default 30,000. */
  maxIntervalMs?: number;
  /** Multiplies each wait by a random factor in [0.5, 1). Default `true`. */
  jitter?: boolean;
  /** Whether to repeat after this error; asked about every error, even the last attempt's. Default: the caller's rule. */
  retryOn?(error: unknown, attempt: number): boolean;
}

/** A policy with nothing left open but `retryOn`. */
export type RetryRules = Required<Omit<RetryPolicy, "retryOn">> & Pick<RetryPolicy, "retryOn">;

export const DEFAULT_RETRY: RetryRules = {
  maxAttempts: 1,
  initialIntervalMs: 250,
  backoffFactor: 2,
  maxIntervalMs: 30_000,
  jitter: true,
};

/** Lays policies over `base`, field by field; the last one that gives a field counts. */
export const retryRules = (
  base: RetryRules,
  ...policies: readonly (RetryPolicy | undefined)[]
): RetryRules => {
  let rules: RetryRules | undefined;
  for (const policy of policies) {
    if (policy === undefined) continue;
    rules ??= { ...base };
    for (const [field, value] of Object.entries(policy)) {
      if (value !== undefined) Object.assign(rules, { [field]: value });
    }
    if (!(rules.maxAttempts >= 1)) rules.maxAttempts = 1;
  }
  return rules ?? base;
};

/** Milliseconds to wait after attempt number `failed` (from 1), whole; 0 is no wait. `random` is in [0, 1). */
export const backoffMs = (rules: RetryRules, failed: number, random: () => number = Math.random): number => {
  const delay = Math.min(rules.initialIntervalMs * rules.backoffFactor ** (failed - 1), rules.maxIntervalMs);
  const spread = rules.jitter ? delay * (0.5 + random() / 2) : delay;
  return spread > 0 ? Math.round(spread) : 0;
};
