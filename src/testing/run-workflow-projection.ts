/** What a test sees of a journal: settled steps and reads, in an order that is a property of the body and not of its speed. */
import type { StepEntry } from "../engine/journal-store.ts";
import { type DeterminismKind, isReadKey, splitKey } from "../engine/keys.ts";
import type { WorkflowTestRead, WorkflowTestStep } from "./run-workflow-types.ts";

/** By name in code units, then by occurrence as a number: `poll#2` before `poll#10`. */
const byNameAndOccurrence = (a: StepEntry, b: StepEntry): number => {
  const [one, other] = [splitKey(a.key), splitKey(b.key)];
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  return one.occurrence - other.occurrence;
};

const stepOf = ({ key, name, status, output, error, attempts }: StepEntry): WorkflowTestStep => ({
  key,
  name,
  status,
  ...(output === undefined ? {} : { output }),
  ...(error === undefined ? {} : { error: error.message }),
  attempts,
});

const readOf = ({ key, output }: StepEntry): WorkflowTestRead => ({
  key,
  kind: splitKey(key).name as DeterminismKind,
  value: output,
});

/** The journal's entries as a test reads them, steps apart from determinism reads. */
export const projectSteps = (
  entries: readonly StepEntry[],
): { readonly steps: readonly WorkflowTestStep[]; readonly reads: readonly WorkflowTestRead[] } => {
  const sorted = [...entries].sort(byNameAndOccurrence);
  return {
    steps: sorted.filter(({ key }) => !isReadKey(key)).map(stepOf),
    reads: sorted.filter(({ key }) => isReadKey(key)).map(readOf),
  };
};
