import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { type WorkflowContext, workflow } from "../../src/index.ts";

/** Only checked, never run: what an author's code compiles to. */
const author = async (ctx: WorkflowContext, computed: string): Promise<void> => {
  expectTypeOf(await ctx.step("count", () => 3)).toEqualTypeOf<number>();
  expectTypeOf(await ctx.step("count", async () => "x", { maxAttempts: 1 })).toEqualTypeOf<string>();
  const schema = z.object({ at: z.coerce.date() });
  expectTypeOf(await ctx.step("fetch", () => ({ at: "2026-01-01" }), { schema })).toEqualTypeOf<{
    at: Date;
  }>();
  // @ts-expect-error a computed name would make the step's identity depend on data
  await ctx.step(computed, () => 3);
  await ctx.sleep("settle", 1_000, { correlationId: "c" });
  await ctx.sleep("settle", new Date());
  // @ts-expect-error a computed label would mint a fresh wait on every walk
  await ctx.sleep(computed, 1_000);
  expectTypeOf(await ctx.waitFor(computed)).toEqualTypeOf<unknown>();
  expectTypeOf(await ctx.waitFor<{ ok: boolean }>("t")).toEqualTypeOf<{ ok: boolean }>();
  expectTypeOf(await ctx.waitFor<number>("t", { timeoutMs: 5 })).toEqualTypeOf<number | undefined>();
  expectTypeOf(await ctx.waitFor("t", { schema })).toEqualTypeOf<{ at: Date }>();
  expectTypeOf(await ctx.waitFor("t", { schema, timeoutMs: 5 })).toEqualTypeOf<{ at: Date } | undefined>();
  expectTypeOf(ctx.now()).toEqualTypeOf<Promise<number>>();
  expectTypeOf(ctx.random()).toEqualTypeOf<Promise<number>>();
  expectTypeOf(ctx.uuid()).toEqualTypeOf<Promise<string>>();
};

describe("types of the workflow context", () => {
  it("names and labels are literals, results have the type of the function or the schema", () => {
    expectTypeOf(author).parameter(0).toEqualTypeOf<WorkflowContext>();
  });

  it("a body's input is the schema's output, or a plain record without one", () => {
    const parsed = workflow({
      input: z.object({ n: z.coerce.number() }),
      run: async (input) => {
        expectTypeOf(input).toEqualTypeOf<{ n: number }>();
        return input.n;
      },
    });
    const plain = workflow({
      run: (input) => {
        expectTypeOf(input).toEqualTypeOf<Record<string, unknown>>();
        return "done" as const;
      },
    });
    expectTypeOf(parsed.run).returns.toEqualTypeOf<Promise<number> | number>();
    expectTypeOf(plain.run).returns.toEqualTypeOf<Promise<"done"> | "done">();
  });
});
