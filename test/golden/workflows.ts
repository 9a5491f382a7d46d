/** The workflows whose recorded streams are replayed for ever. Their bodies never change: a new story is a new workflow. */
import { FatalError, RetryableError, type WorkflowDef, workflow } from "../../src/index.ts";

type Body = WorkflowDef["run"];

const body = (run: Body): WorkflowDef => workflow({ run });

/** Steps in a row, with a value of every kind the codec carries. */
const values = body(async (_input, ctx) => {
  const rich = await ctx.step("rich", () => ({
    when: new Date(0),
    tags: new Set(["a", "b"]),
    byId: new Map([[1, { n: 1n }]]),
    bytes: new Uint8Array([0, 255]),
    link: new URL("https://example.com/a?b=c"),
    none: undefined,
    odd: [Number.NaN, Number.POSITIVE_INFINITY, -0],
    text: "\u0000 \ud800 ü",
  }));
  const kinds = await ctx.step("kinds", () => [
    rich.when instanceof Date,
    rich.tags.has("b"),
    rich.byId.get(1)?.n === 1n,
  ]);
  return { kinds, none: "none" in rich, odd: rich.odd.map((n) => String(n)), bytes: [...rich.bytes] };
});

/** A fan-out whose results are raced, so that the order of the stream decides the output. */
const fanOut = body(async (_input, ctx) => {
  const order: string[] = [];
  const branch = async (name: string): Promise<void> => {
    await ctx.step("a", () => name);
    order.push(`a ${name}`);
    await ctx.step("b", () => name);
    order.push(`b ${name}`);
  };
  await Promise.all(["x", "y", "z"].map(branch));
  return order;
});

/** Sleeps and hooks raced against each other; one window closes unanswered. */
const waits = body(async (_input, ctx) => {
  const first = await Promise.race([
    ctx.sleep("long", 60_000).then(() => "slept"),
    ctx.waitFor<string>(`answer:${ctx.runId}`).then((word) => `heard ${word}`),
  ]);
  await ctx.sleep("settle", 1_000, { correlationId: "hurry" });
  const late = await ctx.waitFor(`late:${ctx.runId}`, { timeoutMs: 1_000 });
  return { first, late: late === undefined };
});

/** Failed tries, a step that fails for good and is caught, nested steps, and recorded reads. */
const failures = body(async (_input, ctx) => {
  let tries = 0;
  const third = await ctx.step("flaky", () => {
    tries += 1;
    if (tries < 3) throw new RetryableError(`try ${tries}`, { retryAfter: 0 });
    return "third";
  });
  const caught = await ctx
    .step("fatal", () => {
      throw new FatalError("no use");
    })
    .catch((error: Error) => error.message);
  const outer = await ctx.step("outer", async () => `outer of ${await ctx.step("inner", () => "inner")}`);
  const reads = [typeof (await ctx.now()), typeof (await ctx.random()), typeof (await ctx.uuid())];
  return { third, caught, outer, reads };
});

const failed = body(async (_input, ctx) => {
  await ctx.step("fine", () => 1);
  throw new Error("the body gave up");
});

const cancelled = body(async (_input, ctx) => ctx.waitFor(`never:${ctx.runId}`));

export const goldenWorkflows = { values, fanOut, waits, failures, failed, cancelled };
