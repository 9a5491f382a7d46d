/**
 * Frozen copies of JSON, so that an event in the log can be handed to everybody and edited by nobody.
 *
 * A copy, because freezing what the caller passed in would be a surprise to him. It is what `JSON.parse(JSON.stringify(json))`
 * gives (absent for `undefined`, `null` for numbers JSON does not have, 0 for -0), so that this log and one that writes text
 * hold the same event; it takes about a third of the time.
 */
import type { Json, JsonObject } from "../events/json.ts";

export const frozenCopy = (json: JsonObject): JsonObject => {
  // A spread, because it is several times faster than adding key by key, and keeps a key `__proto__` a key.
  const copy: Record<string, Json> = { ...json };
  for (const key in copy) {
    const value: Json | undefined = copy[key];
    if (value === undefined) delete copy[key];
    else if (typeof value === "object" || typeof value === "number") copy[key] = frozenValue(value);
  }
  return Object.freeze(copy);
};

const frozenValue = (json: Json | undefined): Json => {
  if (json === undefined || json === null) return null;
  if (typeof json === "number") return Number.isFinite(json) ? json + 0 : null;
  if (typeof json !== "object") return json;
  return isArray(json) ? Object.freeze(Array.from(json, frozenValue)) : frozenCopy(json);
};

const isArray = (json: Json): json is readonly Json[] => Array.isArray(json);
