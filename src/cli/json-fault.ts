/**
 * Where a text stops being JSON, and what should stand there. JSON.parse says so only sometimes, and in words for programmers.
 */
export interface JsonFault {
  /** Offset in UTF-16 units. */
  readonly at: number;
  readonly expected: string;
}

const BLANK = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them inside a string.
const STRING_PART = /(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;

/** The first fault of `text`; `undefined` where it is JSON. */
export const jsonFault = (text: string): JsonFault | undefined => {
  let at = 0;

  const match = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return false;
    at = pattern.lastIndex;
    return found[0].length > 0;
  };
  const take = (sign: string): boolean => {
    match(BLANK);
    if (text[at] !== sign) return false;
    at++;
    return true;
  };
  const fault = (expected: string): JsonFault => ({ at, expected });

  const string = (): JsonFault | undefined => {
    match(STRING_PART);
    if (text[at] === '"') {
      at++;
      return undefined;
    }
    return fault(text[at] === "\\" ? "a valid escape such as \\n" : 'the closing "');
  };

  const object = (): JsonFault | undefined => {
    if (take("}")) return undefined;
    for (;;) {
      if (!take('"')) return fault('a name in double quotes (") or }');
      const wrong = string();
      if (wrong !== undefined) return wrong;
      if (!take(":")) return fault("a colon");
      const inner = value();
      if (inner !== undefined) return inner;
      if (take("}")) return undefined;
      if (!take(",")) return fault("a comma or }");
    }
  };

  const array = (): JsonFault | undefined => {
    if (take("]")) return undefined;
    for (;;) {
      const inner = value();
      if (inner !== undefined) return inner;
      if (take("]")) return undefined;
      if (!take(",")) return fault("a comma or ]");
    }
  };

  const value = (): JsonFault | undefined => {
    match(BLANK);
    if (take("{")) return object();
    if (take("[")) return array();
    if (take('"')) return string();
    return match(NUMBER) || match(WORD) ? undefined : fault("a value");
  };

  const wrong = value();
  if (wrong !== undefined) return wrong;
  match(BLANK);
  return at < text.length ? fault("the end of the text") : undefined;
};
