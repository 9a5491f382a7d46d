/**
 * Encryption of payloads: AES-256-GCM under the run's key, a random nonce of 12 bytes in front, a tag of 128 bits behind.
 *
 * Invariants:
 * - K1 A key is exactly 32 bytes.
 * - K2 Encrypted bytes are never taken for anything else: without the key, or with a wrong one, reading throws
 *   {@link RuntimeDecryptionError}.
 */
import { webcrypto } from "node:crypto";
import { formatOf, unwrap, wrap } from "./payload-format.ts";

/** A run's key, ready for use. */
export type EncryptionKey = webcrypto.CryptoKey;

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = "AES-GCM";

/** What could not be decrypted; never the bytes themselves. */
export interface DecryptionContext {
  readonly operation: "encrypt" | "decrypt";
  readonly byteLength?: number;
  readonly formatPrefix?: string;
}

/** A payload is encrypted and cannot be read: no key, another key, or bytes that were changed. */
export class RuntimeDecryptionError extends Error {
  override readonly name = "RuntimeDecryptionError";
  readonly context?: DecryptionContext;

  constructor(message: string, options: { cause?: unknown; context?: DecryptionContext } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    if (options.context !== undefined) this.context = options.context;
  }
}

/** The key of 32 bytes, as a World gives it, ready for use. Throws `RangeError` for any other length. */
export const importEncryptionKey = async (raw: Uint8Array): Promise<EncryptionKey> => {
  if (raw.byteLength !== KEY_BYTES) {
    throw new RangeError(
      `An encryption key has ${KEY_BYTES} bytes and this one ${raw.byteLength}: look at the World's getEncryptionKeyForRun`,
    );
  }
  return webcrypto.subtle.importKey("raw", new Uint8Array(raw), ALGORITHM, false, ["encrypt", "decrypt"]);
};

/** The payload, encrypted if there is a key. */
export const encrypt = async (payload: Uint8Array, key: EncryptionKey | undefined): Promise<Uint8Array> => {
  if (key === undefined) return payload;
  const nonce = webcrypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const sealed = await webcrypto.subtle.encrypt({ name: ALGORITHM, iv: nonce }, key, new Uint8Array(payload));
  const bytes = new Uint8Array(NONCE_BYTES + sealed.byteLength);
  bytes.set(nonce);
  bytes.set(new Uint8Array(sealed), NONCE_BYTES);
  return wrap("encr", bytes);
};

/** The payload without its encryption. Throws {@link RuntimeDecryptionError}. */
export const decrypt = async (payload: Uint8Array, key: EncryptionKey | undefined): Promise<Uint8Array> => {
  if (formatOf(payload) !== "encr") return payload;
  const sealed = unwrap(payload);
  const context = { operation: "decrypt", byteLength: sealed.byteLength, formatPrefix: "encr" } as const;
  if (key === undefined) {
    throw new RuntimeDecryptionError("The payload is encrypted and there is no key for its run", { context });
  }
  if (sealed.byteLength < NONCE_BYTES + TAG_BYTES) {
    throw new RuntimeDecryptionError("The encrypted payload is cut off", { context });
  }
  const nonce = new Uint8Array(sealed.subarray(0, NONCE_BYTES));
  const body = new Uint8Array(sealed.subarray(NONCE_BYTES));
  try {
    return new Uint8Array(await webcrypto.subtle.decrypt({ name: ALGORITHM, iv: nonce }, key, body));
  } catch (cause) {
    throw new RuntimeDecryptionError(
      "The payload cannot be decrypted: it was changed, or its run has another key",
      { cause, context },
    );
  }
};
