/**
 * A map over a map: what is set goes into the upper layer and hides what lies below, which is never touched.
 *
 * It lets a fold go on from a state without copying it and without changing it, so that a batch of decisions can be given up.
 * Values are never `undefined` and are replaced, not edited. Nothing is ever deleted.
 */
export interface MapLike<K, V> {
  readonly size: number;
  get(key: K): V | undefined;
  has(key: K): boolean;
  set(key: K, value: V): unknown;
  values(): Iterable<V>;
  entries(): Iterable<[K, V]>;
}

/** Most layers are made for a handful of events: what a layer needs is made at its first `set`. */
class LayeredMap<K, V> implements MapLike<K, V> {
  readonly #below: MapLike<K, V>;
  #own: Map<K, V> | undefined;
  #added = 0;

  constructor(below: MapLike<K, V>) {
    this.#below = below;
  }

  get size(): number {
    return this.#below.size + this.#added;
  }

  get(key: K): V | undefined {
    return this.#own?.get(key) ?? this.#below.get(key);
  }

  has(key: K): boolean {
    return this.#own?.has(key) === true || this.#below.has(key);
  }

  set(key: K, value: V): void {
    if (!this.has(key)) this.#added += 1;
    this.#own ??= new Map();
    this.#own.set(key, value);
  }

  *values(): Iterable<V> {
    for (const [, value] of this.entries()) yield value;
  }

  *entries(): Iterable<[K, V]> {
    for (const entry of this.#below.entries()) if (this.#own?.has(entry[0]) !== true) yield entry;
    if (this.#own !== undefined) yield* this.#own.entries();
  }
}

export const layeredOver = <K, V>(below: MapLike<K, V>): MapLike<K, V> => new LayeredMap(below);
