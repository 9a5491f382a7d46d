import { expect, test } from "vitest";
import { TenantIdError } from "./errors.ts";
import type { Store, StoreItem } from "./surroundings.ts";
import { tenantStore } from "./tenant-store.ts";

/** A store of a few lines: namespaces are compared part by part. */
const smallStore = (): Store => {
  const items = new Map<string, StoreItem>();
  const at = "2026-01-01T00:00:00.000Z";
  const under = (prefix: readonly string[] = []) =>
    [...items.values()].filter(({ namespace }) => prefix.every((part, index) => namespace[index] === part));
  return {
    put(namespace, key, value) {
      const item = { namespace: [...namespace], key, value, createdAt: at, updatedAt: at };
      items.set(JSON.stringify([namespace, key]), item);
    },
    get: <V>(namespace: readonly string[], key: string) =>
      items.get(JSON.stringify([namespace, key])) as StoreItem<V> | undefined,
    delete(namespace, key) {
      items.delete(JSON.stringify([namespace, key]));
    },
    search: <V>(prefix: readonly string[]) => under(prefix) as StoreItem<V>[],
    listNamespaces: (options) => under(options?.prefix).map(({ namespace }) => namespace),
  };
};

test("a tenant sees and names its own part only", async () => {
  const whole = smallStore();
  const [acme, globex] = [tenantStore(whole, "acme"), tenantStore(whole, "globex")];
  await whole.put(["notes"], "k", "nobody's");
  await acme.put(["notes"], "k", "acme's");
  expect(await acme.get(["notes"], "k")).toMatchObject({ namespace: ["notes"], value: "acme's" });
  expect(await globex.get(["notes"], "k")).toBeUndefined();
  expect(await whole.get(["nexus:tenant", "acme", "notes"], "k")).toMatchObject({ value: "acme's" });
  expect(await acme.search([])).toMatchObject([{ namespace: ["notes"], key: "k" }]);
  expect(await acme.listNamespaces()).toEqual([["notes"]]);
  expect(await acme.listNamespaces({ prefix: ["other"] })).toEqual([]);
  expect(await globex.search([])).toEqual([]);
  await globex.delete(["notes"], "k");
  await acme.delete(["notes"], "k");
  expect(await acme.get(["notes"], "k")).toBeUndefined();
  expect(await whole.search([])).toHaveLength(1);
});

test.each(["", "a/b", "a b", "x".repeat(129), 7 as unknown as string])("%j is no tenant", (tenantId) => {
  expect(() => tenantStore(smallStore(), tenantId)).toThrow(TenantIdError);
});
