/**
 * A tenant's part of a store: every namespace lies under the tenant's own, and nothing outside it can be named, searched or listed.
 */
import { TenantIdError } from "./errors.ts";
import type { Store, StoreItem, StoreNamespace } from "./surroundings.ts";

const TENANT_ID = /^[A-Za-z0-9_-]{1,128}$/;

/** The part of `store` that belongs to `tenantId`. Throws `TenantIdError` for an id that is not 1 to 128 letters, digits, `_`, `-`. */
export const tenantStore = (store: Store, tenantId: string): Store => {
  if (typeof tenantId !== "string" || !TENANT_ID.test(tenantId)) throw new TenantIdError(tenantId);
  const prefix = ["nexus:tenant", tenantId];
  const inside = (namespace: StoreNamespace): string[] => [...prefix, ...namespace];
  const outside = <V>(item: StoreItem<V>): StoreItem<V> => ({
    ...item,
    namespace: item.namespace.slice(prefix.length),
  });
  return {
    put: (namespace, key, value, options) => store.put(inside(namespace), key, value, options),
    async get<V>(namespace: StoreNamespace, key: string) {
      const item = await store.get<V>(inside(namespace), key);
      return item === undefined ? undefined : outside(item);
    },
    delete: (namespace, key) => store.delete(inside(namespace), key),
    async search<V>(namespace: StoreNamespace, options?: Parameters<Store["search"]>[1]) {
      const items = await store.search<V>(inside(namespace), options);
      return items.map(outside);
    },
    async listNamespaces({ prefix: below = [], ...options } = {}) {
      const names = await store.listNamespaces({ ...options, prefix: inside(below) });
      return names.map((name) => name.slice(prefix.length));
    },
  };
};
