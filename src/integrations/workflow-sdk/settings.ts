/** What a World is told by its options, and by the environment where they say nothing. */
import { hkdfSync } from "node:crypto";
import { consoleLogger, type Logger } from "../../engine/logger.ts";
import type { EventLog } from "../../events/event-log.ts";
import { isServerAddress } from "../../store-eventstore/address.ts";
import { MEMORY } from "./open-store.ts";

export interface WorldOptions {
  /**
   * Where runs are kept: a file (made when it does not exist), `":memory:"`, an `esdb://` address, or any EventLog,
   * which is then closed by its owner. Default: `RUNSTREAM_STORE`, or `./runstream.db`.
   */
  readonly store?: string | EventLog;
  /**
   * The run index's file, from which lists are answered and a start knows what was left behind. Runstream's other programs may share it, and
   * it may be deleted at any time. Default: `RUNSTREAM_INDEX` where the store is not given here, or `<store>-index` beside a file, else in
   * memory: then each start reads the beginnings, ends, hooks and messages of all runs once.
   */
  readonly index?: string;
  /**
   * Of a file: `"full"` (default) has every answered write on the disk; `"normal"` survives a crash of the process, and a power cut may
   * take the last moments. Default: `RUNSTREAM_DURABILITY`.
   */
  readonly durability?: "full" | "normal";
  /** Where the application listens. Default: `RUNSTREAM_BASE_URL`, or `http://localhost:<PORT>`, both read at each delivery; port 3000. */
  readonly baseUrl?: string;
  /** Default: `RUNSTREAM_DEPLOYMENT_ID`, or `dpl_runstream`. */
  readonly deploymentId?: string;
  /** 32 bytes, as base64 or hex, from which each run's own key is derived. Default: `RUNSTREAM_ENCRYPTION_KEY`; without one nothing is encrypted. */
  readonly encryptionKey?: string;
  /** The group of workers that share the messages. Default `"workflow-sdk"`. */
  readonly group?: string;
  /** Messages under way at once in this process, a whole number of 1 or more. Default 256. */
  readonly concurrency?: number;
  /** Default: warnings and errors, one line each, on stderr. */
  readonly logger?: Logger;
  /** Epoch milliseconds. Default: `Date.now` as it is at the call. */
  readonly clock?: () => number;
}

export interface Settings {
  readonly store: string | EventLog;
  readonly index: string;
  readonly durability: "full" | "normal";
  readonly baseUrl: () => string;
  readonly deploymentId: string;
  /** The name of the queue that walks of a workflow are asked for by. */
  readonly workflowQueue: (workflowName: string) => string;
  readonly encryptionKey: Buffer | undefined;
  readonly group: string;
  readonly concurrency: number;
  readonly logger: Logger;
  readonly clock: () => number;
}

const DEFAULT_STORE = "./runstream.db";
const DEFAULT_PORT = "3000";
const DEFAULT_CONCURRENCY = 256;
const KEY_BYTES = 32;

const nothing = (): void => {};
const quietLogger: Logger = { ...consoleLogger, debug: nothing, info: nothing };

/** Throws RangeError for a key that is not 32 bytes, a concurrency below 1 and a durability that there is not. */
export const settingsOf = (options: WorldOptions, env: NodeJS.ProcessEnv): Settings => {
  const { concurrency = DEFAULT_CONCURRENCY } = options;
  if (!Number.isSafeInteger(concurrency) || concurrency < 1)
    throw new RangeError(`concurrency is ${concurrency}; it is a whole number of 1 or more.`);
  const store = options.store ?? (env.RUNSTREAM_STORE || DEFAULT_STORE);
  // An index belongs to one log: the environment's is not the one of a store that the options name.
  const told = options.index ?? (options.store === undefined ? env.RUNSTREAM_INDEX : undefined);
  return {
    store,
    index: told || indexBeside(store),
    durability: durabilityFrom(options.durability ?? env.RUNSTREAM_DURABILITY),
    baseUrl: () =>
      options.baseUrl ?? (env.RUNSTREAM_BASE_URL || `http://localhost:${env.PORT || DEFAULT_PORT}`),
    deploymentId: options.deploymentId ?? (env.RUNSTREAM_DEPLOYMENT_ID || "dpl_runstream"),
    workflowQueue: (workflowName) => {
      const namespace = env.WORKFLOW_QUEUE_NAMESPACE;
      return `__${namespace ? `${namespace}_` : ""}wkf_workflow_${workflowName}`;
    },
    encryptionKey: keyFrom(options.encryptionKey ?? env.RUNSTREAM_ENCRYPTION_KEY),
    group: options.group ?? "workflow-sdk",
    concurrency,
    logger: options.logger ?? quietLogger,
    clock: options.clock ?? (() => Date.now()),
  };
};

const indexBeside = (store: string | EventLog): string =>
  typeof store !== "string" || store === MEMORY || isServerAddress(store) ? MEMORY : `${store}-index`;

const durabilityFrom = (text: string | undefined): "full" | "normal" => {
  if (text === undefined || text === "" || text === "full") return "full";
  if (text === "normal") return text;
  throw new RangeError(`The durability is ${JSON.stringify(text)}; it is "full" or "normal".`);
};

const keyFrom = (text: string | undefined): Buffer | undefined => {
  if (text === undefined || text === "") return undefined;
  const key = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? "hex" : "base64");
  if (key.length !== KEY_BYTES)
    throw new RangeError(
      `The encryption key has ${key.length} bytes; it is ${KEY_BYTES} bytes, as base64 or hex. Make one with "openssl rand -base64 32".`,
    );
  return key;
};

/** The key of one run: derived, so that a leaked one opens no other run. */
export const keyOfRun = (key: Buffer, runId: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", key, "", `runstream/${runId}`, KEY_BYTES));
