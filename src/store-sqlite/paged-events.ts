/**
 * Events that are read page by page, handed out one by one. Between two pages the event loop turns.
 *
 * It does what an async generator would, with one promise an event instead of several: whoever resumes a run waits for all of its events.
 */
import type { RecordedEvent } from "../events/event-log.ts";
import { turn } from "./turns.ts";

/** Some events, perhaps none; `atEnd` where no page follows. */
export interface EventPage {
  readonly events: readonly RecordedEvent[];
  readonly atEnd: boolean;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

export class PagedEvents implements AsyncIterableIterator<RecordedEvent, undefined> {
  readonly #load: () => EventPage;
  #page: EventPage | undefined;
  #at = 0;
  /** The next page, while somebody waits for it. */
  #loading: Promise<void> | undefined;

  /** `load` reads the next page, the first time at the first call of `next`; what it throws ends the events. */
  constructor(load: () => EventPage) {
    this.#load = load;
  }

  next(): Promise<IteratorResult<RecordedEvent, undefined>> {
    if (this.#loading !== undefined) return this.#loading.then(() => this.next());
    const value = this.#page?.events[this.#at];
    if (value !== undefined) {
      this.#at += 1;
      return Promise.resolve({ done: false, value });
    }
    if (this.#page?.atEnd === true) return Promise.resolve(DONE);
    if (this.#page !== undefined) {
      this.#loading = turn().then(() => this.#turnPage());
      return this.#loading.then(() => this.next());
    }
    try {
      this.#turnPage();
    } catch (error) {
      return Promise.reject(error);
    }
    return this.next();
  }

  return(): Promise<IteratorResult<RecordedEvent, undefined>> {
    this.#end();
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #turnPage(): void {
    this.#loading = undefined;
    if (this.#page?.atEnd === true) return;
    try {
      this.#page = this.#load();
      this.#at = 0;
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  #end(): void {
    this.#page = { events: [], atEnd: true };
  }
}
