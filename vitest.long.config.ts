import { defineConfig } from "vitest/config";

/** Suites that take minutes: the full simulation, load, and killing real processes. `.ci/run` runs them after `npm test`. */
export default defineConfig({
  test: {
    include: ["test/long/**/*.test.ts"],
    testTimeout: 300_000,
    pool: "forks",
    maxWorkers: 1,
  },
});
