/**
 * The envelope of a payload: four characters that say how the bytes after them are to be read. `devl` is a value in devalue's text,
 * `zstd` and `gzip` hold a compressed payload, `encr` an encrypted one; envelopes nest. Written in the order serialise, compress,
 * encrypt, and read by what the prefix says, whatever the settings of the reader are.
 */
const PREFIX_BYTES = 4;
const PREFIX = /^[a-z0-9]{4}$/;

/** The prefixes of this version. */
export type PayloadFormat = "devl" | "zstd" | "gzip" | "encr";

/** The bytes under a prefix. */
export const wrap = (format: PayloadFormat, bytes: Uint8Array): Uint8Array => {
  const out = new Uint8Array(PREFIX_BYTES + bytes.byteLength);
  for (let i = 0; i < PREFIX_BYTES; i++) out[i] = format.charCodeAt(i);
  out.set(bytes, PREFIX_BYTES);
  return out;
};

/** The prefix of a payload; `undefined` where there is none. */
export const formatOf = (payload: Uint8Array): string | undefined => {
  const prefix = String.fromCharCode(...payload.subarray(0, PREFIX_BYTES));
  return PREFIX.test(prefix) ? prefix : undefined;
};

/** What is under the prefix; a view, not a copy. */
export const unwrap = (payload: Uint8Array): Uint8Array => payload.subarray(PREFIX_BYTES);
