/**
 * What was lately used, by name, so that a hot stream is not read again and memory stays bounded.
 *
 * Not here: what is kept. One that is not idle stays, whatever the bounds say: there would be two of it.
 *
 * Invariant: the least recently used idle one goes first; among those that are retired and among the others, each by themselves.
 */
export interface LatelyUsedOptions<T> {
  readonly make: (name: string) => T;
  /** How many are kept. */
  readonly maxItems: number;
  /** How many folded events are kept in all of them; counted now and then, so that it may be exceeded for a while. */
  readonly maxEvents: number;
  readonly eventsOf: (item: T) => number;
  readonly isIdle: (item: T) => boolean;
}

/** How many are kept of those that will hardly be asked for again. */
const MAX_RETIRED = 64;
/** The events are counted when so many were taken up. */
const WEIGH_EVERY = 64;

export class LatelyUsed<T> {
  readonly #options: LatelyUsedOptions<T>;
  /** The least recently used comes first. */
  readonly #items = new Map<string, T>();
  readonly #retired = new Map<string, T>();
  #taken = 0;

  constructor(options: LatelyUsedOptions<T>) {
    this.#options = options;
  }

  get size(): number {
    return this.#items.size + this.#retired.size;
  }

  /** The one of this name where there is one, without its counting as used. */
  peek(name: string): T | undefined {
    return this.#items.get(name) ?? this.#retired.get(name);
  }

  /** The one of this name, made where there is none. */
  get(name: string): T {
    const retired = this.#retired.get(name);
    if (retired !== undefined) return retired;
    const held = this.#items.get(name);
    if (held !== undefined) this.#items.delete(name);
    else this.#makeRoom();
    const item = held ?? this.#options.make(name);
    this.#items.set(name, item);
    return item;
  }

  /**
   * It will hardly be asked for again, and soon if at all: it is kept among as few as that takes. What stays for long is copied by the
   * garbage collector again and again.
   */
  retire(name: string): void {
    const item = this.#items.get(name);
    if (item === undefined) return;
    this.#items.delete(name);
    this.#retired.set(name, item);
    this.#drop(this.#retired, () => this.#retired.size <= MAX_RETIRED);
  }

  #makeRoom(): void {
    const { maxItems, maxEvents, eventsOf } = this.#options;
    this.#drop(this.#items, () => this.#items.size < maxItems);
    this.#taken += 1;
    if (this.#taken % WEIGH_EVERY !== 0) return;
    let events = 0;
    for (const items of [this.#retired, this.#items])
      for (const item of items.values()) events += eventsOf(item);
    const enough = (): boolean => events <= maxEvents;
    const dropped = (item: T): void => {
      events -= eventsOf(item);
    };
    this.#drop(this.#retired, enough, dropped);
    this.#drop(this.#items, enough, dropped);
  }

  #drop(from: Map<string, T>, enough: () => boolean, dropped: (item: T) => void = () => {}): void {
    for (const [name, item] of from) {
      if (enough()) return;
      if (!this.#options.isIdle(item)) continue;
      from.delete(name);
      dropped(item);
    }
  }
}
