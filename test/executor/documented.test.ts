/** What the executor reads from the environment is what its page says, and nothing else. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

it("the variables that the executor reads are the ones its page names", () => {
  const folder = join(ROOT, "src/executor");
  const code = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
  const reads = code.flatMap((text) => [...text.matchAll(/(?:setting|flag|wholeNumber)\("([A-Z_]+)"/g)]);
  const page = readFileSync(join(ROOT, "docs/how-to/step-executor.md"), "utf8");
  const table = page.slice(page.indexOf("## Environment"), page.indexOf("## What it does not do"));
  const named = [...table.matchAll(/`((?:WORKFLOW_|VERCEL_|PORT)[A-Z_]*)`/g)].map(([, name]) => name);
  expect(named.toSorted()).toEqual([...new Set(reads.map(([, name]) => name))].toSorted());
  expect(code.join("\n").match(/process\.env/g)?.length).toBe(1);
});
