/**
 * Workflows in the form that the SDK's compiler gives them: the bodies as one script for the SDK's sandbox, the steps registered here.
 * Written by hand, so that no compiler and no bundler is needed, and so that a replay costs what the SDK's runtime costs and no more:
 * the suite's own bundle brings 14,000 lines into the sandbox at every replay.
 */
import { workflowEntrypoint } from "@workflow/core/runtime";

/** Ten or so trivial steps, one after the other. */
export const SEQUENCE = "workflow//./workflows//sequence";
/** As {@link SEQUENCE}, with a pause of as many milliseconds in each step, so that a process can be killed in the middle. */
export const SLOW_SEQUENCE = "workflow//./workflows//slowSequence";

type StepFunction = ((...args: never[]) => Promise<unknown>) & { stepId?: string };

/** Where the SDK's runtime looks for the body of a step. */
const REGISTRY = Symbol.for("@workflow/core//registeredSteps");

const register = (stepId: string, body: StepFunction): void => {
  const holder = globalThis as { [REGISTRY]?: Map<string, StepFunction> };
  holder[REGISTRY] ??= new Map();
  holder[REGISTRY].set(stepId, Object.assign(body, { stepId }));
};

register("step//./workflows//increment", async (value: number) => value + 1);
register("step//./workflows//incrementSlowly", async (value: number, ms: number) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return value + 1;
});

const CODE = `
const useStep = globalThis[Symbol.for("WORKFLOW_USE_STEP")];
const increment = useStep("step//./workflows//increment");
const incrementSlowly = useStep("step//./workflows//incrementSlowly");

async function sequence(steps) {
  let value = 0;
  while (value < steps) value = await increment(value);
  return value;
}

async function slowSequence(steps, ms) {
  let value = 0;
  while (value < steps) value = await incrementSlowly(value, ms);
  return value;
}

globalThis.__private_workflows = new Map([
  ["${SEQUENCE}", sequence],
  ["${SLOW_SEQUENCE}", slowSequence],
]);
`;

/** The flow route. */
export const flow: (request: Request) => Promise<Response> = workflowEntrypoint(CODE);
