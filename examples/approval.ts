/**
 * A person in the loop: the run waits for an answer, for days if need be, and goes on without one when its time is over.
 *
 *   runstream run examples/approval.ts --input '{"order":"17"}' --detach-when-parked
 *   runstream signal approval/17 --payload '{"approved":true,"by":"Ada"}'
 *   runstream worker examples/approval.ts
 *
 * Here the import is relative, so that the example runs in this repository without a build. In a project it is `from "runstream"`.
 */
import { workflow } from "../src/index.ts";

interface Answer {
  readonly approved: boolean;
  readonly by: string;
}

const THREE_DAYS_MS = 3 * 24 * 60 * 60 * 1_000;

export const approval = workflow({
  description: "Prepares an order, waits for somebody to approve it, and ships or cancels it.",
  async run(input: Record<string, unknown>, ctx) {
    const order = String(input.order);
    const timeoutMs = typeof input.timeoutMs === "number" ? input.timeoutMs : THREE_DAYS_MS;
    const total = await ctx.step("price the order", () => order.length * 1_000);
    const answer = await ctx.waitFor<Answer>(`approval/${order}`, { timeoutMs });
    if (answer === undefined) return { order, outcome: "nobody answered" };
    if (!answer.approved) return { order, outcome: `rejected by ${answer.by}` };
    const shipment = await ctx.step("ship", () => ({ tracking: `track-${order}`, total }));
    await ctx.sleep("let it arrive", 50, { correlationId: `arrival/${order}` });
    return { order, outcome: `approved by ${answer.by}`, ...shipment };
  },
});
