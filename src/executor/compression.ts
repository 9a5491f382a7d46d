/**
 * Compression of payloads. Whether a run may have compressed payloads is the caller's to say (spec version 5 and later).
 *
 * Invariants:
 * - Z1 A payload of less than {@link COMPRESSION_MIN_BYTES} bytes, prefix included, is stored as it is.
 * - Z2 So is one that compression makes less than 5 % smaller, prefixes included.
 * - Z3 What is compressed can be read whatever the settings say, and by either codec's prefix.
 */
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import { flag, setting } from "./environment.ts";
import { formatOf, type PayloadFormat, unwrap, wrap } from "./payload-format.ts";

/** The smallest payload that is compressed, in bytes. */
export const COMPRESSION_MIN_BYTES = 1024;
const KEPT_BELOW = 0.95;
const ZSTD_LEVEL = 3;

const zstd = promisify(zlib.zstdCompress);
const unzstd = promisify(zlib.zstdDecompress);
const gzip = promisify(zlib.gzip);
const gunzip = promisify(zlib.gunzip);

const pack = (codec: PayloadFormat, payload: Uint8Array): Promise<Uint8Array> =>
  codec === "gzip"
    ? gzip(payload)
    : zstd(payload, { params: { [zlib.constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } });

/** The payload, compressed where that is allowed and worth it. `WORKFLOW_DISABLE_COMPRESSION` and `WORKFLOW_COMPRESSION_CODEC` are read now. */
export const compress = async (payload: Uint8Array, allowed: boolean): Promise<Uint8Array> => {
  if (!allowed || payload.byteLength < COMPRESSION_MIN_BYTES) return payload;
  if (flag("WORKFLOW_DISABLE_COMPRESSION") === true) return payload;
  const codec = setting("WORKFLOW_COMPRESSION_CODEC") === "gzip" ? "gzip" : "zstd";
  const packed = wrap(codec, await pack(codec, payload));
  return packed.byteLength < payload.byteLength * KEPT_BELOW ? packed : payload;
};

/** The payload without its compression. */
export const decompress = async (payload: Uint8Array): Promise<Uint8Array> => {
  switch (formatOf(payload)) {
    case "zstd":
      return unzstd(unwrap(payload));
    case "gzip":
      return gunzip(unwrap(payload));
    default:
      return payload;
  }
};
