/**
 * Compression of payloads. Whether a run may have compressed payloads is the caller's to say (spec version 5 and later).
 *
 * Invariants:
 * - Z1 A payload of less than {@link COMPRESSION_MIN_BYTES} bytes, prefix included, is stored as it is.
 * - Z2 So is one that compression makes less than 5 % smaller, prefixes included.
 * - Z3 What is compressed can be read whatever the settings say, by either codec's prefix.
 * - Z4 A runtime whose zlib has no zstd writes gzip, and says so where it is given zstd to read: nothing else could read it there.
 */
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { flag, setting } from "./environment.ts";
import { formatOf, type PayloadFormat, unwrap, wrap } from "./payload-format.ts";

/** The smallest payload that is compressed, in bytes. */
export const COMPRESSION_MIN_BYTES = 1024;
const KEPT_BELOW = 0.95;
const ZSTD_LEVEL = 3;

/** What of `node:zlib` is used; a runtime may have no zstd. */
export type Zlib = Pick<typeof zlib, "gzip" | "gunzip" | "constants"> &
  Partial<Pick<typeof zlib, "zstdCompress" | "zstdDecompress">>;

export interface Compression {
  /** The payload, compressed where that is allowed and worth it. `WORKFLOW_DISABLE_COMPRESSION` and `WORKFLOW_COMPRESSION_CODEC` are read now. */
  compress(payload: Uint8Array, allowed: boolean): Promise<Uint8Array>;
  /** The payload without its compression. Throws `TypeError` for zstd where the runtime has none. */
  decompress(payload: Uint8Array): Promise<Uint8Array>;
}

export const compressionWith = ({
  constants,
  gzip,
  gunzip,
  zstdCompress,
  zstdDecompress,
}: Zlib): Compression => {
  const packGzip = promisify(gzip);
  const unpackGzip = promisify(gunzip);
  const packZstd = zstdCompress === undefined ? undefined : promisify(zstdCompress);
  const unpackZstd = zstdDecompress === undefined ? undefined : promisify(zstdDecompress);

  const packed = async (payload: Uint8Array): Promise<[PayloadFormat, Uint8Array]> =>
    packZstd === undefined || setting("WORKFLOW_COMPRESSION_CODEC") === "gzip"
      ? ["gzip", await packGzip(payload)]
      : ["zstd", await packZstd(payload, { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } })];

  return {
    async compress(payload, allowed) {
      if (!allowed || payload.byteLength < COMPRESSION_MIN_BYTES) return payload;
      if (flag("WORKFLOW_DISABLE_COMPRESSION") === true) return payload;
      const smaller = wrap(...(await packed(payload)));
      return smaller.byteLength < payload.byteLength * KEPT_BELOW ? smaller : payload;
    },

    async decompress(payload) {
      switch (formatOf(payload)) {
        case "zstd":
          if (unpackZstd === undefined)
            throw new TypeError(
              "The payload is compressed with zstd, which this runtime does not have: use Node 22.15 or newer here, or set WORKFLOW_COMPRESSION_CODEC=gzip where payloads are written",
            );
          return unpackZstd(unwrap(payload));
        case "gzip":
          return unpackGzip(unwrap(payload));
        default:
          return payload;
      }
    },
  };
};

export const { compress, decompress } = compressionWith(zlib);
