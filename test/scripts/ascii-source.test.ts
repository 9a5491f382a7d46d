import { runInThisContext } from "node:vm";
import { expect, test } from "vitest";
import { inAscii } from "../../scripts/ascii-source.ts";

test("a source in ASCII is the same program", () => {
  const source =
    '({ "ä": "größer 🙂", text: `a — …`, größe: 1, found: /[ä-ü]/.test("ö"), whole: /^.$/u.test("🙂") })';
  const written = inAscii(source);
  expect(written).toMatch(/^[\0-\x7f]*$/);
  expect(written).not.toBe(source);
  expect(runInThisContext(written)).toEqual({
    ä: "größer 🙂",
    text: "a — …",
    größe: 1,
    found: true,
    whole: true,
  });
});

test("a source that is in ASCII stays as it is", () => {
  const source = 'const a = "\\u00e4"; // \\n';
  expect(inAscii(source)).toBe(source);
});
