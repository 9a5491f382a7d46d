/**
 * The stream of a run: what it has said and nobody has read yet. The run does not wait for its reader, and does not depend on there
 * being one.
 *
 * Invariants:
 * - Q1 A reader gets every event, however late it comes, and then the end or the error, once.
 * - Q2 A reader that leaves early ends the keeping of events, not the run. An error that nobody reads is nobody's unhandled rejection.
 */
type Reader<T> = {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (error: unknown) => void;
};

const END = { done: true, value: undefined } as const;

export class EventQueue<T> implements AsyncIterableIterator<T, undefined> {
  #events: T[] = [];
  #next = 0;
  #readers: Reader<T>[] = [];
  #over: { readonly error?: unknown } | undefined;
  #left = false;

  push(event: T): void {
    if (this.#left || this.#over !== undefined) return;
    const reader = this.#readers.shift();
    if (reader === undefined) this.#events.push(event);
    else reader.resolve({ done: false, value: event });
  }

  end(): void {
    this.#finish({});
  }

  fail(error: unknown): void {
    this.#finish({ error });
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#next < this.#events.length) {
      const value = this.#events[this.#next] as T;
      this.#next += 1;
      if (this.#next === this.#events.length) {
        this.#events = [];
        this.#next = 0;
      }
      return Promise.resolve({ done: false, value });
    }
    if (this.#left) return Promise.resolve(END);
    const over = this.#over;
    if (over === undefined) return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
    if (!("error" in over)) return Promise.resolve(END);
    this.#over = {};
    return Promise.reject(over.error);
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#left = true;
    this.#events = [];
    this.#next = 0;
    for (const reader of this.#readers.splice(0)) reader.resolve(END);
    return Promise.resolve(END);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #finish(over: { readonly error?: unknown }): void {
    if (this.#over !== undefined) return;
    this.#over = over;
    const [first, ...others] = this.#readers.splice(0);
    if (first === undefined) return;
    if ("error" in over) {
      this.#over = {};
      first.reject(over.error);
    } else first.resolve(END);
    for (const reader of others) reader.resolve(END);
  }
}
