/** What the client's tests share: their workflows, and how a refusal and a parked run are waited for. */
import * as z from "zod";
import { RequestError } from "../../src/embedded/request-error.ts";
import type { Runstream } from "../../src/embedded/runstream.ts";
import { workflow } from "../../src/engine/workflow.ts";
import { type embedded, type STORES, until } from "./kit.ts";

export const echo = workflow({ description: "Answers its input.", run: async (input) => input });
export const waiting = workflow({
  run: async (_input, ctx) => {
    const answer = await ctx.waitFor(`token-${ctx.runId}`);
    return { answer };
  },
});
export const sleeping = workflow({
  run: async (_input, ctx) => {
    await Promise.all([
      ctx.sleep("a", 3_600_000, { correlationId: "one" }),
      ctx.sleep("b", 3_600_000, { correlationId: "two" }),
    ]);
  },
});
export const failing = workflow({
  run: async () => {
    throw new Error("it broke");
  },
});
export const strict = workflow({
  input: z.object({ size: z.coerce.number().int() }),
  run: async ({ size }) => size,
});
export const workflows = { echo, waiting, sleeping, failing, strict, again: echo };

/** What a call is refused with. */
export const refusal = async (call: Promise<unknown>): Promise<RequestError> => {
  const error = await call.then(
    (value) => new Error(`answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (!RequestError.is(error)) throw error;
  return error;
};

export const parked = async (rs: Runstream, runId: string, type: string): Promise<void> =>
  until(`${type} of ${runId}`, async () => {
    for await (const { event } of rs.history(runId)) if (event.type === type) return true;
    return false;
  });

/** Runstreams of a test on a fresh log of this kind: one that only asks, and one that works as well. */
export const clientsOn = (kit: ReturnType<typeof embedded>, store: (typeof STORES)[number]) => {
  const open = (options: object = {}): Runstream =>
    kit.open({ store: kit.log(store), workflows, ...options });
  const working = (options: object = {}): Runstream => {
    const rs = open(options);
    rs.work();
    return rs;
  };
  return { open, working };
};
