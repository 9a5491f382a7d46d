/** The project's Markdown files, and the parts of them that the tests of the documentation look at. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

export interface Block {
  /** Path below the project, with the line of the opening fence: `docs/concepts.md:12`. */
  readonly at: string;
  readonly document: string;
  readonly language: string;
  /** The words after the language. */
  readonly words: readonly string[];
  readonly text: string;
}

const markdownIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name))
    .sort();

/** README and everything in `docs`, as paths below the project. */
export const documents = (): string[] => ["README.md", ...markdownIn("docs")];

export const read = (document: string): string => readFileSync(join(ROOT, document), "utf8");

/** All fenced blocks of a document, in order. Throws where a fence is left open. */
export const blocksOf = (document: string): Block[] => {
  const blocks: Block[] = [];
  let open: { line: number; info: string; text: string[] } | undefined;
  for (const [index, line] of read(document).split("\n").entries()) {
    const fence = /^\s*```(.*)$/.exec(line);
    if (fence === null) open?.text.push(line);
    else if (open === undefined) open = { line: index + 1, info: fence[1]!.trim(), text: [] };
    else {
      const [language = "", ...words] = open.info.split(/\s+/);
      const at = `${document}:${open.line}`;
      blocks.push({ at, document, language, words, text: `${open.text.join("\n")}\n` });
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${document}:${open.line}: this block has no end.`);
  return blocks;
};

export const allBlocks = (): Block[] => documents().flatMap(blocksOf);

/** A document without its fenced blocks: prose, with the code in it. */
export const prose = (document: string): string => read(document).replace(/^\s*```[\s\S]*?^\s*```\s*$/gm, "");
