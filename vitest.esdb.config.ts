import { defineConfig } from "vitest/config";

/** Suites against real servers: the one that `RUNSTREAM_TEST_ESDB` names, and containers where Docker is there. They skip loudly without. */
export default defineConfig({
  test: {
    include: ["test/esdb-servers/**/*.test.ts"],
    testTimeout: 120_000,
    hookTimeout: 180_000,
    pool: "forks",
    maxWorkers: 1,
  },
});
