/**
 * A stand-in EventStoreDB node for tests: one server that speaks the database's gRPC protocol over one of Runstream's own logs.
 *
 * It is not the database: see README.md here for what it leaves out. A real server is the judge.
 */
import { randomUUID } from "node:crypto";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { EventLog } from "../../src/events/event-log.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { openSqliteLog } from "../../src/store-sqlite/index.ts";
import { type Certificates, makeCertificates } from "./certificates.ts";
import type { Core, Counts } from "./core.ts";
import { Database } from "./database.ts";
import { Faults } from "./faults.ts";
import { DEFAULT_USERS } from "./guard.ts";
import { Groups } from "./persistent/groups.ts";
import { seed } from "./seed.ts";
import { register } from "./services.ts";

export interface NodeOptions {
  /** Default: any free port, the same one after a restart. */
  readonly port?: number;
  /** Default `"127.0.0.1"`. */
  readonly host?: string;
  /** A file for a SQLite log that outlives the node. Default: a log in memory that outlives `kill` and `restart`. */
  readonly file?: string;
  /** A log of the caller's, which he closes himself. Not together with `file`. */
  readonly log?: EventLog;
  readonly faults?: Faults;
  /** Speak TLS, and ask who calls: `true` makes certificates for the life of the node. Default: no TLS, and nobody is asked. */
  readonly tls?: true | Certificates;
  /** What the node says it is. Default `"24.2.0"`; from 24.10 on metadata counts to the size of an append. */
  readonly version?: string;
  /** Does the node offer BatchAppend? Default true. */
  readonly batchAppend?: boolean;
  /** Bytes of one append. Default 1 MiB. */
  readonly maxAppendSize?: number;
  /** See {@link Limits.commitTimeoutMs}. Default 2,000. */
  readonly commitTimeoutMs?: number;
  /** Bytes for the ids of recent events. Default 8 MiB. */
  readonly idCacheBytes?: number;
  /** How often persistent subscriptions look for what has timed out, in ms. Default 1,000. */
  readonly tickMs?: number;
  readonly clock?: () => number;
}

export interface StandInNode {
  readonly port: number;
  /** `esdb://…` for the official clients. */
  readonly connectionString: string;
  /** The authority that has signed the node's certificate, as PEM; undefined without TLS. */
  readonly rootCertificate: string | undefined;
  readonly faults: Faults;
  readonly counts: Counts;
  /** Hands out again, as if it had timed out, what members of persistent subscriptions have in hand. */
  redeliver(): void;
  /** Breaks every connection, as when the process is gone. What was acknowledged stays. */
  kill(): Promise<void>;
  /** Starts again after `kill` (and kills first, if it must), on the same port and with the same data. */
  restart(): Promise<void>;
  /** Kills and closes the log. Idempotent. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const MIB = 1024 * 1024;
/** A client sends appends in pieces of up to 3 MiB, and takes messages of up to 17 MiB. */
const MESSAGE_LIMIT = 17 * MIB;

export const startNode = async (options: NodeOptions = {}): Promise<StandInNode> => {
  const node = new RunningNode(options);
  await node.start();
  return node;
};

class RunningNode implements StandInNode {
  readonly faults: Faults;
  readonly counts: Counts;
  readonly #options: NodeOptions;
  readonly #host: string;
  readonly #id = randomUUID();
  readonly #certificates: Certificates | undefined;
  #port: number;
  #log: EventLog | undefined;
  #server: Server | undefined;
  #groups: Groups | undefined;
  #database: Database | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.faults = options.faults ?? new Faults();
    this.counts = { appends: 0, events: 0, calls: this.faults.calls };
    this.#host = options.host ?? "127.0.0.1";
    this.#port = options.port ?? 0;
    this.#certificates = options.tls === true ? makeCertificates() : options.tls;
  }

  get rootCertificate(): string | undefined {
    return this.#certificates?.authority;
  }

  get port(): number {
    return this.#port;
  }

  get connectionString(): string {
    return `esdb://${this.#host}:${this.#port}?tls=${this.#certificates !== undefined}`;
  }

  async start(): Promise<void> {
    const options = this.#options;
    this.#log ??=
      options.log ?? (options.file === undefined ? createMemoryLog() : openSqliteLog(options.file));
    const database = await Database.open(this.#log, options);
    await seed(database);
    this.#database = database;
    const core: Core = {
      database,
      users: this.#certificates === undefined ? undefined : DEFAULT_USERS,
      faults: this.faults,
      counts: this.counts,
      limits: {
        maxAppendSize: options.maxAppendSize ?? MIB,
        countsMetadata: countsMetadata(options.version ?? DEFAULT_VERSION),
        commitTimeoutMs: options.commitTimeoutMs ?? 2_000,
      },
    };
    const server = new Server({ "grpc.max_receive_message_length": MESSAGE_LIMIT });
    this.#groups = new Groups(database, options.tickMs ?? 1_000);
    register(server, core, this.#groups, {
      version: options.version ?? DEFAULT_VERSION,
      batchAppend: options.batchAppend ?? true,
      member: () => ({ id: this.#id, host: this.#host, port: this.#port }),
    });
    this.#port = await bind(server, `${this.#host}:${this.#port}`, this.#certificates);
    this.#server = server;
  }

  redeliver(): void {
    for (const group of this.#groups?.list() ?? []) group.expire();
  }

  async kill(): Promise<void> {
    this.#groups?.close();
    this.#groups = undefined;
    this.#server?.forceShutdown();
    this.#server = undefined;
    await this.#database?.close();
    this.#database = undefined;
    if (this.#options.file === undefined) return;
    await this.#log?.close();
    this.#log = undefined;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.kill();
    if (this.#options.log === undefined) await this.#log?.close();
    this.#log = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

const DEFAULT_VERSION = "24.2.0";

const countsMetadata = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 24 || (major === 24 && minor >= 10);
};

const bind = (server: Server, address: string, certificates: Certificates | undefined): Promise<number> =>
  new Promise((resolve, reject) => {
    server.bindAsync(address, credentialsOf(certificates), (error, port) => {
      if (error === null) resolve(port);
      else
        reject(
          new Error(`The stand-in node cannot listen on ${address}: ${error.message}`, { cause: error }),
        );
    });
  });

const credentialsOf = (certificates: Certificates | undefined): ServerCredentials =>
  certificates === undefined
    ? ServerCredentials.createInsecure()
    : ServerCredentials.createSsl(null, [
        { private_key: Buffer.from(certificates.key), cert_chain: Buffer.from(certificates.certificate) },
      ]);
