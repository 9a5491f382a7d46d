/**
 * The smallest workflow: two steps, of which each runs once, whatever happens in between.
 *
 *   runstream run examples/greet.ts --input '{"name":"Ada"}'
 *
 * Here the import is relative, so that the example runs in this repository without a build. In a project it is `from "runstream"`.
 */
import { workflow } from "../src/index.ts";

export const greet = workflow({
  description: "Greets somebody by name.",
  async run(input: Record<string, unknown>, ctx) {
    const name = String(input.name ?? "world");
    const greeting = await ctx.step("compose", () => `Hello, ${name}!`);
    const sentAt = await ctx.now();
    await ctx.step("send", () => ({ delivered: true, letters: greeting.length }));
    return { greeting, sentAt: new Date(sentAt).toISOString() };
  },
});
