/** Somebody else's client, with no code of Runstream: it can read a run's stream and understand it. */
import { expect, it } from "vitest";
import { openRunstream, workflow } from "../../src/index.ts";
import { testScene } from "./kit.ts";

const scene = testScene();

it("a run's stream is JSON events with the types of the catalogue, and its metadata is JSON", async () => {
  const node = await scene.node();
  const log = await scene.open(node.connectionString);
  const order = workflow({
    async run(input: { readonly item: string }, ctx) {
      const price = await ctx.step("price", () => ({ item: input.item, cents: 1_250 }));
      return { paid: price.cents, at: new Date(0) };
    },
  });
  const runstream = openRunstream({ store: log, index: ":memory:", workflows: { order } });
  runstream.work();
  const runId = await runstream.start("order", { item: "tea" }, { runId: "order-7" });
  await runstream.result(runId);
  await runstream.stop();

  const events: { readonly type: string; readonly data: unknown; readonly metadata: unknown }[] = [];
  const raw = scene.raw(node.connectionString);
  for await (const { event } of raw.readStream("run-order-7")) {
    expect(event?.isJson).toBe(true);
    events.push({ type: event!.type, data: event!.data, metadata: event!.metadata });
  }
  expect(events.map(({ type }) => type)).toEqual([
    "RunCreated",
    "RunStarted",
    "AttemptClaimed",
    "StepSettled",
    "RunCompleted",
  ]);
  expect(events[0]?.data).toMatchObject({ workflow: "order", input: { item: "tea" } });
  expect(events[3]?.data).toMatchObject({
    name: "price",
    status: "ok",
    output: { item: "tea", cents: 1_250 },
  });
  expect(events[4]?.data).toMatchObject({ output: { paid: 1_250, at: "1970-01-01T00:00:00.000Z" } });
  for (const { metadata } of events) expect(metadata).toMatchObject({ v: 1 });
});
