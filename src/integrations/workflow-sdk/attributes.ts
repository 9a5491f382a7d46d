/** The limits of a run's attributes: 64 of them, keys of 1 to 256 characters, values of at most 256 bytes, `$` kept for frameworks. */
import type { AttributeChange } from "../../executor/world-events.ts";
import { mergeAttributes } from "./run-fold.ts";

const MAX_KEY_LENGTH = 256;
const MAX_VALUE_BYTES = 256;
const MAX_ATTRIBUTES = 64;
const RESERVED = "$";

/** An attribute that no run may have. The SDK knows it by its name and makes it the workflow's own error. */
export class AttributeValidationError extends Error {
  override readonly name = "AttributeValidationError";
}

/** What is wrong with setting these on a run that has `existing`; `undefined` when nothing is. */
export const attributeFault = (
  existing: Readonly<Record<string, string>>,
  changes: readonly AttributeChange[],
  allowReserved: boolean,
): AttributeValidationError | undefined => {
  const seen = new Set<string>();
  for (const { key, value } of changes) {
    const fault = keyFault(key, allowReserved) ?? valueFault(key, value);
    if (fault !== undefined) return new AttributeValidationError(fault);
    if (seen.has(key))
      return new AttributeValidationError(`Attribute ${named(key)} is set twice in one batch. Set it once.`);
    seen.add(key);
  }
  const count = Object.keys(mergeAttributes(existing, changes)).length;
  if (count <= MAX_ATTRIBUTES) return undefined;
  return new AttributeValidationError(
    `The run would have ${count} attributes; ${MAX_ATTRIBUTES} is the most. Remove some by setting them to null.`,
  );
};

const named = (key: unknown): string => JSON.stringify(String(key).slice(0, 32));

const keyFault = (key: unknown, allowReserved: boolean): string | undefined => {
  if (typeof key !== "string" || key.length === 0) return "An attribute's key is a string that is not empty.";
  if (key.length > MAX_KEY_LENGTH)
    return `The attribute key ${named(key)}… has ${key.length} characters; ${MAX_KEY_LENGTH} is the most.`;
  if (key.startsWith(RESERVED) && !allowReserved)
    return `The attribute key ${named(key)} begins with "${RESERVED}", which is kept for frameworks. Use another name.`;
  return undefined;
};

const valueFault = (key: string, value: unknown): string | undefined => {
  if (value === null) return undefined;
  if (typeof value !== "string") return `The value of attribute ${named(key)} is neither a string nor null.`;
  const bytes = Buffer.byteLength(value);
  return bytes <= MAX_VALUE_BYTES
    ? undefined
    : `The value of attribute ${named(key)} has ${bytes} bytes; ${MAX_VALUE_BYTES} is the most.`;
};
