/** Opens the store that a World is told of by a name. The client of EventStoreDB is loaded only where it is used. */
import type { EventLog } from "../../events/event-log.ts";
import { isServerAddress } from "../../store-eventstore/address.ts";
import { createMemoryLog } from "../../store-memory/index.ts";
import { openSqliteLog } from "../../store-sqlite/index.ts";

/** The name of a store, and of an index, that is this process's alone. */
export const MEMORY = ":memory:";

/** Throws `StoreError`, by rejection, where the store cannot be opened. An EventLog is answered as it is. */
export const openStore = async (
  store: string | EventLog,
  durability: "full" | "normal",
): Promise<EventLog> => {
  if (typeof store !== "string") return store;
  if (store === MEMORY) return createMemoryLog();
  if (!isServerAddress(store)) return openSqliteLog(store, { durability });
  const { openEventStoreLog } = await import("../../store-eventstore/index.ts");
  return openEventStoreLog(store);
};
