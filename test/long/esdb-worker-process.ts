/**
 * A worker on EventStoreDB: `esdb-worker-process.ts <connection string> <effects>` says "up" when it works, and works until it is killed
 * or its input ends. Every body writes one line to the effects file before anything else: `<run> <key> <pid>`.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { openRunstream } from "../../src/embedded/runstream.ts";
import { stepInfo } from "../../src/engine/step-context.ts";
import { type AnyWorkflowDef, type WorkflowContext, workflow } from "../../src/engine/workflow.ts";
import type { EventLog } from "../../src/events/event-log.ts";
import { StoreError } from "../../src/events/store-error.ts";
import { openEventStoreLog } from "../../src/store-eventstore/index.ts";

const [server, effects] = process.argv.slice(2) as [string, string];

/** A step must outlive as many deaths as may hit it: this test is about the engine, not about giving up. */
const OFTEN = { maxAttempts: 40 };

const link = (ctx: WorkflowContext, n: number): Promise<number> =>
  ctx.step(
    "link",
    () => {
      appendFileSync(effects, `${ctx.runId} ${stepInfo()?.key} ${process.pid}\n`);
      return n;
    },
    OFTEN,
  );

export const workflows: Record<string, AnyWorkflowDef> = {
  /** Ten steps, with a sleep after the third and a wait for a signal after the sixth. */
  journey: workflow({
    run: async (input, ctx) => {
      let sum = 0;
      let said: unknown;
      for (let n = 1; n <= 10; n += 1) {
        sum += await link(ctx, n);
        if (n === 3) await ctx.sleep("breath", Number(input.sleepMs));
        if (n === 6) said = await ctx.waitFor(`answer-${ctx.runId}`);
      }
      return { sum, said };
    },
  }),
};

/** It may be started while the node is away. */
const openLog = async (): Promise<EventLog> => {
  for (;;) {
    try {
      return await openEventStoreLog(server);
    } catch (error) {
      if (!StoreError.is(error)) throw error;
      await delay(200);
    }
  }
};

if (import.meta.main) {
  const log = await openLog();
  const rs = openRunstream({ store: log, workflows });
  rs.work();
  process.stdin.resume().once("end", async () => {
    await rs.stop();
    await log.close();
  });
  process.stdout.write("up\n");
}
