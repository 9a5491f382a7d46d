/**
 * Frozen copies of JSON, so that an event in the log can be handed to everybody and edited by nobody.
 *
 * A copy, because freezing what the caller passed in would be a surprise to him. It is what `JSON.parse(JSON.stringify(json))`
 * gives (absent for `undefined`, `null` for numbers JSON does not have, 0 for -0), so that this log and one that writes text
 * hold the same event; it takes about half the time.
 */
import type { Json, JsonObject } from "../events/json.ts";

export function frozenCopy(json: JsonObject): JsonObject;
export function frozenCopy(json: Json): Json;
export function frozenCopy(json: Json): Json {
  if (typeof json === "number") return Number.isFinite(json) ? json + 0 : null;
  if (typeof json !== "object" || json === null) return json;
  if (isArray(json)) return Object.freeze(json.map((item) => (item === undefined ? null : frozenCopy(item))));
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(json)) {
    const value = json[key];
    if (value === undefined) continue;
    // Assigning to `__proto__` would set the prototype instead of making a property.
    if (key === "__proto__") Object.defineProperty(copy, key, { value: frozenCopy(value), enumerable: true });
    else copy[key] = frozenCopy(value);
  }
  return Object.freeze(copy);
}

const isArray = (json: Json): json is readonly Json[] => Array.isArray(json);
