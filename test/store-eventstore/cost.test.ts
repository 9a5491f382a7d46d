/** What a run costs on the server, counted there. */
import { describe, expect, it } from "vitest";
import { openRunstream, type RunstreamOptions, workflow } from "../../src/index.ts";
import { testScene, until } from "./kit.ts";

const scene = testScene();

const running = async (workflows: NonNullable<RunstreamOptions["workflows"]>) => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const runstream = openRunstream({ store: log, index: ":memory:", workflows });
  runstream.work();
  return { node, runstream };
};

describe("appends of a run, its creation and its end included", () => {
  it.each([1, 10, 50])("%i steps in a row: N + 2 at most", async (steps) => {
    const counting = workflow({
      async run(_: unknown, ctx) {
        for (let n = 0; n < steps; n += 1) await ctx.step("tick", () => ({ n }));
        return "done";
      },
    });
    const { node, runstream } = await running({ counting });
    const before = node.counts.appends;
    const outcome = await runstream.result(await runstream.start("counting"));
    expect(outcome.status).toBe("completed");
    expect(node.counts.appends - before).toBeLessThanOrEqual(steps + 2);
    await runstream.stop();
  });

  it("a signal reaches the body by two appends at most", async () => {
    let woken = 0;
    let counted = 0;
    const waiting = workflow({
      async run(_: unknown, ctx) {
        const answer = await ctx.waitFor<string>("go-on");
        woken = counted === 0 ? 0 : node.counts.appends - counted;
        return answer;
      },
    });
    const { node, runstream } = await running({ waiting });
    const runId = await runstream.start("waiting");
    await until("the hook", () => node.counts.appends >= 3);
    counted = node.counts.appends;
    await runstream.signal("go-on", "yes");
    expect(await runstream.result(runId)).toMatchObject({ status: "completed", output: "yes" });
    expect(woken).toBeGreaterThan(0);
    expect(woken).toBeLessThanOrEqual(2);
    await runstream.stop();
  });
});
