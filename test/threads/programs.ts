/**
 * Random threads: what a body may consist of, how it runs, and what it must answer. Whatever becomes of its workers, a program has one
 * answer, which `expected` says without running anything.
 */
import fc from "fast-check";
import type { WorkflowContext } from "../../src/threads/index.ts";
import type { Effect } from "./crash-harness.ts";
import { aborted, pause } from "./time.ts";

type Shape =
  /** A step that takes `ms`. */
  | { readonly kind: "step"; readonly ms: number }
  /** One name, several steps. */
  | { readonly kind: "repeat"; readonly times: number }
  /** Fails so often, then answers. */
  | { readonly kind: "flaky"; readonly failures: number }
  /** Fails for good; `onError` answers. */
  | { readonly kind: "recovered"; readonly attempts: number }
  /** Fails for good; the body goes on without it. */
  | { readonly kind: "failing" }
  /** Exceeds a limit in its first attempt. */
  | { readonly kind: "limited"; readonly limit: "runMs" | "idleMs" }
  | { readonly kind: "question" }
  /** A step whose body takes a further step. */
  | { readonly kind: "nested"; readonly ms: number };

type Tree = Shape | { readonly kind: "branches"; readonly branches: readonly (readonly Tree[])[] };

export type Program = readonly Tree[];

const shape: fc.Arbitrary<Shape> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("step"), ms: fc.nat({ max: 6 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("question") }) },
  fc.record({ kind: fc.constant("repeat"), times: fc.integer({ min: 2, max: 3 }) }),
  fc.record({ kind: fc.constant("flaky"), failures: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ kind: fc.constant("recovered"), attempts: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ kind: fc.constant("failing") }),
  fc.record({ kind: fc.constant("limited"), limit: fc.constantFrom("runMs", "idleMs") }),
  fc.record({ kind: fc.constant("nested"), ms: fc.nat({ max: 4 }) }),
) as fc.Arbitrary<Shape>;

export const programs: fc.Arbitrary<Program> = fc.letrec<{ tree: Tree; block: Tree[] }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    { weight: 5, arbitrary: shape },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("branches" as const),
        branches: fc.array(tie("block"), { minLength: 2, maxLength: 3 }),
      }),
    },
  ),
  block: fc.array(tie("tree"), { minLength: 1, maxLength: 3 }),
})).block;

class Boom extends Error {
  override readonly name = "Boom";
}

const quick = { initialIntervalMs: 1, jitter: false } as const;

/** Runs one leaf; `site` is its place in the program, and the name of its step. */
const runLeaf = async (
  leaf: Shape,
  site: string,
  context: WorkflowContext,
  effect: Effect,
): Promise<string> => {
  const { step, interrupt } = context;
  switch (leaf.kind) {
    case "step":
      return step(site, async () => {
        await pause(leaf.ms);
        return effect(site, () => `${site} done`);
      });
    case "repeat": {
      let last = "";
      for (let turn = 1; turn <= leaf.times; turn += 1) {
        const key = turn === 1 ? site : `${site}#${turn}`;
        last = await step(site, () => effect(key, () => `${site} turn ${turn}`));
      }
      return last;
    }
    case "flaky":
      return step(
        site,
        ({ attempt }) =>
          effect(site, () => {
            if (attempt <= leaf.failures) throw new Boom(`attempt ${attempt}`);
            return `${site} after ${leaf.failures}`;
          }),
        { retry: { ...quick, maxAttempts: leaf.failures + 1 } },
      );
    case "recovered":
      return step(
        site,
        (): Promise<string> =>
          effect(site, () => {
            throw new Boom(site);
          }),
        {
          retry: { ...quick, maxAttempts: leaf.attempts },
          onError: ({ attempts }) => `${site} instead after ${attempts}`,
        },
      );
    case "failing":
      try {
        return await step(site, () =>
          effect(site, (): string => {
            throw new Boom(site);
          }),
        );
      } catch (error) {
        if (error instanceof Boom) return `${site} failed`;
        throw error;
      }
    case "limited":
      return step(
        site,
        async ({ attempt, signal }) => {
          await effect(site, () => attempt);
          if (attempt > 1) return `${site} in attempt ${attempt}`;
          await aborted(signal);
          throw new Error("stopped");
        },
        { retry: { ...quick, maxAttempts: 2 }, timeout: { [leaf.limit]: 3 } },
      );
    case "question":
      return `${site} ${interrupt<string>({ reason: site })}`;
    case "nested":
      return step(site, async () => {
        const inner = await step(`${site}.inner`, () => effect(`${site}.inner`, () => "inner"));
        await pause(leaf.ms);
        return effect(site, () => `${site} with ${inner}`);
      });
  }
};

/** The body of a program. */
export const runProgram = async (
  program: Program,
  context: WorkflowContext,
  effect: Effect,
  place = "p",
): Promise<string[]> => {
  const answers: string[] = [];
  for (const [index, tree] of program.entries()) {
    const site = `${place}${index}`;
    if (tree.kind === "branches") {
      const branches = tree.branches.map((branch, number) =>
        runProgram(branch, context, effect, `${site}${"abc"[number]}`),
      );
      answers.push(...(await Promise.all(branches)).flat());
    } else answers.push(await runLeaf(tree, site, context, effect));
  }
  return answers;
};

export interface Expected {
  readonly output: string[];
  readonly steps: Record<string, unknown>;
}

const expectedLeaf = (leaf: Shape, site: string): readonly [string, Record<string, unknown>] => {
  const recorded = (value: string): readonly [string, Record<string, unknown>] => [
    value,
    { [site]: { value } },
  ];
  switch (leaf.kind) {
    case "step":
      return recorded(`${site} done`);
    case "repeat": {
      const turns = Array.from({ length: leaf.times }, (_, index) => index + 1);
      const steps = turns.map((turn) => [
        turn === 1 ? site : `${site}#${turn}`,
        { value: `${site} turn ${turn}` },
      ]);
      return [`${site} turn ${leaf.times}`, Object.fromEntries(steps)];
    }
    case "flaky":
      return recorded(`${site} after ${leaf.failures}`);
    case "recovered": {
      const value = `${site} instead after ${leaf.attempts}`;
      const recovered = { error: { name: "Boom", message: site }, attempts: leaf.attempts };
      return [value, { [site]: { value, recovered } }];
    }
    case "failing":
      return [`${site} failed`, {}];
    case "limited":
      return recorded(`${site} in attempt 2`);
    case "question":
      return [`${site} answer to ${site}`, {}];
    case "nested":
      return [
        `${site} with inner`,
        { [`${site}.inner`]: { value: "inner" }, [site]: { value: `${site} with inner` } },
      ];
  }
};

/** What the program answers and records. */
export const expected = (program: Program, place = "p"): Expected => {
  const output: string[] = [];
  const steps: Record<string, unknown> = {};
  for (const [index, tree] of program.entries()) {
    const site = `${place}${index}`;
    if (tree.kind === "branches") {
      for (const [number, branch] of tree.branches.entries()) {
        const inside = expected(branch, `${site}${"abc"[number]}`);
        output.push(...inside.output);
        Object.assign(steps, inside.steps);
      }
    } else {
      const [answer, recorded] = expectedLeaf(tree, site);
      output.push(answer);
      Object.assign(steps, recorded);
    }
  }
  return { output, steps };
};
