/** What a SQLite file has of threads, without a process for it. */
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { logCheckpointer } from "../../src/threads/index.ts";

/** The latest checkpoint of a thread in this file. */
export const recordedIn = (store: string) => async (threadId: string) => {
  const log = openSqliteLog(store);
  try {
    return structuredClone(await logCheckpointer(log).get(threadId));
  } finally {
    await log.close();
  }
};
