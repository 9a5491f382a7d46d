/**
 * A store that goes away in the middle of any call, before or after the call took effect, and comes back for the next delivery:
 * whatever the body is, the run ends as it would have without that, and has journaled the same keys.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createMemoryJournal } from "../../src/embedded/memory-journal.ts";
import type { JournalStore } from "../../src/engine/journal-store.ts";
import { workflow } from "../../src/engine/workflow.ts";
import { runstreamArbitraries } from "../../src/testing/arbitraries.ts";
import { runWorkflow } from "../../src/testing/run-workflow.ts";
import { bodyOf } from "../../src/testing/workflow-programs.ts";
import { createReferenceJournal } from "../reference-journal/reference-journal.ts";
import { drive, expectOutcome } from "./program-driver.ts";

const WRITES = ["claimAttempt", "claimSleep", "claimHook", "closeHook", "appendStep", "setStatus"] as const;

/** Which call is lost, counted over all writes from the moment the world is armed, and whether its effect was lost as well. */
interface Loss {
  readonly call: number;
  readonly effect: "lost" | "kept";
}

class StoreGone extends Error {
  override readonly name = "StoreGone";
}

/** A store that fails at the given calls, and then for every call until it is revived. */
const losing = (store: JournalStore, losses: readonly Loss[]) => {
  const world = { armed: false, gone: false, calls: 0 };
  const journal = { ...store };
  for (const method of WRITES) {
    const real = store[method] as (...args: unknown[]) => Promise<unknown>;
    const guarded = async (...args: unknown[]): Promise<unknown> => {
      if (!world.armed) return real(...args);
      const call = world.calls++;
      const loss = losses.find((each) => each.call === call);
      if (loss !== undefined) world.gone = true;
      if (loss?.effect === "kept") await real(...args);
      if (world.gone) throw new StoreGone("the store is gone");
      return real(...args);
    };
    Object.assign(journal, { [method]: guarded });
  }
  return { journal, world };
};

const loss = fc.record<Loss>({ call: fc.nat({ max: 40 }), effect: fc.constantFrom("lost", "kept") });

describe.each([
  ["a memory journal", createMemoryJournal, { windows: true, sharedNames: true }],
  ["somebody else's journal", createReferenceJournal, { windows: true }],
] as const)("a run on %s", (_, makeJournal, options) => {
  it("ends as if the store had never gone away", async () => {
    let restarts = 0;
    await fc.assert(
      fc.asyncProperty(
        runstreamArbitraries(fc).program(options),
        fc.array(loss, { minLength: 1, maxLength: 3 }),
        async (program, losses) => {
          const { journal, world } = losing(makeJournal(), losses);
          const body = bodyOf(program);
          const def = workflow({
            run: async (input, ctx) => {
              await ctx.sleep("until the world is armed", 3_600_000);
              return body(input, ctx);
            },
          });
          const handle = await runWorkflow(def, {}, { journal, maxDeliveries: 5_000 });
          world.armed = true;
          const insist = async (work: () => Promise<unknown>): Promise<void> => {
            try {
              await work();
            } catch (error) {
              if (!(error instanceof StoreGone)) throw error;
              world.gone = false;
              restarts += 1;
              await insist(() => handle.restart());
            }
          };
          for (let round = 0; handle.status === "running" && round <= losses.length; round++) {
            await insist(() => drive(handle, program));
          }
          expectOutcome(handle, program);
        },
      ),
      { numRuns: 200 },
    );
    expect(restarts).toBeGreaterThan(50);
  });
});
