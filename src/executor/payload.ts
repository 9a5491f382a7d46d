/**
 * Values to bytes and back, in the Workflow SDK's format: what one writes the other reads. Serialise, compress, encrypt; and the same
 * backwards, by the prefixes found. Not the payload codec of Runstream's own events (src/events/payload.ts).
 */
import { parse, stringify } from "devalue";
import { compress, decompress } from "./compression.ts";
import { decrypt, type EncryptionKey, encrypt } from "./encryption.ts";
import { payloadAborts } from "./payload-aborts.ts";
import { PAYLOAD_ERRORS } from "./payload-errors.ts";
import { formatOf, unwrap, wrap } from "./payload-format.ts";
import { PAYLOAD_HTTP } from "./payload-http.ts";
import type { LiveScope } from "./payload-scope.ts";
import { type ChunkCodec, payloadStreams } from "./payload-streams.ts";
import { PAYLOAD_VALUES, type PayloadType } from "./payload-values.ts";
import { serializationErrorOf } from "./serialization-error.ts";

/** How a payload is written and read. */
export interface PayloadOptions {
  /** Encrypts and decrypts; without it nothing is encrypted, and what is encrypted cannot be read. */
  readonly key?: EncryptionKey | undefined;
  /** Whether the run may have compressed payloads; default `false`. Only looked at when writing. */
  readonly compression?: boolean;
  /** What the value is called in an error; default "The value". */
  readonly what?: string;
}

interface Codec {
  readonly reducers: Record<string, (value: unknown) => unknown>;
  readonly revivers: Record<string, (written: never) => unknown>;
}

const codecOf = (table: Readonly<Record<string, PayloadType>>): Codec => ({
  reducers: Object.fromEntries(Object.entries(table).map(([tag, { write }]) => [tag, write])),
  revivers: Object.fromEntries(Object.entries(table).map(([tag, { read }]) => [tag, read])),
});

const joined = (one: Codec, other: Codec): Codec => ({
  reducers: { ...one.reducers, ...other.reducers },
  revivers: { ...one.revivers, ...other.revivers },
});

const PLAIN = codecOf({ ...PAYLOAD_VALUES, ...PAYLOAD_ERRORS });
const WITH_HTTP = joined(PLAIN, codecOf(PAYLOAD_HTTP));

const text = new TextDecoder("utf-8", { fatal: true });

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** UTF-8 has no half of a pair: it would become a replacement character without anybody noticing. JSON has an escape for it. */
const wellFormed = (json: string): string =>
  json.isWellFormed()
    ? json
    : json.replace(LONE_SURROGATE, (half) => `\\u${half.charCodeAt(0).toString(16)}`);

const serialised = (value: unknown, codec: Codec, what: string): Uint8Array => {
  try {
    return wrap("devl", Buffer.from(wellFormed(stringify(value, codec.reducers))));
  } catch (cause) {
    throw serializationErrorOf(what, cause);
  }
};

const parsed = async (payload: unknown, key: EncryptionKey | undefined, codec: Codec): Promise<unknown> => {
  if (!(payload instanceof Uint8Array)) {
    throw new TypeError(
      "The payload is not bytes: the run is older than spec version 2, which is not supported",
    );
  }
  const bytes = await decompress(await decrypt(payload, key));
  const format = formatOf(bytes);
  if (format !== "devl") {
    throw new TypeError(
      `The payload has the format ${JSON.stringify(format ?? "")}, which this version cannot read`,
    );
  }
  return parse(text.decode(unwrap(bytes)), codec.revivers as Record<string, (value: unknown) => unknown>);
};

/**
 * The bytes of a value. Streams, requests, responses and signals are refused: they live in a step only.
 * Throws {@link SerializationError} for what cannot be stored.
 */
export const dehydrate = async (value: unknown, options: PayloadOptions = {}): Promise<Uint8Array> => {
  const bytes = serialised(value, PLAIN, options.what ?? "The value");
  return encrypt(await compress(bytes, options.compression ?? false), options.key);
};

/** The value of these bytes. Throws {@link RuntimeDecryptionError}, and whatever reading damaged bytes leads to. */
export const hydrate = (payload: unknown, options: Pick<PayloadOptions, "key"> = {}): Promise<unknown> =>
  parsed(payload, options.key, PLAIN);

/** What writes and reads the values of one attempt, streams and signals included. */
export interface LivePayloads {
  dehydrate(value: unknown, options: { compression: boolean; what: string }): Promise<Uint8Array>;
  hydrate(payload: unknown): Promise<unknown>;
}

/** The values of one attempt. */
export const livePayloads = (scope: LiveScope): LivePayloads => {
  const chunks: ChunkCodec = {
    write: async (value, key) => encrypt(serialised(value, codec, "A chunk of a stream"), await key()),
    read: async (bytes, key) => parsed(bytes, await key(), codec),
  };
  const codec = joined(
    WITH_HTTP,
    codecOf({ ...payloadStreams(scope, chunks), ...payloadAborts(scope, chunks) }),
  );
  return {
    dehydrate: async (value, { compression, what }) =>
      encrypt(await compress(serialised(value, codec, what), compression), await scope.key()),
    hydrate: async (payload) => parsed(payload, await scope.key(), codec),
  };
};
