/** A small long-term memory, as somebody would write one: it knows nothing of tenants. */
import type { Store, StoreItem } from "../../src/threads/index.ts";

export interface NoteStore extends Store {
  /** The namespaces that hold something, sorted, the shorter ones first. */
  namespaces(): string[][];
}

export const noteStore = (): NoteStore => {
  const items = new Map<string, StoreItem>();
  const place = (namespace: readonly string[], key: string): string => JSON.stringify([namespace, key]);
  const namespaces = (): string[][] => {
    const all = new Map([...items.values()].map(({ namespace }) => [JSON.stringify(namespace), namespace]));
    return [...all.values()].sort((a, b) => a.length - b.length || (String(a) < String(b) ? -1 : 1));
  };
  const under = (prefix: readonly string[], namespace: readonly string[]): boolean =>
    prefix.every((part, index) => namespace[index] === part);
  return {
    async put(namespace, key, value) {
      const at = "2026-03-01T12:00:00.000Z";
      items.set(place(namespace, key), {
        namespace: [...namespace],
        key,
        value,
        createdAt: at,
        updatedAt: at,
      });
    },
    get: async <V>(namespace: readonly string[], key: string) =>
      items.get(place(namespace, key)) as StoreItem<V> | undefined,
    async delete(namespace, key) {
      items.delete(place(namespace, key));
    },
    search: async <V>(prefix: readonly string[]) =>
      [...items.values()].filter(({ namespace }) => under(prefix, namespace)) as StoreItem<V>[],
    listNamespaces: async ({ prefix = [] } = {}) =>
      namespaces().filter((namespace) => under(prefix, namespace)),
    namespaces,
  };
};
