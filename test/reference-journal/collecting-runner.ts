/** A test runner that runs nothing by itself: it collects a suite's tests, so that a test can run them and look at what failed. */
import type { TestRunner } from "../../src/testing/test-runner.ts";

export interface CollectedTest {
  readonly name: string;
  readonly body: () => Promise<void>;
}

/** The tests that `declare` declares, in order. */
export const collectTests = (declare: (runner: TestRunner) => void): readonly CollectedTest[] => {
  const tests: CollectedTest[] = [];
  declare({
    describe: (_, body) => body(),
    it: (name, body) => tests.push({ name, body: () => body() }),
  });
  return tests;
};

/** The names of the tests that fail, each run after the one before it. */
export const failuresOf = async (tests: readonly CollectedTest[]): Promise<readonly string[]> => {
  const failed: string[] = [];
  for (const { name, body } of tests) {
    try {
      await body();
    } catch {
      failed.push(name);
    }
  }
  return failed;
};
