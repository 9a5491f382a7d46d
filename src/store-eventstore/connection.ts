/**
 * One client of the database and its channel, from opening to closing. Besides what the client offers to everybody, some of its
 * protected members are used, which is why its version is pinned:
 * - K1 `supports`: told that the server has no batch append, the client appends by plain calls, each with a deadline and a failure of
 *   its own; there is no option for it. (Credentials given with each call would do it too, but a certificate login has none.)
 * - K2 `getChannel`: the client never closes its channel, so the last one it made is kept hold of and closed here.
 * - K3 `getGRPCClient`: no call begins after closing. Over a closed channel the client would neither answer an append nor catch what
 *   is thrown, which ends the process.
 * - K4 `GRPCStreamCreator`: the stream of batched appends takes all that is written to it at once. Where it made the client wait, the client
 *   would reject what waits when the stream breaks, and nobody could catch it. The appends that wait are in memory anyhow.
 */
import type { EventStoreDBClient } from "@eventstore/db-client";
import { LateError } from "./client-errors.ts";
import type { AppendMode } from "./options.ts";

interface Channel {
  close(): void;
}

interface WritableCall {
  write(chunk: unknown): boolean;
}

type GrpcClientOf = (kind: unknown, name: string) => Promise<unknown>;
type StreamCreator = (...given: readonly unknown[]) => () => Promise<WritableCall>;

/** The protected members, as the client's own declarations have them. */
interface Inside {
  getChannel: () => Promise<Channel>;
  supports: (method: { readonly path: string }, feature?: string) => Promise<boolean>;
  getGRPCClient: GrpcClientOf;
  GRPCStreamCreator: StreamCreator;
}

export interface Connection {
  readonly client: EventStoreDBClient;
  close(): Promise<void>;
}

export const openConnection = (client: EventStoreDBClient, mode: AppendMode): Connection => {
  const inside = client as unknown as Inside;
  const { getChannel, supports, getGRPCClient, GRPCStreamCreator } = inside;
  let channel: Channel | undefined;
  let closed = false;
  inside.getChannel = async () => {
    channel = await getChannel();
    return channel;
  };
  inside.getGRPCClient = async (kind, name) => {
    if (closed) throw new Error("the connection is closed");
    return getGRPCClient(kind, name);
  };
  if (mode === "plain") {
    inside.supports = async (method, feature) =>
      !method.path.endsWith("/BatchAppend") && supports(method, feature);
  } else {
    inside.GRPCStreamCreator = (...given) => {
      const create = GRPCStreamCreator(...given);
      return async () => taking(await create());
    };
  }
  return {
    client,
    close: async () => {
      closed = true;
      await client.dispose();
      channel?.close();
    },
  };
};

const takers = new WeakSet<WritableCall>();

/** The stream, which never makes who writes to it wait (K4). */
const taking = (stream: WritableCall): WritableCall => {
  if (takers.has(stream)) return stream;
  takers.add(stream);
  const write = stream.write.bind(stream);
  stream.write = (chunk) => {
    write(chunk);
    return true;
  };
  return stream;
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
