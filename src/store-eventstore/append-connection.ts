/**
 * The client that appends go through.
 *
 * Plain appends share the client of everything else. Batched ones have a client to themselves, because a client whose batch stream has
 * gone silent is of no use any more and is replaced: the client gives batched appends no deadline, and keeps those that wait in a
 * table that all clients of the process share.
 */
import type { EventStoreDBClient } from "@eventstore/db-client";
import { LateError } from "./client-errors.ts";
import { type Connection, openConnection } from "./connection.ts";
import type { AppendMode } from "./options.ts";

export interface AppendConnection {
  append<T>(call: (client: EventStoreDBClient) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export const openAppendConnection = (
  shared: Connection,
  mode: AppendMode,
  makeClient: () => EventStoreDBClient,
): AppendConnection => {
  if (mode === "plain")
    return {
      append: (call) => call(shared.client),
      close: async () => {},
    };
  let own = openConnection(makeClient(), "batch");
  return {
    append: async (call) => {
      const used = own;
      try {
        return await call(used.client);
      } catch (error) {
        if (error instanceof LateError && used === own) {
          own = openConnection(makeClient(), "batch");
          // Those that still wait on it are late too, each by its own clock.
          used.close().catch(() => {});
        }
        throw error;
      }
    },
    close: () => own.close(),
  };
};
