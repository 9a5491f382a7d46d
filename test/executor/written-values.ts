/** Values as their bytes say them: for what is a reference on the wire and something alive in a step. */
import { executeStep, type StepExecutionResult, type StepExecutorParams } from "../../src/executor/index.ts";
import { counted, paramsFor, STEP_ID } from "./scene.ts";
import type { ScriptedWorld } from "./scripted-world.ts";

/** Bytes as text, one character each. */
export const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

/** The result of a step as its bytes say it: references, not streams. */
export const resultText = (world: ScriptedWorld): string =>
  text((world.asked("step_completed")[0]!.request.eventData as { result: Uint8Array }).result);

/** Runs a step whose only argument is what this payload says. */
export const runWith = async (
  world: ScriptedWorld,
  argument: string,
  body: (argument: never) => unknown,
  params: Partial<StepExecutorParams> = {},
): Promise<StepExecutionResult> => {
  const [tag, fields] = JSON.parse(argument) as [string, Record<string, unknown>];
  const values: unknown[] = [{ args: 1 }, [2], [tag, 3]];
  const references: Record<string, number> = {};
  values.push(references);
  for (const [field, value] of Object.entries(fields)) references[field] = values.push(value) - 1;
  world.given({ stepId: STEP_ID, input: Buffer.from(`devl${JSON.stringify(values)}`) });
  counted(body);
  return executeStep(paramsFor(world, params));
};
