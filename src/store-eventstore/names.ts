/**
 * Names on the server: of streams, event types and groups, one to one with the port's, which may be any text.
 *
 * A server keeps names as UTF-8, refuses empty ones, and keeps those that begin with `$` to itself.
 * - N1 A well-formed name that begins with neither `$` nor `%` is written as it is, so that ordinary names stay readable.
 * - N2 Any other is written `%` and then the name, with `%` and lone surrogates as `%xxxx`.
 * - N3 A name on the server that no name of the port is written as belongs to somebody else: {@link readName} answers `undefined`.
 */
const ESCAPED = /%|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const escapeUnit = (unit: string): string => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
const unescapeUnits = (text: string): string =>
  text.replace(/%([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

const isPlain = (name: string): boolean =>
  name !== "" && !name.startsWith("$") && !name.startsWith("%") && name.isWellFormed();

/** The name on the server. */
export const writeName = (name: string): string =>
  isPlain(name) ? name : `%${name.replace(ESCAPED, escapeUnit)}`;

/** The port's name for one on the server; `undefined` for one that is not ours (N3). */
export const readName = (written: string): string | undefined => {
  if (isPlain(written)) return written;
  if (!written.startsWith("%")) return undefined;
  const name = unescapeUnits(written.slice(1));
  return writeName(name) === written ? name : undefined;
};

/**
 * Prefixes on the server such that every name that begins with `prefix` is written with one of them, and hardly any other; `undefined`
 * where nothing can be said of them.
 */
export const writePrefixes = (prefix: string): string[] | undefined => {
  // A prefix that ends inside a pair of surrogates is looked for without its last unit.
  const whole = prefix.replace(/[\ud800-\udbff]$/, "");
  if (whole === "") return undefined;
  const escaped = `%${whole.replace(ESCAPED, escapeUnit)}`;
  return isPlain(whole) ? [whole, escaped] : [escaped];
};
