/**
 * Copies for callers: the SDK edits what it is answered (it decodes a hook's metadata in place), and must not edit a state by it.
 * Records, arrays and dates are copied at every depth; bytes and whatever else a value may hold are shared, as nobody edits those.
 */
export const fresh = <T>(value: T): T => copy(value) as T;

const copy = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return new Date(value);
  if (Array.isArray(value)) return value.map(copy);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copied: Record<string, unknown> = { ...value };
  for (const key of Object.keys(copied)) {
    const one = copied[key];
    if (typeof one === "object" && one !== null) copied[key] = copy(one);
  }
  return copied;
};
