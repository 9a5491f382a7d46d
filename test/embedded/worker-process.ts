/** A worker in a process of its own: `worker-process.ts <file>` works until it is killed or its input ends. Says "ready" and what it walks. */
import { openRunstream } from "../../src/embedded/runstream.ts";
import { workflow } from "../../src/engine/workflow.ts";

const say = (...words: unknown[]): void => void process.stdout.write(`${words.join(" ")}\n`);

export const workflows = {
  waiting: workflow({
    run: async (_input, ctx) => {
      const first = await ctx.waitFor(`first-${ctx.runId}`);
      say("woken", ctx.runId);
      const second = await ctx.waitFor(`second-${ctx.runId}`);
      return { first, second };
    },
  }),
  sleeping: workflow({
    run: async (_input, ctx) => {
      await ctx.sleep("long", 86_400_000);
      return { pid: process.pid };
    },
  }),
  working: workflow({
    run: async (_input, ctx) => {
      for (let n = 0; n < 5; n += 1) {
        await ctx.step("work", () => {
          say("body", ctx.runId, n, process.pid);
          return process.pid;
        });
      }
      await ctx.sleep("pause", 10);
      return ctx.step("last", () => process.pid);
    },
  }),
};

if (import.meta.main) {
  const rs = openRunstream({ store: process.argv[2] as string, workflows, concurrency: 8 });
  rs.work();
  say("ready");
  process.stdin.resume().on("end", async () => {
    await rs.stop();
    say("stopped");
  });
}
