/**
 * A thread with a question: it loads an order, asks a person, and refunds, or does not.
 *
 *   node examples/refund.ts order-17
 *   runstream state refund-order-17 --db threads.db
 *   runstream resume refund-order-17 --db threads.db --answer true --module examples/refund.ts
 *
 * Here the imports are relative, so that the example runs in this repository without a build. In a project they are from
 * "runstream/threads" and "runstream/store-sqlite".
 */
import { openSqliteLog } from "../src/store-sqlite/index.ts";
import {
  type GraphCheckpointer,
  logCheckpointer,
  type WorkflowContext,
  workflow,
} from "../src/threads/index.ts";

interface Refund {
  readonly orderId: string;
}

const refundOrder = async ({ orderId }: Refund, { step, interrupt }: WorkflowContext) => {
  const order = await step("load", () => ({ id: orderId, total: 25 }));
  const approved = interrupt<boolean>({ reason: `Refund ${order.total} for ${order.id}?`, payload: order });
  if (!approved) return { refunded: 0 };
  await step("refund", () => console.log(`refunding ${order.total} for ${order.id}`));
  return { refunded: order.total };
};

export const refundsOn = (checkpointer: GraphCheckpointer) =>
  workflow(refundOrder, { name: "refunds", checkpointer });

/** For the command line, which brings the store. */
export const refunds = workflow(refundOrder, { name: "refunds" });

const begin = async (orderId: string, file = "threads.db"): Promise<void> => {
  const log = openSqliteLog(file);
  const threadId = `refund-${orderId}`;
  const { status, interrupt } = await refundsOn(logCheckpointer(log)).invoke({ orderId }, { threadId });
  console.log(`${threadId} is ${status}${interrupt === undefined ? "" : `: ${interrupt.reason}`}`);
  await log.close();
};

if (process.argv[1] === import.meta.filename) await begin(process.argv[2] ?? "order-17", process.argv[3]);
