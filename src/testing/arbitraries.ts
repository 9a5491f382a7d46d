/**
 * Arbitraries for property tests of workflows, stores and whatever reads a run's events. fast-check is the caller's own: it is handed
 * over, not imported.
 */
import type { RunEvent } from "../events/catalogue.ts";
import { type ProgramOptions, workflowProgram } from "./arbitraries-programs.ts";
import { runLife } from "./arbitraries-run-events.ts";
import { oddText, payloadValue } from "./arbitraries-values.ts";
import type { Arbitrary, FastCheck } from "./fast-check-module.ts";
import type { WorkflowProgram } from "./workflow-programs.ts";

export interface RunstreamArbitraries {
  /** Any value that inputs, outputs and signals may be. Shrinks to `null`. */
  readonly payload: () => Arbitrary<unknown>;
  /** Step names and sleep labels: any text, with `#`, `!`, NUL and lone surrogates among it. Shrinks to `"a"`. */
  readonly name: () => Arbitrary<string>;
  readonly token: () => Arbitrary<string>;
  readonly runId: () => Arbitrary<string>;
  /** A run's stream, from its creation on. Shrinks to the creation alone. */
  readonly runLife: () => Arbitrary<readonly RunEvent[]>;
  /** A workflow body as data, for `bodyOf`, `answersOf` and `outcomeOf`. Shrinks to a single step. */
  readonly program: (options?: ProgramOptions) => Arbitrary<WorkflowProgram>;
}

/**
 * The arbitraries, made with your fast-check (version 4).
 *
 * @example
 * ```ts
 * import fc from "fast-check";
 * import { workflow } from "runstream";
 * import { bodyOf, outcomeOf, runstreamArbitraries, runWorkflow } from "runstream/testing";
 *
 * const { program } = runstreamArbitraries(fc);
 * await fc.assert(
 *   fc.asyncProperty(program(), async (tree) => {
 *     const run = await runWorkflow(workflow({ run: bodyOf(tree) }), {});
 *     expect(run.status === "running" || run.status === outcomeOf(tree).status).toBe(true);
 *   }),
 * );
 * ```
 */
export const runstreamArbitraries = (fc: FastCheck): RunstreamArbitraries => ({
  payload: () => payloadValue(fc),
  name: () => oddText(fc),
  token: () => oddText(fc),
  runId: () => oddText(fc),
  runLife: () => runLife(fc),
  program: (options) => workflowProgram(fc, options),
});
