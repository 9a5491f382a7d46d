/**
 * Sealing: one payload as text, compressed where that is worth it, encrypted where there is a key, and back.
 *
 * Not here: which fields of an event are sealed (sealed-events.ts), where keys come from and when (embedded/sealed-log.ts).
 *
 * Invariants:
 * - Z1 A payload of less than {@link COMPRESSION_MIN_BYTES} bytes of JSON is not compressed, nor is one that would not become smaller
 *   than 95 % of what it would take up otherwise.
 * - Z2 Encryption is AES-256-GCM: a random nonce of 12 bytes, the ciphertext, a tag of 16 bytes, in this order. What it authenticates
 *   besides is the place: a ciphertext that is moved to another run, event, field or compression does not open.
 * - Z3 What was sealed opens whatever the settings are now.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type * as Zlib from "node:zlib";

/** How a field is sealed, as its event's metadata says it. The names are those of JOSE (RFC 7518) where it has one. */
export interface Seal {
  readonly enc?: "A256GCM";
  readonly zip?: "zstd";
}

/** A sealed text: base64, and how it was made. */
export interface Sealed {
  readonly text: string;
  readonly seal: Seal;
}

/** The smallest JSON that is compressed, in bytes. */
export const COMPRESSION_MIN_BYTES = 1024;
const KEPT_BELOW = 0.95;
const ZSTD_LEVEL = 3;
/** The length of a key, in bytes. */
export const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Loaded at the first payload that is compressed: most processes meet none, and it takes a start some 2 ms. */
const zlib = (): typeof Zlib => process.getBuiltinModule("node:zlib");

const base64Length = (bytes: number): number => 4 * Math.ceil(bytes / 3);

const associated = (place: readonly string[], { zip }: Seal): Buffer =>
  Buffer.from(JSON.stringify(["runstream", 1, ...place, zip ?? null]));

/** The text smaller than before, or `undefined` where that is not worth it. An encrypted text is stored as base64 either way. */
const compressed = (plain: Buffer, encrypted: boolean): Buffer | undefined => {
  if (plain.byteLength < COMPRESSION_MIN_BYTES) return undefined;
  const { constants, zstdCompressSync } = zlib();
  const packed = zstdCompressSync(plain, {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
  });
  const taken = encrypted ? packed.byteLength : base64Length(packed.byteLength);
  return taken < plain.byteLength * KEPT_BELOW ? packed : undefined;
};

/**
 * `text` sealed for `place`; `undefined` where there is no key and compression is not worth it.
 *
 * @throws RangeError for a key that has not {@link KEY_BYTES} bytes.
 */
export const seal = (
  text: string,
  place: readonly string[],
  { key, compress }: { readonly key: Uint8Array | undefined; readonly compress: boolean },
): Sealed | undefined => {
  const plain = Buffer.from(text);
  const packed = compress ? compressed(plain, key !== undefined) : undefined;
  const zip = packed === undefined ? {} : ({ zip: "zstd" } as const);
  if (key === undefined)
    return packed === undefined ? undefined : { text: packed.toString("base64"), seal: zip };
  const how: Seal = { enc: "A256GCM", ...zip };
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(associated(place, how));
  const body = [cipher.update(packed ?? plain), cipher.final()];
  return { text: Buffer.concat([nonce, ...body, cipher.getAuthTag()]).toString("base64"), seal: how };
};

/** The text that was sealed. Throws where the key is another one, the place is another one, or a byte was changed. */
export const openSeal = (
  { text, seal: how }: Sealed,
  place: readonly string[],
  key: Uint8Array | undefined,
): string => {
  const bytes = Buffer.from(text, "base64");
  // Several texts of base64 may stand for the same bytes: only the one that was written is taken.
  if (bytes.toString("base64") !== text) throw new Error("This is not the base64 that was written.");
  const packed = how.enc === undefined ? bytes : decrypted(bytes, associated(place, how), key);
  return (how.zip === undefined ? packed : zlib().zstdDecompressSync(packed)).toString("utf8");
};

const decrypted = (bytes: Buffer, associatedData: Buffer, key: Uint8Array | undefined): Buffer => {
  if (key === undefined) throw new Error("There is no key.");
  if (bytes.byteLength < NONCE_BYTES + TAG_BYTES) throw new Error("The ciphertext is cut off.");
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(associatedData);
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
};
