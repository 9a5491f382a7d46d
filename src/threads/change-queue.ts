/**
 * The writes of a run, one at a time and in order. What gathers while one is under way is written together where the checkpointer can.
 *
 * Invariants:
 * - W1 After a write that failed nothing more is written: every later change is refused with the same error, and with it the run.
 * - W2 `written` is the number of the latest checkpoint that is known to be durable.
 */
import type { CheckpointChange, ThreadWriter } from "./checkpoint-writer.ts";

interface Waiting {
  readonly change: CheckpointChange;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class ChangeQueue {
  readonly #writer: ThreadWriter;
  readonly #onWritten: (change: CheckpointChange) => void;
  #waiting: Waiting[] = [];
  #busy = false;
  #failure: { readonly error: unknown } | undefined;
  #written: number;

  constructor(writer: ThreadWriter, written: number, onWritten: (change: CheckpointChange) => void) {
    this.#writer = writer;
    this.#written = written;
    this.#onWritten = onWritten;
  }

  get written(): number {
    return this.#written;
  }

  /** Why nothing more is written. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** Resolves when the change is durable. Rejects with the checkpointer's error. */
  add(change: CheckpointChange): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure.error);
      this.#waiting.push({ change, resolve, reject });
      if (this.#busy) return;
      this.#busy = true;
      process.nextTick(this.#writeAll);
    });
  }

  readonly #writeAll = async (): Promise<void> => {
    while (this.#waiting.length > 0) {
      const batch = this.#writer.oneByOne === true ? this.#waiting.splice(0, 1) : this.#waiting.splice(0);
      try {
        await this.#writer.write(batch.map(({ change }) => change));
      } catch (error) {
        this.#failure = { error };
        for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(error);
        break;
      }
      for (const { change, resolve } of batch) {
        this.#written = change.step;
        this.#onWritten(change);
        resolve();
      }
    }
    this.#busy = false;
  };
}
