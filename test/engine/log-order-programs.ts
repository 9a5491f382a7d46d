/**
 * Bodies made of races and joins over steps, sleeps and hooks, which write down what they ask for and what they get, in order.
 *
 * What such a body writes down is what law L1 is about: it must be the same whenever the body walks over the same stream.
 */
import fc from "fast-check";
import { stepInfo } from "../../src/engine/step-context.ts";
import { FatalError } from "../../src/engine/step-errors.ts";
import type { Ctx } from "./scene.ts";

export type Program =
  | { readonly op: "step"; readonly work: number; readonly nested: boolean; readonly slow: boolean }
  | { readonly op: "fail" }
  | { readonly op: "read" }
  | { readonly op: "sleep"; readonly ms: number }
  | { readonly op: "hook"; readonly timeoutMs: number | undefined; readonly slow: boolean }
  | { readonly op: "seq" | "all" | "race" | "any"; readonly of: readonly Program[] };

const leaf: fc.Arbitrary<Program> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constant("step" as const),
      work: fc.nat(3),
      nested: fc.boolean(),
      slow: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Program>({ op: "fail" }) },
  { weight: 1, arbitrary: fc.constant<Program>({ op: "read" }) },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant("sleep" as const), ms: fc.constantFrom(-5, 0, 10, 20, 500) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant("hook" as const),
      timeoutMs: fc.constantFrom(undefined, 0, 15, 300),
      slow: fc.boolean(),
    }),
  },
);

export const programs: fc.Arbitrary<Program> = fc.letrec<{ program: Program }>((tie) => ({
  program: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.record({
      op: fc.constantFrom("seq" as const, "all" as const, "race" as const, "any" as const),
      of: fc.array(tie("program"), { minLength: 1, maxLength: 4 }),
    }),
  ),
})).program;

/** What the world does while a program runs: `meanwhile` is called in the middle of step bodies. */
export interface Surroundings {
  /** Between two and no microtask hops, different in every walk. */
  readonly hops: () => number;
  /** Turns that a slow schema takes, different in every walk. */
  readonly decoding: () => number;
  readonly meanwhile: () => Promise<void> | void;
}

const hop = async (times: number): Promise<void> => {
  for (let i = 0; i < times; i += 1) await null;
};

/** Walks may be given up and done again as often as the schedule likes: the budget is not what these programs are about. */
const ENOUGH = { maxAttempts: 1_000 };

const joined = (op: "all" | "race" | "any", children: Promise<string>[]): Promise<unknown> =>
  op === "all" ? Promise.all(children) : op === "race" ? Promise.race(children) : Promise.any(children);

const slowSchema = (turns: () => number): unknown => ({
  "~standard": {
    version: 1,
    vendor: "test",
    validate: async (value: unknown) => {
      for (let turn = turns(); turn > 0; turn -= 1) await new Promise((next) => setImmediate(next));
      return { value };
    },
  },
});

/** Runs `program`; `trace` gets what it asks for and gets. Steps share three names, so that keys depend on the order of asking. */
export const interpret = async (
  program: Program,
  ctx: Ctx,
  trace: string[],
  around: Surroundings,
): Promise<string> => {
  let names = 0;
  /** The store has failed this walk: what the body makes of that is no part of the order. */
  let failed = false;
  const note = (line: string): void => {
    if (!failed) trace.push(line);
  };
  const got = async (what: string, answer: Promise<unknown>): Promise<string> => {
    note(`ask ${what}`);
    let said: string;
    try {
      said = JSON.stringify(await answer) ?? "undefined";
    } catch (error) {
      failed ||= !FatalError.is(error);
      if (failed || !FatalError.is(error)) throw error;
      said = `failed: ${error.message}`;
      note(`${what} = ${said}`);
      await hop(around.hops());
      throw error;
    }
    note(`${what} = ${said}`);
    await hop(around.hops());
    return said;
  };
  const body = (work: number, nested: boolean, id: string) => async () => {
    const key = stepInfo()?.key;
    for (let turn = 0; turn < work; turn += 1) {
      await new Promise((next) => setImmediate(next));
      await around.meanwhile();
    }
    if (!nested) return key;
    return [key, await ctx.step(`inside ${id}`, () => stepInfo()?.key, ENOUGH)];
  };

  const walk = async (node: Program, id: string): Promise<string> => {
    switch (node.op) {
      case "step": {
        const name = `s${names++ % 3}`;
        const schema = node.slow ? { schema: slowSchema(around.decoding) } : {};
        return got(`step ${id}`, ctx.step(name, body(node.work, node.nested, id), { ...ENOUGH, ...schema }));
      }
      case "fail":
        return got(
          `fail ${id}`,
          ctx.step(
            `f${id}`,
            () => {
              throw new FatalError(`no ${id}`);
            },
            ENOUGH,
          ),
        );
      case "read":
        return got(`read ${id}`, ctx.uuid());
      case "sleep":
        return got(`sleep ${id}`, ctx.sleep(id, node.ms));
      case "hook": {
        const schema = node.slow ? { schema: slowSchema(around.decoding) } : {};
        const options = { ...(node.timeoutMs !== undefined && { timeoutMs: node.timeoutMs }), ...schema };
        return got(`hook ${id}`, ctx.waitFor(`${ctx.runId}:${id}`, options as never));
      }
      case "seq": {
        const results: string[] = [];
        for (const [index, child] of node.of.entries()) results.push(await walk(child, `${id}.${index}`));
        return results.join();
      }
      case "all":
      case "race":
      case "any": {
        const children = node.of.map((child, index) =>
          walk(child, `${id}.${index}`).then((result) => `${index}:${result}`),
        );
        const winner = await joined(node.op, children).catch((error: unknown) => {
          if (FatalError.is(error)) return error.message;
          if (error instanceof AggregateError) return "nobody";
          throw error;
        });
        note(`${node.op} ${id} = ${String(winner)}`);
        return got(
          `after ${id}`,
          ctx.step(`after ${id} ${String(winner).slice(0, 40)}`, body(0, false, id), ENOUGH),
        );
      }
    }
  };
  return walk(program, "0").catch((error) => {
    if (FatalError.is(error)) return error.message;
    throw error;
  });
};

/** The tokens a program may wait on, in a run. */
export const tokensOf = (program: Program, runId: string, id = "0"): string[] => {
  if (program.op === "hook") return [`${runId}:${id}`];
  if (!("of" in program)) return [];
  return program.of.flatMap((child, index) => tokensOf(child, runId, `${id}.${index}`));
};
