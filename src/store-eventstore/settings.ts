/** How to reach a server: a connection string, or the client's own settings. Makes clients of either; connects to nothing. */
import { randomUUID } from "node:crypto";
import { EventStoreDBClient } from "@eventstore/db-client";
import { unusable } from "./client-errors.ts";
import { serverOf, withOwnName } from "./connection-string.ts";
import type { EventStoreSettings } from "./options.ts";

export interface Server {
  /** As in `esdb://db.example:2113`, never with a password: for messages. */
  readonly name: string;
  makeClient(): EventStoreDBClient;
}

const hostOf = (endpoint: string | { readonly address: string; readonly port: number }): string =>
  typeof endpoint === "string" ? endpoint : `${endpoint.address}:${endpoint.port}`;

const clientOf = ({ connection, channel, credentials }: EventStoreSettings): EventStoreDBClient => {
  const { connectionName } = connection;
  const safely = {
    throwOnAppendFailure: true,
    ...(connectionName === undefined ? {} : { connectionName: `${connectionName}-${randomUUID()}` }),
  };
  if ("discover" in connection)
    return new EventStoreDBClient({ ...connection, ...safely }, channel, credentials);
  if ("endpoints" in connection) {
    const endpoints = [...connection.endpoints];
    return new EventStoreDBClient({ ...connection, ...safely, endpoints }, channel, credentials);
  }
  return new EventStoreDBClient({ ...connection, ...safely }, channel, credentials);
};

const nameOf = ({ connection }: EventStoreSettings): string => {
  if ("discover" in connection) return `esdb+discover://${hostOf(connection.discover)}`;
  if ("endpoints" in connection) return `esdb://${connection.endpoints.map(hostOf).join(",")}`;
  return `esdb://${hostOf(connection.endpoint)}`;
};

/** @throws StoreError `Unavailable` for settings that the client refuses, a certificate file that is not there among them. */
export const serverOfSettings = (settings: string | EventStoreSettings): Server => {
  const name = typeof settings === "string" ? serverOf(settings) : nameOf(settings);
  return {
    name,
    makeClient: () => {
      try {
        return typeof settings === "string"
          ? EventStoreDBClient.connectionString(withOwnName(settings))
          : clientOf(settings);
      } catch (error) {
        // The client's parse error carries the whole string, password included: its `expected` is all that may be told of it.
        const parsing = error as { readonly expected?: unknown };
        const what =
          typeof parsing.expected === "string"
            ? `the connection string cannot be used: expected ${parsing.expected}`
            : `the settings cannot be used: ${(error as Error).message}`;
        throw unusable(name, what);
      }
    },
  };
};
