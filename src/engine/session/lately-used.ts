/**
 * What was lately used, by name, so that a hot stream is not read again and memory stays bounded.
 *
 * Not here: what is kept. One that is not idle stays, whatever the bounds say: there would be two of it.
 *
 * Invariant: the least recently used idle one goes first.
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

/** The events are counted when so many were taken up. */
const WEIGH_EVERY = 64;

export class LatelyUsed<T> {
  readonly #options: LatelyUsedOptions<T>;
  /** The least recently used comes first. */
  readonly #items = new Map<string, T>();
  #taken = 0;

  constructor(options: LatelyUsedOptions<T>) {
    this.#options = options;
  }

  get size(): number {
    return this.#items.size;
  }

  /** The one of this name, made where there is none. */
  get(name: string): T {
    const held = this.#items.get(name);
    if (held !== undefined) this.#items.delete(name);
    else this.#makeRoom();
    const item = held ?? this.#options.make(name);
    this.#items.set(name, item);
    return item;
  }

  #makeRoom(): void {
    const { maxItems, maxEvents, eventsOf } = this.#options;
    this.#drop(() => this.#items.size < maxItems);
    this.#taken += 1;
    if (this.#taken % WEIGH_EVERY !== 0) return;
    let events = 0;
    for (const item of this.#items.values()) events += eventsOf(item);
    this.#drop(
      () => events <= maxEvents,
      (item) => {
        events -= eventsOf(item);
      },
    );
  }

  #drop(enough: () => boolean, dropped: (item: T) => void = () => {}): void {
    for (const [name, item] of this.#items) {
      if (enough()) return;
      if (!this.#options.isIdle(item)) continue;
      this.#items.delete(name);
      dropped(item);
    }
  }
}
