import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["**/node_modules/**", "test/long/**", "test/esdb-servers/**", "test/world-suite/**"],
    testTimeout: 20_000,
    pool: "forks",
    maxWorkers: 2,
  },
});
