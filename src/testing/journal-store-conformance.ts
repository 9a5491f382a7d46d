/**
 * The JournalStore conformance suite: what any store must do for the engine to keep its promises on it.
 *
 * It is one function for everybody's store, with no switch per store but one: a store may leave `resumableRuns` out, and then the
 * cases about it are reported as not applicable. The cases are numbered; a number never changes its meaning.
 *
 * Not for: speed, durability over a crash, or what happens to a journal call for a run that does not exist.
 */
import type { JournalStore } from "../engine/journal-store.ts";
import { attemptCases } from "./journal-store-conformance-attempts.ts";
import { hookCases } from "./journal-store-conformance-hooks.ts";
import { oddNameCases } from "./journal-store-conformance-odd-names.ts";
import { oddValueCases } from "./journal-store-conformance-odd-values.ts";
import { orderCases } from "./journal-store-conformance-order.ts";
import { resumeCases } from "./journal-store-conformance-resume.ts";
import { absenceCases, createdOnceCases, setStatusCases } from "./journal-store-conformance-runs.ts";
import { type JournalCaseGroup, makeScene, type Scene } from "./journal-store-conformance-scene.ts";
import { shapeCases } from "./journal-store-conformance-shape.ts";
import { sleepCases } from "./journal-store-conformance-sleeps.ts";
import { codecCases, stepCases } from "./journal-store-conformance-steps.ts";
import { runnerOr, skipLoudly, type TestRunner } from "./test-runner.ts";

/** Makes the store under test, once for the whole suite; `dispose` closes it after the last case. */
export type MakeJournalStore = () => Promise<{
  readonly store: JournalStore;
  readonly dispose?: () => Promise<void>;
}>;

export interface JournalStoreConformanceOptions {
  /** Does the store have `resumableRuns`? Default `true`. When `false`, having it is a failure. */
  readonly resumable?: boolean;
}

const groups: readonly JournalCaseGroup[] = [
  createdOnceCases,
  absenceCases,
  setStatusCases,
  ...stepCases,
  attemptCases,
  codecCases,
  ...sleepCases,
  ...hookCases,
  resumeCases,
  orderCases,
  oddNameCases,
  oddValueCases,
  shapeCases,
];

/**
 * Declares the suite's tests with `runner`, or with the global `describe` and `it` where none is given. They must run one after
 * another: some of them set `Date.now` for a moment, which is the clock a store has to read.
 *
 * Throws an `Error` when there is no runner. A failing case throws an `AssertionError`.
 *
 * @example
 * ```ts
 * import { afterAll, describe, it } from "vitest";
 * import { journalStoreConformance } from "runstream/testing";
 *
 * journalStoreConformance(async () => ({ store: myStore() }), { describe, it, afterAll });
 * ```
 */
export const journalStoreConformance = (
  makeStore: MakeJournalStore,
  runner?: TestRunner,
  options: JournalStoreConformanceOptions = {},
): void => {
  const { describe, it, afterAll } = runnerOr(runner, "journalStoreConformance");
  const resumable = options.resumable ?? true;
  let made: ReturnType<MakeJournalStore> | undefined;
  let scene: Promise<Scene> | undefined;
  const openScene = (): Promise<Scene> => {
    made ??= makeStore();
    scene ??= made.then(({ store }) => makeScene(store, resumable));
    return scene;
  };
  const dispose = async (): Promise<void> => {
    await (await made)?.dispose?.();
  };

  describe("JournalStore conformance", () => {
    for (const group of groups) {
      describe(group.title, () => {
        for (const { name, needsResume, check } of group.cases) {
          if (needsResume && !resumable) {
            it(`${name} [not applicable: the store has no resumableRuns]`, async (...context) => {
              skipLoudly(context, "the store declares that it has no resumableRuns");
            });
          } else it(name, async () => check(await openScene()));
        }
      });
    }
    if (afterAll !== undefined) afterAll(dispose);
    else it("closes the store", dispose);
  });
};
