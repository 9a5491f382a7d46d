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

/** Most layers are made for one event or none: the first entry is kept as it is, and a map is made for the second. */
class LayeredMap<K, V> implements MapLike<K, V> {
  readonly #below: MapLike<K, V>;
  #first: readonly [K, V] | undefined;
  #own: Map<K, V> | undefined;
  #added = 0;

  constructor(below: MapLike<K, V>) {
    this.#below = below;
  }

  get size(): number {
    return this.#below.size + this.#added;
  }

  get(key: K): V | undefined {
    return this.#upper(key) ?? this.#below.get(key);
  }

  has(key: K): boolean {
    return this.#upper(key) !== undefined || this.#below.has(key);
  }

  set(key: K, value: V): void {
    if (!this.has(key)) this.#added += 1;
    if (this.#own !== undefined) this.#own.set(key, value);
    else if (this.#first === undefined || this.#first[0] === key) this.#first = [key, value];
    else this.#own = new Map([this.#first, [key, value]]);
  }

  #upper(key: K): V | undefined {
    if (this.#own !== undefined) return this.#own.get(key);
    return this.#first?.[0] === key ? this.#first[1] : undefined;
  }

  *values(): Iterable<V> {
    for (const [, value] of this.entries()) yield value;
  }

  *entries(): Iterable<[K, V]> {
    const own = this.#own ?? new Map(this.#first === undefined ? [] : [this.#first]);
    for (const entry of this.#below.entries()) if (!own.has(entry[0])) yield entry;
    yield* own.entries();
  }
}

export const layeredOver = <K, V>(below: MapLike<K, V>): MapLike<K, V> => new LayeredMap(below);
