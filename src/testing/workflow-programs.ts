/**
 * Workflow bodies as data: a program is a tree that `bodyOf` runs on any context, and whose outcome `outcomeOf`
 * (workflow-program-oracle.ts) knows beforehand.
 *
 * - A1 A program's outcome does not depend on speed, crashes, repeated deliveries or the length of any delay, as long as no step is
 *   given up after dying twelve times within an hour. That is why its parallel branches are all waited for before one of their
 *   failures is thrown, and why the losers of its races wait for what never comes.
 * - A2 The oracle shares nothing with the interpreter but the names of things.
 * - A3 A program catches its own failures only. An abort and a refusal pass through it (law L9).
 */
import { FatalError } from "../engine/step-errors.ts";
import type { StepOptions, WorkflowContext } from "../engine/workflow.ts";

/** What a step does: answer `value` after `failures` tries that fail, or fail for good, at once or when its tries are used up. */
export type ProgramStepPlan =
  | { readonly ends: "ok"; readonly value: unknown; readonly failures: number }
  | { readonly ends: "fatal" | "exhausted" };

/** A program. Names, labels and tokens are made of a node's `id`, so that a node of its own has keys of its own. */
export type WorkflowProgram =
  | { readonly kind: "step"; readonly id: number; readonly name?: string; readonly plan: ProgramStepPlan }
  | { readonly kind: "sleep"; readonly id: number; readonly ms: number }
  /** Waits for a signal of `answer`. */
  | { readonly kind: "wait"; readonly id: number; readonly answer: unknown }
  /** Waits `timeoutMs` for a signal that never comes. */
  | { readonly kind: "window"; readonly id: number; readonly timeoutMs: number }
  | { readonly kind: "read"; readonly id: number; readonly of: "now" | "random" | "uuid" }
  | { readonly kind: "throw"; readonly id: number }
  | { readonly kind: "sequence"; readonly parts: readonly WorkflowProgram[] }
  | { readonly kind: "parallel"; readonly branches: readonly WorkflowProgram[] }
  /** Races `winner` against a wait that nobody answers, which is begun first if `loserFirst`. */
  | {
      readonly kind: "race";
      readonly id: number;
      readonly winner: WorkflowProgram;
      readonly loserFirst: boolean;
    }
  /** Goes on with `otherwise` when `body` fails. */
  | { readonly kind: "attempt"; readonly body: WorkflowProgram; readonly otherwise: WorkflowProgram }
  | { readonly kind: "repeat"; readonly times: number; readonly body: WorkflowProgram };

/** What a program tells while it runs; both are called on every walk, in the middle of the body. */
export interface ProgramObserver {
  /** The body of the step `name` is running, for the `attempt`th time in this walk. */
  readonly onStep?: (name: string, attempt: number) => void;
  /** A read answered `value`. */
  readonly onRead?: (of: "now" | "random" | "uuid", value: unknown) => void;
}

/** Far above what a plan fails on purpose: a worker's death in the middle of a step uses up an attempt as well. */
const MAX_ATTEMPTS = 12;

/** How many tries of a step that succeeds may fail before. */
export const MAX_PLANNED_FAILURES = 2;

export const stepName = (node: { readonly id: number; readonly name?: string }): string =>
  node.name ?? `s${node.id}`;
export const failureOf = (what: string): string => `${what} fails as planned`;

/** The token on which node `id` waits in run `runId`; `path` says in which round of the repetitions around it. */
export const tokenOf = (runId: string, id: number, path: string): string => `${runId}/w${id}${path}`;

/** Names and labels of a program are computed; a context's types ask for literals. */
interface FreeContext {
  readonly runId: string;
  step(name: string, fn: () => unknown, options: StepOptions): Promise<unknown>;
  sleep(label: string, ms: number): Promise<void>;
  waitFor(token: string, window?: { readonly timeoutMs: number }): Promise<unknown>;
  now(): Promise<number>;
  random(): Promise<number>;
  uuid(): Promise<string>;
}

/**
 * The body that runs `program`: hand it to `workflow({ run: bodyOf(program) })`.
 *
 * It answers what the parts answer: a step its value, a sleep `"slept"`, a wait its payload, a window `"expired"`, a read the type of
 * its value, several parts a list, and an `attempt` that failed `{ caught, after }`.
 */
export const bodyOf = (
  program: WorkflowProgram,
  observer: ProgramObserver = {},
): ((input: unknown, ctx: WorkflowContext) => Promise<unknown>) => {
  const runStep = (ctx: FreeContext, name: string, plan: ProgramStepPlan): Promise<unknown> => {
    let attempt = 0;
    const run = (): unknown => {
      attempt += 1;
      observer.onStep?.(name, attempt);
      if (plan.ends === "ok" && attempt > plan.failures) return plan.value;
      throw plan.ends === "fatal" ? new FatalError(failureOf(name)) : new Error(failureOf(name));
    };
    return ctx.step(name, run, { maxAttempts: MAX_ATTEMPTS });
  };

  const run = async (node: WorkflowProgram, ctx: FreeContext, path: string): Promise<unknown> => {
    switch (node.kind) {
      case "step":
        return runStep(ctx, stepName(node), node.plan);
      case "sleep":
        await ctx.sleep(`n${node.id}`, node.ms);
        return "slept";
      case "wait":
        return ctx.waitFor(tokenOf(ctx.runId, node.id, path));
      case "window": {
        const token = `${tokenOf(ctx.runId, node.id, path)}/unanswered`;
        return (await ctx.waitFor(token, { timeoutMs: node.timeoutMs })) ?? "expired";
      }
      case "read": {
        const value = await ctx[node.of]();
        observer.onRead?.(node.of, value);
        return typeof value;
      }
      case "throw":
        throw new FatalError(failureOf(`t${node.id}`));
      case "sequence": {
        const answers: unknown[] = [];
        for (const part of node.parts) answers.push(await run(part, ctx, path));
        return answers;
      }
      case "parallel": {
        const settled = await Promise.allSettled(node.branches.map((branch) => run(branch, ctx, path)));
        const failures = settled.flatMap((branch) => (branch.status === "rejected" ? [branch.reason] : []));
        // What is no failure of the program itself must not be hidden behind one that is.
        for (const failure of failures) if (!FatalError.is(failure)) throw failure;
        if (failures.length > 0) throw failures[0];
        return settled.map((branch) => (branch.status === "fulfilled" ? branch.value : undefined));
      }
      case "race": {
        const lose = (): Promise<unknown> => ctx.waitFor(`${tokenOf(ctx.runId, node.id, path)}/loser`);
        if (!node.loserFirst) return Promise.race([run(node.winner, ctx, path), lose()]);
        return Promise.race([lose(), run(node.winner, ctx, path)]);
      }
      case "attempt":
        try {
          return await run(node.body, ctx, path);
        } catch (error) {
          if (!FatalError.is(error)) throw error;
          return { caught: (error as Error).message, after: await run(node.otherwise, ctx, path) };
        }
      case "repeat": {
        const answers: unknown[] = [];
        for (let time = 0; time < node.times; time++)
          answers.push(await run(node.body, ctx, `${path}.${time}`));
        return answers;
      }
      default:
        return node satisfies never;
    }
  };
  return (_input, ctx) => run(program, ctx as unknown as FreeContext, "");
};
