/**
 * The worker that is killed: `kill-worker-process.ts <store> <effects>` says "up", works on the store once it is told "go", and stops
 * when its input ends, unless somebody kills it before.
 * Every body writes one line to the effects file before anything else: `<run> <key> <attempt> <pid> <epoch ms>`.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { openRunstream } from "../../src/embedded/runstream.ts";
import { stepInfo } from "../../src/engine/step-context.ts";
import { RetryableError } from "../../src/engine/step-errors.ts";
import { type AnyWorkflowDef, type WorkflowContext, workflow } from "../../src/engine/workflow.ts";

const [store, effects] = process.argv.slice(2) as [string, string];

/** A step must outlive as many deaths as may hit it: this test is about the engine, not about giving up. */
const OFTEN = { maxAttempts: 40 };

const effect = (ctx: WorkflowContext): void => {
  const { key, attempt } = stepInfo() as NonNullable<ReturnType<typeof stepInfo>>;
  const at = performance.timeOrigin + performance.now();
  appendFileSync(effects, `${ctx.runId} ${key} ${attempt} ${process.pid} ${at.toFixed(1)}\n`);
};

export const workflows: Record<string, AnyWorkflowDef> = {
  /** Steps one after the other, some of which take a while, and a sleep in the middle. */
  chain: workflow({
    run: async (_input, ctx) => {
      let sum = 0;
      for (let n = 0; n < 6; n += 1) {
        sum += await ctx.step(
          "link",
          async () => {
            effect(ctx);
            if (n % 2 === 1) await delay(4 * n);
            return n;
          },
          OFTEN,
        );
        if (n === 2) await ctx.sleep("breath", 30);
      }
      return { sum };
    },
  }),
  /** Steps side by side, a wait for a signal, and a last step that needs a second try. */
  fan: workflow({
    run: async (_input, ctx) => {
      const parts = await Promise.all(
        Array.from({ length: 6 }, (_, n) =>
          ctx.step(
            "part",
            async () => {
              effect(ctx);
              await delay(3 * n);
              return n;
            },
            OFTEN,
          ),
        ),
      );
      const answer = await ctx.waitFor<{ said: string }>(`answer-${ctx.runId}`);
      const last = await ctx.step(
        "last",
        () => {
          effect(ctx);
          if (stepInfo()?.attempt === 1) throw new RetryableError("once more", { retryAfter: 5 });
          return "done";
        },
        OFTEN,
      );
      return { parts, said: answer.said, last };
    },
  }),
  /** Goes on until somebody cancels it. */
  endless: workflow({
    run: async (_input, ctx) => {
      for (;;) {
        await ctx.step("round", () => effect(ctx), OFTEN);
        await ctx.sleep("pause", 40);
      }
    },
  }),
};

if (import.meta.main) {
  process.stdin.once("data", () => {
    const rs = openRunstream({ store, workflows });
    rs.work();
    process.stdin.on("end", () => void rs.stop());
  });
  process.stdout.write("up\n");
}
