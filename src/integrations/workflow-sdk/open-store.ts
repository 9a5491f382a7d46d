/** Opens the store that a World is told of by a name. A store of EventStoreDB is loaded only where it is used. */
import type { EventLog } from "../../events/event-log.ts";
import { createMemoryLog } from "../../store-memory/index.ts";
import { openSqliteLog } from "../../store-sqlite/index.ts";

const MEMORY = ":memory:";

export const openStore = async (store: string | EventLog): Promise<EventLog> => {
  if (typeof store !== "string") return store;
  if (store === MEMORY) return createMemoryLog();
  return openSqliteLog(store);
};
