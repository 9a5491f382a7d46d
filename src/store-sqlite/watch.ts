/**
 * Looks at regular intervals whether another process wrote. A log where nothing happens for a while costs next to nothing: then
 * the system tells when the write-ahead log changes, and the looks become few. While there is work the watch is off, because it
 * would report every commit of this process too.
 *
 * - V1 Heartbeats and acks, of this process or another, are seen and leave the log idle; events do not.
 * - V2 Where the system reports nothing (or not for this disk), the few looks remain: no change stays unseen for longer than
 *   {@link IDLE_INTERVAL_MS}, or the interval asked for if that is longer.
 */
import { type FSWatcher, realpathSync, watch } from "node:fs";
import { after, elapsed, every, stopAfter, stopEvery } from "./turns.ts";

const IDLE_INTERVAL_MS = 250;
/** Quiet for so long is idle. */
const QUIET_MS = 1_000;
const FIRST_FOLLOW_MS = 1;
const LAST_FOLLOW_MS = 64;

export class Watch {
  readonly #path: string;
  readonly #intervalMs: number;
  /** Looks, and answers whether there were new events. */
  readonly #look: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #watcher: FSWatcher | undefined;
  #following: NodeJS.Timeout | undefined;
  #quietSince = 0;
  #stirred = false;

  constructor(path: string, intervalMs: number, look: () => boolean) {
    this.#path = path;
    this.#intervalMs = intervalMs;
    this.#look = look;
  }

  get running(): boolean {
    return this.#timer !== undefined;
  }

  start(): void {
    if (!this.running) this.#attend();
  }

  stop(): void {
    stopEvery(this.#timer);
    this.#timer = undefined;
    this.#unwatch();
  }

  /** This process appended: it is not idle. */
  stir(): void {
    this.#stirred = true;
  }

  #attend(): void {
    this.#unwatch();
    this.#quietSince = elapsed();
    this.#tickEvery(this.#intervalMs);
  }

  #tickEvery(intervalMs: number): void {
    stopEvery(this.#timer);
    this.#timer = every(() => this.#tick(), intervalMs);
    this.#timer.unref();
  }

  #tick(): void {
    const stirred = this.#look() || this.#stirred;
    this.#stirred = false;
    if (!this.running) return;
    if (stirred) {
      if (this.#watcher !== undefined) this.#attend();
      this.#quietSince = elapsed();
    } else if (this.#watcher === undefined && elapsed() - this.#quietSince >= QUIET_MS) this.#rest();
  }

  #rest(): void {
    this.#quietSince = elapsed();
    if (this.#intervalMs >= IDLE_INTERVAL_MS || this.#path === ":memory:") return;
    try {
      const watcher = watch(`${realpathSync(this.#path)}-wal`, { persistent: false }, () =>
        this.#follow(FIRST_FOLLOW_MS),
      );
      watcher.on("error", () => this.#attend());
      this.#watcher = watcher;
    } catch {
      // The system has no watches (left): the short interval stays, and another try follows.
      return;
    }
    this.#tickEvery(IDLE_INTERVAL_MS);
    // What was written just before the watch was set up is not reported.
    this.#tick();
  }

  /**
   * The write-ahead log is written a moment before the commit can be seen, by as much as an fsync takes: a report is followed by
   * looks at growing distances.
   */
  #follow(delayMs: number): void {
    if (this.#watcher === undefined || this.#following !== undefined || delayMs > LAST_FOLLOW_MS) return;
    this.#following = after(() => {
      this.#following = undefined;
      this.#tick();
      this.#follow(delayMs * 2);
    }, delayMs);
    this.#following.unref();
  }

  #unwatch(): void {
    stopAfter(this.#following);
    this.#following = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
