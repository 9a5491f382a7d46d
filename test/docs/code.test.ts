/** The TypeScript in README and docs compiles as a user would compile it, and what is marked `run` runs and prints what it says. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { allBlocks, type Block, blocksOf } from "./documents.ts";
import { type Finished, makeWorkspace, type Ran, type Workspace } from "./workspace.ts";

const blocks = allBlocks().filter(({ language }) => language === "ts");
const toRun = blocks.filter(({ words }) => words.includes("run"));

/** The block marked `text prints` that comes right after, if there is one. */
const printed = (block: Block): string | undefined => {
  const all = blocksOf(block.document);
  const next = all[all.findIndex(({ at }) => at === block.at) + 1];
  return next?.language === "text" && next.words.includes("prints") ? next.text : undefined;
};

describe("the code in the documentation", () => {
  let workspace: Workspace;
  let checking: Promise<Finished>;
  let running: Promise<ReadonlyMap<string, Ran>>;
  const files = new Map<string, string>();

  beforeAll(() => {
    workspace = makeWorkspace();
    for (const block of blocks) files.set(block.at, workspace.add(block));
    checking = workspace.typeCheck();
    running = workspace.run(toRun.map(({ at }) => files.get(at)!));
    running.catch(() => {});
  });
  afterAll(async () => {
    await Promise.allSettled([checking, running]);
    workspace.remove();
  });

  it("compiles in the project's own strict settings", async () => {
    const { code, stdout } = await checking;
    let errors = stdout;
    for (const [at, file] of files) errors = errors.replaceAll(file, `${file} [${at}]`);
    expect(errors).toBe("");
    expect(code).toBe(0);
    expect(blocks.length).toBeGreaterThan(20);
  });

  it.for(toRun)("$at runs, and prints what it says", async (block) => {
    const { stdout, error } = (await running).get(files.get(block.at)!)!;
    expect(error).toBe("");
    const expected = printed(block);
    if (expected !== undefined) expect(stdout).toBe(expected);
  });

  it("has no block that pretends to be checked", () => {
    const odd = allBlocks().filter(({ language }) =>
      ["typescript", "js", "javascript", "tsx"].includes(language),
    );
    expect(odd.map(({ at }) => at)).toEqual([]);
  });
});
