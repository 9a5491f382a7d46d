/**
 * The three functions a conformance suite needs of a test runner: vitest's, Jest's, Mocha's and `node:test`'s all fit.
 *
 * It installs nothing and imports no runner, so that a package which depends on Runstream chooses its own.
 */

/** A test runner's own functions. `afterAll` is optional: without it a suite ends with a test that closes what it opened. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: (...context: unknown[]) => Promise<void>) => unknown;
  readonly afterAll?: (body: () => Promise<void>) => unknown;
}

/**
 * `runner`, or where none is given the runner whose `describe` and `it` are global.
 *
 * Throws an `Error` when there is neither.
 */
export const runnerOr = (runner: TestRunner | undefined, suite: string): TestRunner => {
  if (runner !== undefined) return runner;
  const globals = globalThis as Partial<Record<"describe" | "it" | "afterAll" | "after", unknown>>;
  const { describe, it } = globals;
  if (typeof describe !== "function" || typeof it !== "function") {
    throw new Error(
      `${suite} found no test runner: there is no global describe and it. Hand yours over, as in ${suite}(…, { describe, it }).`,
    );
  }
  const afterAll = globals.afterAll ?? globals.after;
  return {
    describe: describe as TestRunner["describe"],
    it: it as TestRunner["it"],
    ...(typeof afterAll === "function" ? { afterAll: afterAll as NonNullable<TestRunner["afterAll"]> } : {}),
  };
};

/** Marks the test that is running as skipped where the runner hands its tests a context that can; says whether it could. */
export const skipLoudly = (context: readonly unknown[], reason: string): boolean => {
  const first = context[0] as { skip?: (reason: string) => void } | undefined;
  if (typeof first?.skip !== "function") return false;
  first.skip(reason);
  return true;
};
