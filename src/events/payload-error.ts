/**
 * PayloadError: a value that cannot be stored, or a stored one whose type notes are damaged.
 *
 * It names the place (`output.items[3].when`), what was found there and what to do; it never quotes values, which may be secrets.
 */

/** One step of a path: an object's key, an array's index, or a piece of text such as `.get("key")` taken as it is. */
export type PathPart = string | number | { readonly text: string };

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

/** Writes a path as JavaScript would: `result.items[3]["odd key"].when`. */
export const formatPath = (root: string, parts: readonly PathPart[]): string => {
  let path = root;
  for (const part of parts) {
    if (typeof part === "number") path += `[${part}]`;
    else if (typeof part === "object") path += part.text;
    else if (IDENTIFIER.test(part)) path += `.${part}`;
    else path += `[${JSON.stringify(part)}]`;
  }
  return path;
};

export class PayloadError extends Error {
  override readonly name = "PayloadError";
  /** Where in the value, beginning with the root's name. */
  readonly path: string;

  constructor(path: string, problem: string, options?: { cause?: unknown }) {
    super(`${path}: ${problem}`, options);
    this.path = path;
  }

  static is(value: unknown): value is PayloadError {
    return value instanceof Error && value.name === "PayloadError";
  }
}
