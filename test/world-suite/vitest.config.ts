import { defineConfig } from "vitest/config";

/** The suite starts a server for each of its tests, by the name of `node` alone: the project's own has to come first in PATH. */
export default defineConfig({
  test: {
    include: ["*.test.ts"],
    testTimeout: 120_000,
    pool: "forks",
    maxWorkers: 1,
  },
});
