/**
 * What a body may ask of the engine, for one walk: steps, sleeps, hooks and determinism reads.
 *
 * Not here: how they answer (steps.ts, waits.ts).
 *
 * Invariants:
 * - C1 Keys are counted synchronously at the call, so that a fan-out's keys follow from the source order.
 * - C2 Every answer to the body goes through the walk's releases, in the order of the stream where that is known (law L1). What a step's
 *   body asks for is answered at once, outside that order (answers.ts).
 * - C3 A call that is not allowed (an argument of the wrong kind, a wait inside a step) is refused before any counter moves and before
 *   the store is asked.
 */
import { randomUUID } from "node:crypto";
import type { SleepEntry } from "../journal-store.ts";
import type { WorkflowContext } from "../workflow.ts";
import { createContextScope } from "./context-scope.ts";
import { createSteps, type StepsOptions } from "./steps.ts";
import { createWaits } from "./waits.ts";
import type { Walk } from "./walk.ts";

export interface ContextOptions extends StepsOptions {
  readonly walk: Walk;
  readonly workflow: string;
  readonly sleeps: readonly SleepEntry[];
  readonly clock: () => number;
  readonly random?: () => number;
  readonly uuid?: () => string;
}

export const createContext = (options: ContextOptions): WorkflowContext => {
  const { walk, workflow, sleeps, order, clock } = options;
  const scope = createContextScope(walk, order, clock);
  const { step, read } = createSteps(scope, options);
  const { sleep, waitFor } = createWaits(scope, { sleeps, ordered: order !== undefined });
  const context = {
    runId: walk.runId,
    workflow,
    step,
    sleep,
    waitFor,
    now: () => read("now", clock),
    random: () => read("random", options.random ?? Math.random),
    uuid: () => read("uuid", options.uuid ?? randomUUID),
  };
  return asAsync(context) as WorkflowContext;
};

/** What a context method throws at once (a bad deadline, a refusal) reaches the body as a rejection, like everything else it says. */
const asAsync = <C extends Record<string, unknown>>(context: C): C =>
  Object.fromEntries(
    Object.entries(context).map(([name, member]) => [
      name,
      typeof member !== "function"
        ? member
        : (...args: unknown[]) => {
            try {
              return member(...args);
            } catch (error) {
              const refused = Promise.reject(error);
              refused.catch(() => {});
              return refused;
            }
          },
    ]),
  ) as C;
