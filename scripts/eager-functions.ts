/**
 * Marks functions that a process calls as soon as it starts, so that V8 compiles them with their file and not each at its first call:
 * what Node's compile cache keeps of a file is what was compiled with it (docs/adr/0020).
 *
 * The mark is a pair of brackets around a function expression, which V8 takes as the promise of a call; it changes nothing else.
 *
 * Not here: which files are worth it (bundle.ts). Declared functions, methods and async arrow functions have no such mark.
 */
import { parseAst } from "rolldown/parseAst";
import { Visitor } from "rolldown/utils";

interface Span {
  readonly start: number;
  readonly end: number;
}

const markable = (source: string, lang: "js" | "ts"): readonly Span[] => {
  const found: Span[] = [];
  /** A method's function is no expression that could stand in brackets. */
  const methods = new Set<unknown>();
  new Visitor({
    MethodDefinition: ({ value }) => methods.add(value),
    Property: ({ value, method, kind }) => (method || kind !== "init") && methods.add(value),
    FunctionExpression: (node) => !methods.has(node) && found.push(node),
    ArrowFunctionExpression: (node) => !node.async && found.push(node),
  }).visit(parseAst(source, { lang }));
  return found;
};

/** The source with every function expression in it marked that can be. */
export const withEagerFunctions = (source: string, lang: "js" | "ts"): string => {
  const brackets = markable(source, lang).flatMap(({ start, end }) => [
    { at: start, text: "(" },
    { at: end, text: ")" },
  ]);
  let text = "";
  let from = 0;
  for (const bracket of brackets.sort((a, b) => a.at - b.at)) {
    text += source.slice(from, bracket.at) + bracket.text;
    from = bracket.at;
  }
  return text + source.slice(from);
};
