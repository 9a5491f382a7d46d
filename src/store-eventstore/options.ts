/**
 * What the store on EventStoreDB is told, in types of our own: published declarations name none of the client's, which do not hold under
 * a strict check of libraries (they contradict the types of Node 24).
 */
import type { PeerCertificate } from "node:tls";

export type AppendMode = "plain" | "batch";

export interface EventStoreLogOptions {
  /** How long one call to the server may take, and a read say nothing, in ms. Default 10,000. */
  readonly deadlineMs?: number;
  /** For how long an append whose outcome is not known is tried again before it is answered `UnknownOutcome`, in ms. Default 10,000. */
  readonly retryForMs?: number;
  /** For how long a subscription or a consumer tries to reach the server again before it ends in an error, in ms. Default 60,000. */
  readonly reconnectForMs?: number;
  /** After how long a silence a subscription or a consumer makes sure that it is still there, in ms. Default 15,000. */
  readonly heartbeatMs?: number;
  /**
   * How many events of a consumer group this process may hold beyond its consumers' `maxInFlight` and the retries that wait for their time.
   * The more, the less the server has to be waited for, and the less is left for a worker that joins later. Default 512.
   */
  readonly prefetch?: number;
  /**
   * `"plain"` (default): one call for each append, with a deadline and a failure of its own. `"batch"`: all appends over one stream, which
   * takes less time for each; when that stream breaks, the outcome of all that are under way is unknown and is asked for again. At most
   * one log of a process may be in this mode: the client keeps pending batches in a table that all its instances share.
   */
  readonly appends?: AppendMode;
}

export interface EventStoreEndpoint {
  readonly address: string;
  readonly port: number;
}

/** As the client has them; what is absent is as the client has it by default. */
export interface EventStoreConnection {
  /** A ping after so many ms of silence, -1 for none. Default 10,000. */
  readonly keepAliveInterval?: number;
  /** How long the answer to a ping may take, in ms. Default 10,000. */
  readonly keepAliveTimeout?: number;
  /** How long a call may take that says nothing else, in ms. Default 10,000. */
  readonly defaultDeadline?: number;
  /** What the server calls this connection, with an addition of each client's own. */
  readonly connectionName?: string;
}

/** How a cluster is asked for its leader. */
export interface EventStoreDiscovery extends EventStoreConnection {
  /** Default 10. */
  readonly maxDiscoverAttempts?: number;
  /** Between attempts, in ms. Default 100. */
  readonly discoveryInterval?: number;
  /** In seconds. Default 5. */
  readonly gossipTimeout?: number;
  readonly nodePreference?: "leader" | "follower" | "random" | "read_only_replica";
}

/** What the client's constructor takes, by name: for certificates in memory, and other things that fit in no string. */
export interface EventStoreSettings {
  /** One `endpoint`, several `endpoints` of a cluster to ask for its leader, or a name to `discover` them by. */
  readonly connection:
    | (EventStoreConnection & { readonly endpoint: EventStoreEndpoint | string })
    | (EventStoreDiscovery & { readonly endpoints: readonly EventStoreEndpoint[] })
    | (EventStoreDiscovery & { readonly discover: EventStoreEndpoint });
  /** TLS. Default: TLS with the system's certificate authorities; `{ insecure: true }` for none. Certificates and keys as PEM. */
  readonly channel?: {
    readonly insecure?: boolean;
    readonly rootCertificate?: Buffer;
    readonly userKeyFile?: Buffer;
    readonly userCertFile?: Buffer;
    readonly verifyOptions?: {
      readonly checkServerIdentity?: (hostname: string, certificate: PeerCertificate) => Error | undefined;
    };
  };
  readonly credentials?: { readonly username: string; readonly password: string };
}

/** A consumer group as the server sees it now. */
export interface EventStoreGroupHealth {
  /** Its name on the server. */
  readonly name: string;
  /** Connections that take part. */
  readonly consumers: number;
  /** Deliveries handed out and not answered. */
  readonly inHand: number;
  /** Deliveries set aside for an operator. */
  readonly parked: number;
}
