/**
 * Watches the store's log while others write to it, as any subscriber can: which steps are claimed and not settled, which tokens are
 * waited on. Events are read as the plain JSON they are.
 */
import type { EventLog, RecordedEvent } from "../src/index.ts";

export interface OpenClaim {
  readonly runId: string;
  readonly key: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** Whether this step had been claimed before. */
  readonly again: boolean;
}

export class LogWatch {
  /** Claimed and not settled, as far as the watch has looked. */
  readonly open = new Map<string, OpenClaim>();
  readonly tokens = new Set<string>();
  readonly claims: OpenClaim[] = [];
  settled = 0;
  #waiters = new Set<() => void>();
  readonly #subscription: { unsubscribe(): void };

  constructor(log: EventLog) {
    this.#subscription = log.subscribe({ after: "start", filter: { streamPrefix: "run-" } }).subscribe({
      next: (item) => {
        if (!("type" in item)) return;
        this.#note(item);
        for (const look of this.#waiters) look();
      },
    });
  }

  /** Answers once `wanted` answers something. Throws, saying `what` was waited for, after `timeoutMs`. */
  until<T>(what: string, wanted: () => T | undefined, timeoutMs = 20_000): Promise<T> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = wanted();
        if (found === undefined) return;
        clearTimeout(late);
        this.#waiters.delete(look);
        resolve(found);
      };
      const late = setTimeout(() => {
        this.#waiters.delete(look);
        reject(new Error(`Waited ${timeoutMs} ms for ${what}, and the log does not show it.`));
      }, timeoutMs);
      this.#waiters.add(look);
      look();
    });
  }

  stop(): void {
    this.#subscription.unsubscribe();
  }

  #note({ stream, type, data }: RecordedEvent): void {
    const key = String(data.key);
    const place = `${stream} ${key}`;
    if (type === "AttemptClaimed") {
      const again = this.claims.some((one) => one.key === key && `run-${one.runId}` === stream);
      const claim = { runId: stream.slice("run-".length), key, at: Number(data.at), again };
      this.claims.push(claim);
      this.open.set(place, claim);
    } else if (type === "StepSettled") {
      this.settled += 1;
      this.open.delete(place);
    } else if (type === "HookOpened") this.tokens.add(String(data.token));
  }
}
