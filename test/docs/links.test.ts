/** Every link in README and docs that stays in the project leads somewhere, also to the right heading. */
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, it } from "vitest";
import { documents, prose, ROOT, read } from "./documents.ts";

interface Link {
  readonly from: string;
  readonly target: string;
}

const linksOf = (document: string): Link[] =>
  [...prose(document).matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, target]) => ({
    from: document,
    target: target!,
  }));

/** A heading's anchor, as GitHub makes it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(/\s/g, "-");

const anchorsOf = (document: string): string[] =>
  [...prose(document).matchAll(/^#+\s+(.+)$/gm)].map(([, heading]) => anchorOf(heading!));

const broken = ({ from, target }: Link): string | undefined => {
  const [path = "", anchor] = target.split("#");
  const place = path === "" ? from : normalize(join(dirname(from), path));
  if (!existsSync(join(ROOT, place))) return `${from}: there is no ${place}`;
  if (anchor === undefined || !place.endsWith(".md")) return undefined;
  return anchorsOf(place).includes(anchor) ? undefined : `${from}: ${place} has no heading #${anchor}`;
};

describe("the links in the documentation", () => {
  const links = documents().flatMap(linksOf);

  it("lead to files and headings that are there", () => {
    const inside = links.filter(({ target }) => !/^[a-z]+:/.test(target));
    expect(inside.length).toBeGreaterThan(30);
    expect(inside.map(broken).filter((found) => found !== undefined)).toEqual([]);
  });

  it("use https where they leave the project", () => {
    const outside = links.filter(({ target }) => /^[a-z]+:/.test(target));
    expect(outside.filter(({ target }) => !target.startsWith("https://"))).toEqual([]);
  });

  it("reach every page from the README", () => {
    const reached = new Set(["README.md"]);
    for (const document of reached)
      for (const { target } of linksOf(document)) {
        const place = normalize(join(dirname(document), target.split("#")[0]!));
        if (place.endsWith(".md") && existsSync(join(ROOT, place))) reached.add(place);
      }
    const records = (document: string): boolean => document.startsWith("docs/adr/");
    expect(documents().filter((document) => !reached.has(document) && !records(document))).toEqual([]);
  });

  it("the README is short", () => {
    expect(read("README.md").split("\n").length).toBeLessThanOrEqual(200);
  });
});
