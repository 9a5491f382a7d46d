/** Drives a run of a workflow program to its end, and holds it against the oracle. */
import { isDeepStrictEqual } from "node:util";
import { expect } from "vitest";
import type { WorkflowTestHandle } from "../../src/testing/run-workflow-types.ts";
import { answersOf, outcomeOf } from "../../src/testing/workflow-program-oracle.ts";
import type { WorkflowProgram } from "../../src/testing/workflow-programs.ts";

/** Answers, wakes and expires until the run is over: it has to end within as many rounds as it has waits. */
export const drive = async (handle: WorkflowTestHandle<unknown>, program: WorkflowProgram): Promise<void> => {
  for (let round = 0; handle.status === "running" && round < 300; round++) {
    for (const [token, answer] of answersOf(program, handle.runId)) await handle.signal(token, answer);
    await handle.advanceSleep();
    if (handle.status === "running") await handle.expireWaits();
  }
};

/** The run ended as the oracle says, and journaled what the oracle says. */
export const expectOutcome = (handle: WorkflowTestHandle<unknown>, program: WorkflowProgram): void => {
  const outcome = outcomeOf(program);
  expect([handle.status, handle.error]).toEqual([
    outcome.status,
    outcome.status === "failed" ? outcome.error : undefined,
  ]);
  if (outcome.status === "completed") expect(isDeepStrictEqual(handle.output, outcome.output)).toBe(true);
  const keys = [...handle.steps, ...handle.reads].map(({ key }) => key).sort();
  expect(keys).toEqual([...outcome.keys]);
};
