/**
 * What goes wrong and what becomes of it: a failure that passes is tried again, one that does not ends the tries.
 *
 *   runstream run examples/retry.ts flaky --input '{"failures":2}'
 *   runstream run examples/retry.ts hopeless
 *
 * Here the import is relative, so that the example runs in this repository without a build. In a project it is `from "runstream"`.
 */
import { FatalError, RetryableError, stepInfo, workflow } from "../src/index.ts";

export const flaky = workflow({
  description: "Calls something that fails the first few times.",
  async run(input: Record<string, unknown>, ctx) {
    const failures = Number(input.failures ?? 2);
    const attempts = await ctx.step(
      "call the flaky thing",
      () => {
        const attempt = stepInfo()?.attempt ?? 1;
        if (attempt <= failures) throw new RetryableError("it was busy", { retryAfter: 20 });
        return attempt;
      },
      { maxAttempts: 5 },
    );
    return { attempts };
  },
});

export const hopeless = workflow({
  description: "Calls something that will never work, and makes up for it.",
  async run(_input: Record<string, unknown>, ctx) {
    try {
      await ctx.step("charge the card", () => {
        throw new FatalError("the card is blocked");
      });
    } catch (error) {
      await ctx.step("tell the customer", () => "sent");
      throw error;
    }
  },
});
