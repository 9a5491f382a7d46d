/**
 * The payload codec: how inputs, outputs and signals are stored (law L6).
 *
 * Plain JSON values are stored plain, so that people, `jq` and other languages read them. Date, Map, Set, BigInt, undefined, NaN,
 * the infinities, -0, Uint8Array, URL, RegExp, objects without a prototype and JavaScript's own Errors are stored as JSON with type
 * notes beside it.
 * An object with a key that JSON writes with an escape (a quote, a backslash, a control character, a lone surrogate) is stored as its
 * entries, also with a note.
 * - C1 What is decoded equals what was encoded, types included, or it is refused at once with the path. Three things are not part of
 *   a value: a Buffer comes back as the Uint8Array it is, an Error without its stack, and a reference that occurs twice as two copies.
 * - C2 Decoding answers a fresh value each time: nobody reaches the log's state through it.
 */
import type { Json, JsonObject } from "./json.ts";
import { PayloadError } from "./payload-error.ts";
import { checkNotes } from "./payload-notes.ts";
import { joinTypes, splitTypes } from "./payload-types.ts";
import { MAX_PAYLOAD_DEPTH, PayloadWalk, setOwn } from "./payload-walk.ts";

import { type SealedState, sealedValue } from "./sealed-value.ts";

export { PayloadError } from "./payload-error.ts";
export { MAX_PAYLOAD_DEPTH } from "./payload-walk.ts";

/** A value as stored: JSON, and what JSON alone does not say about it. Both are plain data. */
export interface Payload {
  readonly json: Json;
  readonly types?: Json;
  /** Present where the payload is sealed and could not be opened; `json` is null then, and says nothing. */
  readonly sealed?: SealedState;
}

/**
 * The stored form of `value`; `undefined` for `undefined`, which is stored as an absent field.
 *
 * `root` names the value in errors (default `"payload"`).
 * @throws PayloadError for what cannot be carried: functions, symbols, promises, cycles, class instances, buffers other than
 * Uint8Array, holes in arrays, accessors, hidden or added properties, and nesting deeper than {@link MAX_PAYLOAD_DEPTH}.
 */
export const encodePayload = (value: unknown, root = "payload"): Payload | undefined => {
  if (value === undefined) return undefined;
  if (value === null || typeof value === "string" || typeof value === "boolean") return { json: value };
  const walk = new PayloadWalk(root);
  const snapshot = walk.copy(value, 0);
  return walk.rich ? (splitTypes(snapshot) as Payload) : { json: snapshot as Json };
};

/** Within one level of a value there are at most three of its JSON: an Error's fields, its properties, and the entries of those. */
const MAX_STORED_DEPTH = 3 * MAX_PAYLOAD_DEPTH;

const copyJson = (json: Json, depth: number, root: string): Json => {
  if (json === null || typeof json !== "object") return json;
  if (depth > MAX_STORED_DEPTH) {
    throw new PayloadError(
      root,
      `nested deeper than ${MAX_STORED_DEPTH} levels, which no stored payload is.`,
    );
  }
  if (Array.isArray(json)) {
    const copy: Json[] = [];
    for (let i = 0; i < json.length; i++) copy.push(copyJson(json[i] as Json, depth + 1, root));
    return copy;
  }
  const record = json as JsonObject;
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(record)) setOwn(copy, key, copyJson(record[key] as Json, depth + 1, root));
  return copy;
};

/**
 * The value a stored payload stands for, fresh each time; `undefined` for an absent one, and a `SealedPayload` for one that is sealed
 * and could not be opened.
 *
 * `root` names the value in errors (default `"payload"`).
 * @throws PayloadError when the type notes do not fit the JSON.
 */
export const decodePayload = (payload: Payload | undefined, root = "payload"): unknown => {
  if (payload === undefined) return undefined;
  if (payload.sealed !== undefined) return sealedValue(payload.sealed);
  const json = copyJson(payload.json, 0, root);
  if (payload.types === undefined) return json;
  checkNotes(json, payload.types, root);
  try {
    return joinTypes(json, payload.types);
  } catch (cause) {
    throw new PayloadError(root, "what is stored is damaged, or was written by something else.", { cause });
  }
};
