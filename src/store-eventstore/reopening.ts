/**
 * What is to stay open: opened at once, opened again after a pause when it breaks, and given up when that has failed for too long.
 *
 * A failure that no waiting mends (a login refused, a feature missing) is final at once.
 */
import { StoreError } from "../events/store-error.ts";
import { failureOf } from "./client-errors.ts";
import { pauseMs } from "./pauses.ts";

const FINAL: ReadonlySet<string> = new Set(["denied", "unsupported", "invalid", "group full"]);

const isFinal = (error: unknown): boolean => {
  if (!StoreError.is(error)) return FINAL.has(failureOf(error));
  const { error: trouble } = error;
  if (trouble._tag !== "Unavailable") return true;
  return trouble.cause !== undefined && FINAL.has(failureOf(trouble.cause));
};

export class Reopening {
  readonly #forMs: number;
  readonly #open: () => Promise<void>;
  #failures = 0;
  #failingSince: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** @param forMs how long to go on trying without a success in between, in ms. */
  constructor(forMs: number, open: () => Promise<void>) {
    this.#forMs = forMs;
    this.#open = open;
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  begin(giveUp: (error: unknown) => void): void {
    this.#open().catch((error: unknown) => this.again(error, giveUp));
  }

  /** It is open and something came through. */
  succeeded(): void {
    this.#failures = 0;
    this.#failingSince = undefined;
  }

  /** It broke, or could not be opened. */
  again(error: unknown, giveUp: (error: unknown) => void): void {
    if (this.#stopped) return;
    const now = performance.now();
    this.#failingSince ??= now;
    if (isFinal(error) || now - this.#failingSince >= this.#forMs) {
      giveUp(error);
      return;
    }
    this.#failures += 1;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.begin(giveUp), pauseMs(this.#failures));
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
