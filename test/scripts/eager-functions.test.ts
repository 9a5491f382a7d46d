import { runInThisContext, Script } from "node:vm";
import { describe, expect, test } from "vitest";
import { withEagerFunctions } from "../../scripts/eager-functions.ts";

describe("function expressions are marked, so that V8 compiles them with their file", () => {
  test.each([
    ["an arrow function", "const f = (a) => a;", "const f = ((a) => a);"],
    ["one in another", "const f = (a) => (b) => b;", "const f = ((a) => ((b) => b));"],
    [
      "one in the default of a parameter",
      "const f = (a = () => 1) => a;",
      "const f = ((a = (() => 1)) => a);",
    ],
    ["one that is handed over", "list.map((a) => a, this);", "list.map(((a) => a), this);"],
    ["a function expression", "const f = function (a) {};", "const f = (function (a) {});"],
    ["a generator", "const f = function* () {};", "const f = (function* () {});"],
    ["a property", "const o = { f: () => 1 };", "const o = { f: (() => 1) };"],
    ["a field", "class C { f = () => this; }", "class C { f = (() => this); }"],
    ["one with types", "const f = <T,>(a: T): T => a;", "const f = (<T,>(a: T): T => a);"],
    [
      "one behind letters outside the ASCII",
      'const s = "ä🙂"; f(() => s);',
      'const s = "ä🙂"; f((() => s));',
    ],
  ])("%s", (_, source, marked) => {
    expect(withEagerFunctions(source, "ts")).toBe(marked);
  });

  test.each([
    ["a declared function", "export function f() {}"],
    ["an async arrow function, for which V8 has no mark", "const f = async (a) => a;"],
    ["methods", "class C { constructor() {} m() {} get a() { return 1; } static #p() {} }"],
    ["methods of an object", "const o = { m() {}, get a() { return 1; }, set a(b) {} };"],
  ])("not: %s", (_, source) => {
    expect(withEagerFunctions(source, "ts")).toBe(source);
  });

  test("what has a name by its place keeps it", () => {
    const named = withEagerFunctions("({ f: () => 1, g: function () {} })", "js");
    const { f, g } = runInThisContext(named) as Record<string, { readonly name: string }>;
    expect([f?.name, g?.name]).toEqual(["f", "g"]);
  });

  test("V8 keeps a function in the cache of a file that nobody has run", () => {
    const kept = (source: string): string => new Script(source).createCachedData().toString("latin1");
    const source = 'const f = (a) => { a.called("for the first time"); };';
    expect(kept(source)).not.toContain("for the first time");
    expect(kept(withEagerFunctions(source, "js"))).toContain("for the first time");
  });
});
