/**
 * Vitest's global set-up: the command line as it is published, bundled for the tests that start it. Processes that load a few files
 * instead of hundreds make these tests twice as fast, and what they test is what a user gets.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";
import { bundlePackage } from "../../scripts/bundle.ts";

const PROJECT = resolve(import.meta.dirname, "../..");

declare module "vitest" {
  interface ProvidedContext {
    /** The command line's main file. */
    readonly commandLine: string;
  }
}

/** In the project, where the bundle finds the packages that it does not hold. */
export default async ({ provide }: TestProject): Promise<() => void> => {
  const folder = mkdtempSync(join(PROJECT, "test-output-"));
  await bundlePackage(folder);
  provide("commandLine", join(folder, "cli", "main.js"));
  return () => rmSync(folder, { recursive: true, force: true });
};
