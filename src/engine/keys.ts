/**
 * Journal keys: the identity of everything a walk asks for, made of a name and how often that name was asked for before. Two places in a
 * body that use one name share its counter, and nothing here can tell.
 *
 * Invariants:
 * - K1 Counters belong to one walk and move at the call, before any await, so keys follow the order of the source.
 * - K2 Five families count apart: steps by name, sleeps by label, hooks by token, and the reads by kind.
 * - K3 Among step entries, and among waits, a key means one thing; a step may be named `sleep!a` and share the text of its key with a
 *   wait, so whoever mixes the two has to say which is meant.
 */

/** The three values that are read once and remembered. */
export type DeterminismKind = "now" | "random" | "uuid";

export interface Keys {
  /** `<name>#<n>` */
  step(name: string): string;
  /** `sleep!<label>#<n>` */
  sleep(label: string): string;
  /** `hook!<token>#<n>`, and the key of its deadline, `hookTimeout!<token>#<n>` with the same n. */
  hook(token: string): { readonly key: string; readonly timeoutKey: string };
  /** `now!<n>`, `random!<n>` or `uuid!<n>` */
  read(kind: DeterminismKind): string;
}

const counter = (): ((name: string) => number) => {
  const counts = new Map<string, number>();
  return (name) => {
    const n = counts.get(name) ?? 0;
    counts.set(name, n + 1);
    return n;
  };
};

/** The keys of one walk, all counters at 0. */
export const createKeys = (): Keys => {
  const steps = counter();
  const sleeps = counter();
  const hooks = counter();
  const reads = counter();
  return {
    step: (name) => `${name}#${steps(name)}`,
    sleep: (label) => `sleep!${label}#${sleeps(label)}`,
    hook: (token) => {
      const n = hooks(token);
      return { key: `hook!${token}#${n}`, timeoutKey: `hookTimeout!${token}#${n}` };
    },
    read: (kind) => `${kind}!${reads(kind)}`,
  };
};

const READ = /^(?:now|random|uuid)!\d+$/;

/** Whether a step entry is a determinism read. A step whose name looks like one (`now!x`) has a key that ends in `#n`, and is none. */
export const isReadKey = (key: string): boolean => READ.test(key);

/** Splits at the last `#` or `!`. A key without either is all name, at occurrence 0. */
export const splitKey = (key: string): { readonly name: string; readonly occurrence: number } => {
  const at = Math.max(key.lastIndexOf("#"), key.lastIndexOf("!"));
  const digits = key.slice(at + 1);
  if (at < 0 || !/^\d+$/.test(digits)) return { name: key, occurrence: 0 };
  return { name: key.slice(0, at), occurrence: Number(digits) };
};
