/**
 * One attempt of a step's body: its signal, its limits, its heartbeat. How many attempts there are is attempt-loop.ts.
 *
 * Invariants:
 * - A1 An attempt that exceeds a limit has failed before its signal aborts: a body that returns because of the abort comes too late.
 *   What a body does after that is ignored, a rejection too.
 * - A2 When the attempt is over it leaves neither timer nor listener behind, and its heartbeat does nothing any more (law L10).
 * - A3 A body that asks for no signal costs none: the controller is made when it is asked for, or when a limit needs it.
 * - A4 A limit longer than a timer can take is waited for in slices (between two heartbeats: cut to that). While it runs it keeps the
 *   process alive, as the attempt does.
 */
import { sliceDelay } from "../deadline.ts";

/** In milliseconds; one that is absent or no finite number is no limit. */
export interface AttemptLimits {
  readonly runMs?: number | undefined;
  readonly idleMs?: number | undefined;
}

/** Which limit: the whole attempt's, or the one between two signs of life. */
export type LimitKind = "run" | "idle";

/** What became of an attempt; `exceeded` where a limit ended it. */
export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown; readonly exceeded?: LimitKind };

const isLimit = (ms: number | undefined): ms is number => ms !== undefined && Number.isFinite(ms);

export class Attempt {
  readonly #parent: AbortSignal;
  #controller: AbortController | undefined;
  #over = false;
  #idle: NodeJS.Timeout | undefined;
  #run: NodeJS.Timeout | undefined;

  constructor(parent: AbortSignal) {
    this.#parent = parent;
  }

  /** Aborted when the signal above it is, with the same reason, or when a limit is exceeded. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#parent.aborted) this.#pass();
      else if (!this.#over) this.#parent.addEventListener("abort", this.#pass, { once: true });
    }
    return this.#controller.signal;
  }

  readonly heartbeat = (): void => {
    if (!this.#over) this.#idle?.refresh();
  };

  /** Starts the limits; `exceed` is called once, for the first that is exceeded. */
  limit({ runMs, idleMs }: AttemptLimits, exceed: (kind: LimitKind, ms: number) => void): void {
    if (isLimit(runMs)) this.#armRun(runMs, () => exceed("run", runMs));
    if (isLimit(idleMs)) {
      this.#idle = setTimeout(() => exceed("idle", idleMs), sliceDelay(idleMs));
    }
  }

  /** The attempt is over; `aborted` where a limit ended it. */
  end(aborted: boolean): void {
    this.#over = true;
    clearTimeout(this.#run);
    clearTimeout(this.#idle);
    if (aborted) {
      this.#controller ??= new AbortController();
      this.#controller.abort();
    }
    if (this.#controller !== undefined) this.#parent.removeEventListener("abort", this.#pass);
  }

  readonly #pass = (): void => this.#controller?.abort(this.#parent.reason);

  #armRun(leftMs: number, exceed: () => void): void {
    const slice = sliceDelay(leftMs);
    this.#run = setTimeout(() => (leftMs > slice ? this.#armRun(leftMs - slice, exceed) : exceed()), slice);
  }
}

export interface AttemptTerms {
  /** The signal above the attempt. */
  readonly signal: AbortSignal;
  readonly limits: AttemptLimits;
  /** The error of an attempt that exceeded a limit of `ms` milliseconds. */
  readonly exceeded: (kind: LimitKind, ms: number) => Error;
}

/** Runs `body` once. Never rejects: a failure, thrown at once or later, is an outcome. */
export const runAttempt = async <T>(
  body: (attempt: Attempt) => T | Promise<T>,
  { signal, limits, exceeded }: AttemptTerms,
): Promise<Outcome<T>> => {
  const attempt = new Attempt(signal);
  const limited = isLimit(limits.runMs) || isLimit(limits.idleMs);
  if (limited) return runLimited(attempt, body, limits, exceeded);
  const outcome = await outcomeOf(attempt, body);
  attempt.end(false);
  return outcome;
};

const outcomeOf = async <T>(
  attempt: Attempt,
  body: (attempt: Attempt) => T | Promise<T>,
): Promise<Outcome<T>> => {
  try {
    return { ok: true, value: await body(attempt) };
  } catch (error) {
    return { ok: false, error };
  }
};

const runLimited = <T>(
  attempt: Attempt,
  body: (attempt: Attempt) => T | Promise<T>,
  limits: AttemptLimits,
  exceeded: AttemptTerms["exceeded"],
): Promise<Outcome<T>> =>
  new Promise((resolve) => {
    let over = false;
    const settle = (outcome: Outcome<T>): void => {
      if (over) return;
      over = true;
      resolve(outcome);
      attempt.end(!outcome.ok && outcome.exceeded !== undefined);
    };
    attempt.limit(limits, (kind, ms) => settle({ ok: false, error: exceeded(kind, ms), exceeded: kind }));
    outcomeOf(attempt, body).then(settle);
  });
