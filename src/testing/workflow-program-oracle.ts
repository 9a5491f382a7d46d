/**
 * What has to become of a workflow program, computed without an engine: its outcome, its keys, and the signals it needs.
 *
 * It shares with the interpreter (workflow-programs.ts) the names of things and nothing else.
 */
import { failureOf, stepName, tokenOf, type WorkflowProgram } from "./workflow-programs.ts";

/** How an uninterrupted run of a program ends, and the keys of the steps and reads it has settled by then, sorted. */
export type ProgramOutcome = {
  readonly keys: readonly string[];
} & (
  | { readonly status: "completed"; readonly output: unknown }
  | { readonly status: "failed"; readonly error: string }
);

/** What somebody outside has to signal for run `runId` to end, by token. A signal that comes too early is refused; try again. */
export const answersOf = (program: WorkflowProgram, runId: string): ReadonlyMap<string, unknown> => {
  const answers = new Map<string, unknown>();
  const visit = (node: WorkflowProgram, path: string): void => {
    if (node.kind === "wait") answers.set(tokenOf(runId, node.id, path), node.answer);
    if (node.kind === "repeat") {
      for (let time = 0; time < node.times; time++) visit(node.body, `${path}.${time}`);
    } else for (const child of childrenOf(node)) visit(child, path);
  };
  visit(program, "");
  return answers;
};

const childrenOf = (node: WorkflowProgram): readonly WorkflowProgram[] => {
  switch (node.kind) {
    case "sequence":
      return node.parts;
    case "parallel":
      return node.branches;
    case "race":
      return [node.winner];
    case "attempt":
      return [node.body, node.otherwise];
    default:
      return [];
  }
};

type Evaluated = { readonly answer: unknown } | { readonly failure: string };

/** The oracle: how a run of `program` ends that nothing interrupts, and so, how every run of it has to end. */
export const outcomeOf = (program: WorkflowProgram): ProgramOutcome => {
  const reached = new Map<string, number>();
  const keys: string[] = [];
  const reach = (name: string, mark: "#" | "!"): void => {
    const counted = `${mark}${name}`;
    const occurrence = reached.get(counted) ?? 0;
    reached.set(counted, occurrence + 1);
    keys.push(`${name}${mark}${occurrence}`);
  };

  const inTurn = (parts: readonly WorkflowProgram[]): Evaluated => {
    const answers: unknown[] = [];
    for (const part of parts) {
      const evaluated = evaluate(part);
      if ("failure" in evaluated) return evaluated;
      answers.push(evaluated.answer);
    }
    return { answer: answers };
  };

  const evaluate = (node: WorkflowProgram): Evaluated => {
    switch (node.kind) {
      case "step":
        reach(stepName(node), "#");
        return node.plan.ends === "ok" ? { answer: node.plan.value } : { failure: failureOf(stepName(node)) };
      case "sleep":
        return { answer: "slept" };
      case "wait":
        return { answer: node.answer };
      case "window":
        return { answer: "expired" };
      case "read":
        reach(node.of, "!");
        return { answer: node.of === "uuid" ? "string" : "number" };
      case "throw":
        return { failure: failureOf(`t${node.id}`) };
      case "sequence":
        return inTurn(node.parts);
      case "parallel": {
        const evaluated = node.branches.map(evaluate);
        const failed = evaluated.find((branch) => "failure" in branch);
        return (
          failed ?? { answer: evaluated.map((branch) => ("answer" in branch ? branch.answer : undefined)) }
        );
      }
      case "race":
        return evaluate(node.winner);
      case "attempt": {
        const tried = evaluate(node.body);
        if ("answer" in tried) return tried;
        const after = evaluate(node.otherwise);
        return "failure" in after ? after : { answer: { caught: tried.failure, after: after.answer } };
      }
      case "repeat":
        return inTurn(Array.from({ length: node.times }, () => node.body));
      default:
        return node satisfies never;
    }
  };

  const evaluated = evaluate(program);
  keys.sort();
  return "failure" in evaluated
    ? { status: "failed", error: evaluated.failure, keys }
    : { status: "completed", output: evaluated.answer, keys };
};
