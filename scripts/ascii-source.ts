/**
 * JavaScript without a character outside the ASCII. One such character, in a text somewhere, has Node decode a file and V8 keep and read
 * it in the slow way that takes two bytes a character: to load it and to compile its functions takes a process milliseconds longer.
 */
const BEYOND = /[^\0-\x7f]/g;

/**
 * The same program: strings, templates, regular expressions and names may have `\uXXXX` for any of their characters. Two things do not
 * stay what they were: what `String.raw` sees, and names of characters beyond `\uFFFF`.
 */
export const inAscii = (source: string): string =>
  source.replace(BEYOND, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
