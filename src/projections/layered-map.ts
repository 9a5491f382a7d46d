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

export const layeredOver = <K, V>(below: MapLike<K, V>): MapLike<K, V> => {
  const own = new Map<K, V>();
  let added = 0;
  const layered: MapLike<K, V> = {
    get size() {
      return below.size + added;
    },
    get: (key) => own.get(key) ?? below.get(key),
    has: (key) => own.has(key) || below.has(key),
    set: (key, value) => {
      if (!layered.has(key)) added += 1;
      own.set(key, value);
    },
    *values() {
      for (const [, value] of layered.entries()) yield value;
    },
    *entries() {
      for (const entry of below.entries()) if (!own.has(entry[0])) yield entry;
      yield* own.entries();
    },
  };
  return layered;
};
