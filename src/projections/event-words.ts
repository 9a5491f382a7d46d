/**
 * Pieces of the lines that describe events: text from outside, made harmless for a terminal, and the beginning of a payload.
 */
import type { Payload } from "../events/payload.ts";

export const PREVIEW_LENGTH = 80;

/** Text as a JSON string, with the control characters that JSON leaves in escaped as well. */
export const quoted = (text: string): string => escapeControls(JSON.stringify(text));

/** Text as it is, with control characters escaped. */
export const plain = (text: string): string => quoted(text).slice(1, -1).replaceAll('\\"', '"');

/** The beginning of a payload's JSON; of one that is sealed, the word for that. */
export const preview = (payload: Payload | undefined): string => {
  if (payload === undefined) return "nothing";
  if (payload.sealed !== undefined) return payload.sealed;
  const json = escapeControls(JSON.stringify(payload.json));
  return json.length <= PREVIEW_LENGTH ? json : `${json.slice(0, PREVIEW_LENGTH - 1)}…`;
};

export const escapeControls = (json: string): string =>
  json.replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
