/** The thread that the frozen stream was recorded from. Its code stays as it is. */
import { type GraphCheckpointer, type Workflow, workflow } from "../../src/threads/index.ts";

/** `bodies` notes which bodies run; `clock` answers one minute after another. */
export const refunds = (
  checkpointer: GraphCheckpointer,
  bodies: string[],
): Workflow<{ order: string }, unknown> => {
  let minute = 0;
  return workflow(
    async (input: { order: string }, { step, interrupt }) => {
      const order = await step("load", () => {
        bodies.push("load");
        return { id: input.order, total: 25, placed: new Date(Date.UTC(2026, 0, 1)) };
      });
      const charge = await step(
        "charge",
        () => {
          bodies.push("charge");
          throw new RangeError("card declined");
        },
        { onError: ({ attempts }) => ({ charged: false, attempts }) },
      );
      const approved = interrupt<boolean>({ reason: `Refund ${order.total}?`, payload: order });
      const [left, right] = await Promise.all([
        step("notify", () => "left"),
        step("notify", () => undefined),
      ]);
      return { approved, charge, left, right };
    },
    {
      name: "refunds",
      checkpointer,
      now: () => {
        minute += 1;
        return new Date(Date.UTC(2026, 0, 1, 0, minute));
      },
    },
  );
};
