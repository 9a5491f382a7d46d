/**
 * What the steps of the digest do: find Markdown files, read and measure them, make an index, file it. Real files, and a little artificial
 * slowness ({@link SLOWNESS_MS}), without which no kill would ever catch a step in the middle.
 */
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

export const shelves = ["samples", "project", "everything", "long reads"] as const;
export type Shelf = (typeof shelves)[number];

/** Every step that touches a document takes this long on top, in milliseconds; the shortest and the longest. */
export const SLOWNESS_MS = [60, 150] as const;
const WORDS_PER_MINUTE = 220;
/** A shelf holds no more than these: the demo is to be over in half a minute. */
export const MOST_DOCUMENTS = 16;

export interface DocumentDigest {
  readonly path: string;
  readonly title: string;
  readonly words: number;
  readonly lines: number;
  readonly readingMinutes: number;
  readonly headings: readonly { readonly level: number; readonly text: string }[];
}

export interface DigestIndex {
  readonly shelf: Shelf;
  readonly words: number;
  readonly readingMinutes: number;
  readonly documents: readonly DocumentDigest[];
}

/** The paths of a shelf's documents below `root`, sorted; at most {@link MOST_DOCUMENTS}. */
export const documentsOf = async (shelf: Shelf, root: string): Promise<string[]> => {
  const samples = await markdownIn(root, "demo/documents");
  const own = [
    ...["README.md", "CHANGELOG.md"].filter((path) => existsSync(join(root, path))),
    ...(await markdownIn(root, "docs")),
  ];
  const paths = {
    samples,
    project: own.length > 0 ? own : samples,
    everything: [...samples, ...own],
    "long reads": await longestHalf(root, [...own, ...samples]),
  }[shelf];
  if (paths.length === 0) throw new Error(`There is no Markdown file on the shelf "${shelf}" of ${root}.`);
  return paths.slice(0, MOST_DOCUMENTS);
};

const markdownIn = async (root: string, folder: string): Promise<string[]> => {
  if (!existsSync(join(root, folder))) return [];
  const names = await readdir(join(root, folder), { recursive: true });
  return names
    .filter((name) => name.endsWith(".md"))
    .map((name) => join(folder, name))
    .sort();
};

const longestHalf = async (root: string, paths: readonly string[]): Promise<string[]> => {
  const sized = await Promise.all(
    paths.map(async (path) => ({ path, size: (await stat(join(root, path))).size })),
  );
  return sized
    .sort((a, b) => b.size - a.size)
    .slice(0, Math.ceil(paths.length / 2))
    .map(({ path }) => path)
    .sort();
};

/** Reads one document: its title, its headings, its length and how long a person needs for it. */
export const readDocument = async (root: string, path: string): Promise<DocumentDigest> => {
  const text = await readFile(join(root, path), "utf8");
  const [least, most] = SLOWNESS_MS;
  await pause(least + (text.length % (most - least)));
  const headings = headingsOf(text);
  const words = text.match(/[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu)?.length ?? 0;
  return {
    path,
    title: headings[0]?.text ?? path,
    words,
    lines: text.split("\n").length,
    readingMinutes: minutes(words),
    headings,
  };
};

/** Headings of Markdown text, those in code blocks left out. */
const headingsOf = (text: string): DocumentDigest["headings"] => {
  const headings: { level: number; text: string }[] = [];
  let inCode = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) inCode = !inCode;
    const match = inCode ? null : /^(#{1,6})\s+(.+?)\s*#*$/.exec(line);
    if (match) headings.push({ level: match[1]!.length, text: match[2]! });
  }
  return headings;
};

const minutes = (words: number): number => Number((words / WORDS_PER_MINUTE).toFixed(1));

export const indexOf = (shelf: Shelf, documents: readonly DocumentDigest[]): DigestIndex => {
  const words = documents.reduce((sum, document) => sum + document.words, 0);
  return { shelf, words, readingMinutes: minutes(words), documents };
};

/** Files the index as JSON and as Markdown; each file is there whole or not at all, also when the process is killed in between. */
export const fileDigest = async (
  output: string,
  index: DigestIndex,
  verdict: string,
): Promise<{ json: string; markdown: string }> => {
  await mkdir(output, { recursive: true });
  const name = join(output, index.shelf.replaceAll(" ", "-"));
  const json = `${name}.json`;
  const markdown = `${name}.md`;
  await writeWhole(json, `${JSON.stringify({ ...index, verdict }, undefined, 2)}\n`);
  await writeWhole(markdown, asMarkdown(index, verdict));
  return { json, markdown };
};

/** A retry writes the same temporary name, so that one which was killed leaves nothing behind. */
const writeWhole = async (path: string, text: string): Promise<void> => {
  await writeFile(`${path}.part`, text);
  await pause(SLOWNESS_MS[1]);
  await rename(`${path}.part`, path);
};

const asMarkdown = ({ shelf, words, readingMinutes, documents }: DigestIndex, verdict: string): string => {
  const entries = documents.map(
    (one) =>
      `## ${one.title}\n\n\`${one.path}\`, ${one.words} words, ${one.lines} lines, ${one.readingMinutes} min\n\n` +
      one.headings
        .slice(1)
        .map(({ level, text }) => `${"  ".repeat(Math.max(0, level - 2))}- ${text}\n`)
        .join(""),
  );
  return `# Digest of the shelf “${shelf}”\n\n${documents.length} documents, ${words} words, ${readingMinutes} minutes to read; ${verdict}.\n\n${entries.join("\n")}`;
};
