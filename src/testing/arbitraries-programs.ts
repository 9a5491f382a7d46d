/** Arbitrary workflow programs: small trees of everything a body may ask for, each node with names of its own. */
import { payloadValue } from "./arbitraries-values.ts";
import type { Arbitrary, FastCheck } from "./fast-check-module.ts";
import { MAX_PLANNED_FAILURES, type ProgramStepPlan, type WorkflowProgram } from "./workflow-programs.ts";

export interface ProgramOptions {
  /**
   * Whether programs may wait in windows that expire. To end them, a test moves the clock, or uses `expireWaits`. Default `false`.
   */
  readonly windows?: boolean;
  /**
   * Whether steps share a few names, so that their keys depend on the order in which parallel branches go on. The outcome is then the
   * same only on a store that knows the order of its settlements (law L1). Default `false`.
   */
  readonly sharedNames?: boolean;
  /** Whether runs that fail are wanted too. Default `true`. */
  readonly failing?: boolean;
}

const plan = (fc: FastCheck, failing: boolean): Arbitrary<ProgramStepPlan> => {
  const ok = fc.record({
    ends: fc.constant("ok" as const),
    value: payloadValue(fc),
    failures: fc.nat({ max: MAX_PLANNED_FAILURES }),
  });
  const fails = fc.record({ ends: fc.constantFrom("fatal" as const, "exhausted" as const) });
  return failing
    ? fc.oneof({ withCrossShrink: true }, { weight: 4, arbitrary: ok }, { weight: 1, arbitrary: fails })
    : ok;
};

/**
 * Programs of up to some dozens of nodes; see `WorkflowProgram`. Sleeps take between -1 s and an hour, windows up to a minute.
 * Shrinks towards a single step, by leaving parts out and by putting a part in the place of the whole.
 */
export const workflowProgram = (fc: FastCheck, options: ProgramOptions = {}): Arbitrary<WorkflowProgram> => {
  const { windows = false, sharedNames = false, failing = true } = options;
  const depthIdentifier = "runstream program";
  const id = fc.constant(0);
  const parts = { minLength: 1, maxLength: 4, depthIdentifier };

  const { program } = fc.letrec<{ program: WorkflowProgram }>((tie) => {
    const inner = tie("program");
    const step = fc.record(
      {
        kind: fc.constant("step" as const),
        id,
        plan: plan(fc, failing),
        ...(sharedNames ? { name: fc.constantFrom("a", "b") } : {}),
      },
      { noNullPrototype: true },
    );
    const leaves: Arbitrary<WorkflowProgram>[] = [
      step,
      fc.record({ kind: fc.constant("sleep" as const), id, ms: fc.integer({ min: -1_000, max: 3_600_000 }) }),
      fc.record({ kind: fc.constant("wait" as const), id, answer: payloadValue(fc) }),
      fc.record({ kind: fc.constant("read" as const), id, of: fc.constantFrom("now", "random", "uuid") }),
    ];
    if (windows) {
      leaves.push(
        fc.record({
          kind: fc.constant("window" as const),
          id,
          timeoutMs: fc.integer({ min: 1, max: 60_000 }),
        }),
      );
    }
    if (failing) leaves.push(fc.record({ kind: fc.constant("throw" as const), id }));
    return {
      program: fc.oneof(
        { withCrossShrink: true, maxDepth: 4, depthIdentifier },
        ...leaves,
        fc.record({ kind: fc.constant("sequence" as const), parts: fc.array(inner, parts) }),
        fc.record({ kind: fc.constant("parallel" as const), branches: fc.array(inner, parts) }),
        fc.record({ kind: fc.constant("race" as const), id, winner: inner, loserFirst: fc.boolean() }),
        fc.record({ kind: fc.constant("attempt" as const), body: inner, otherwise: inner }),
        fc.record({
          kind: fc.constant("repeat" as const),
          times: fc.integer({ min: 1, max: 3 }),
          body: inner,
        }),
      ),
    };
  });
  return program.map(numbered);
};

/** The program with its nodes numbered in the order of their places. */
const numbered = (program: WorkflowProgram): WorkflowProgram => {
  let next = 0;
  const number = (node: WorkflowProgram): WorkflowProgram => {
    switch (node.kind) {
      case "sequence":
        return { ...node, parts: node.parts.map(number) };
      case "parallel":
        return { ...node, branches: node.branches.map(number) };
      case "race":
        return { ...node, id: next++, winner: number(node.winner) };
      case "attempt":
        return { ...node, body: number(node.body), otherwise: number(node.otherwise) };
      case "repeat":
        return { ...node, body: number(node.body) };
      default:
        return { ...node, id: next++ };
    }
  };
  return number(program);
};
