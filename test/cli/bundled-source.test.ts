import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, inject, test } from "vitest";

const files = async (): Promise<readonly string[]> => {
  const found: string[] = [];
  const bundle = join(dirname(inject("commandLine")), "..");
  for await (const name of glob("**/*.js", { cwd: bundle })) found.push(join(bundle, name));
  return found;
};

test("what is published is written in ASCII", async () => {
  const found = await files();
  expect(found.length).toBeGreaterThan(10);
  const others = found.filter((file) => /[^\0-\x7f]/.test(readFileSync(file, "utf8")));
  expect(others).toEqual([]);
});

test("what a worker runs first is marked to be compiled with its file", async () => {
  const core = (await files()).find((file) => file.includes("/chunks/core-")) as string;
  const source = readFileSync(core, "utf8");
  expect(source).toContain("const openRunstream = ((options) => {");
  expect(source).toContain("const createWorkflowEngine = ((options) => {");
});
