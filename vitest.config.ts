import { defineConfig } from "vitest/config";

/** Suites that start processes, open files and servers, or keep something in a module: each of their files gets a process of its own. */
const APART = [
  "cli",
  "docs",
  "embedded",
  "esdb-node",
  "examples",
  "store-eventstore",
  "store-sqlite",
  "workflow-sdk",
];
const ELSEWHERE = ["long", "esdb-servers", "world-suite"];
const of = (folders: readonly string[]): string[] => folders.map((folder) => `test/${folder}/**/*.test.ts`);

export default defineConfig({
  test: {
    testTimeout: 20_000,
    pool: "forks",
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          include: ["src/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...of(APART), ...of(ELSEWHERE)],
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: "apart", include: of(APART), globalSetup: ["test/cli/bundle.ts"] },
      },
    ],
  },
});
