/** The system events a new database is born with: an empty one is a state that no client ever meets. */
import { randomUUID } from "node:crypto";
import type { Database } from "./database.ts";
import { metadataEvent } from "./database.ts";
import { NO_BYTES, type Proposed } from "./record.ts";

const json = (type: string, data: object): Proposed => ({
  id: randomUUID(),
  type,
  isJson: true,
  data: Buffer.from(JSON.stringify(data), "utf8"),
  metadata: NO_BYTES,
});

/** Writes them if there is nothing in the database. */
export const seed = async (database: Database): Promise<void> => {
  if (database.all.length > 0) return;
  await database.append("$epoch-information", "any", [json("$epoch-information", { epochNumber: 0 })]);
  await database.append("$$$users", "any", [metadataEvent('{"$maxAge":31536000}')]);
  for (const login of ["admin", "ops"]) {
    await database.append("$users", "any", [json("$User", { loginName: login })]);
    await database.append(`$user-${login}`, "any", [json("$UserCreated", { loginName: login })]);
  }
};
