/**
 * One client of the database and its channel, from opening to closing. Besides what the client offers to everybody, two of its
 * protected members are used, which is why its version is pinned:
 * - K1 `supports`: told that the server has no batch append, the client appends by plain calls, each with a deadline and a failure of
 *   its own; there is no option for it. (Credentials given with each call would do it too, but a certificate login has none.)
 * - K2 `getChannel`: the client never closes its channel, so the last one it made is kept hold of and closed here.
 */
import type { EventStoreDBClient } from "@eventstore/db-client";
import { LateError } from "./client-errors.ts";

interface Channel {
  close(): void;
}

/** The protected members, as the client's own declarations have them. */
interface Inside {
  getChannel: () => Promise<Channel>;
  supports: (method: { readonly path: string }, feature?: string) => Promise<boolean>;
}

export interface Connection {
  readonly client: EventStoreDBClient;
  close(): Promise<void>;
}

export type AppendMode = "plain" | "batch";

export const openConnection = (client: EventStoreDBClient, mode: AppendMode): Connection => {
  const inside = client as unknown as Inside;
  const { getChannel, supports } = inside;
  let channel: Channel | undefined;
  inside.getChannel = async () => {
    channel = await getChannel();
    return channel;
  };
  if (mode === "plain") {
    inside.supports = async (method, feature) =>
      !method.path.endsWith("/BatchAppend") && supports(method, feature);
  }
  return {
    client,
    close: async () => {
      await client.dispose();
      channel?.close();
    },
  };
};

/** `call`, or a {@link LateError} after `deadlineMs`: what the client gave no deadline, or does before its own begins. */
export const within = async <T>(call: Promise<T>, deadlineMs: number, what: string): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new LateError(`no answer to ${what} within ${deadlineMs} ms`)),
      deadlineMs,
    );
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    clearTimeout(timer);
  }
};
