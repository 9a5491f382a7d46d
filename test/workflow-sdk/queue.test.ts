/** The queue: at least once, delayed, keyed, and recovered after a crash. Real HTTP, because that is how messages travel. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { EventLog } from "../../src/events/event-log.ts";
import { sdkQueueStream } from "../../src/events/stream-names.ts";
import type { RunstreamWorld } from "../../src/integrations/workflow-sdk/index.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { bytes, hook, newRun, requests, send, worldOver } from "./worlds.ts";

const FLOW = "__wkf_workflow_wf";

interface Delivery {
  readonly message: Record<string, unknown>;
  readonly attempt: number;
  readonly queueName: string;
  readonly messageId: string;
}

type Answer = void | { timeoutSeconds: number };

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** An application whose flow route is the handler of a World, on a port of its own. */
const application = async (
  world: RunstreamWorld,
  handle: (delivery: Delivery) => Promise<Answer>,
): Promise<{ readonly url: string; readonly paths: string[] }> => {
  const paths: string[] = [];
  const handler = world.createQueueHandler("__wkf_", (message, meta) =>
    handle({ message: message as Record<string, unknown>, ...meta }),
  );
  const server: Server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", async () => {
      paths.push(incoming.url ?? "");
      const headers = new Headers(incoming.headers as Record<string, string>);
      const request = new Request("http://app/", { method: "POST", headers, body: Buffer.concat(chunks) });
      const response = await handler(request);
      outgoing.writeHead(response.status).end(await response.text());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(
    () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, paths };
};

/** A World over `log` that delivers to an application; `handle` answers each delivery. */
const worker = async (log: EventLog, handle: (delivery: Delivery) => Promise<Answer>) => {
  let url = "";
  // The handler needs no store and no address, so another World's serves as well.
  const app = await application(worldOver(log), handle);
  url = app.url;
  const world = worldOver(log, { baseUrl: url });
  closing.push(() => world.close());
  return { world, paths: app.paths };
};

/** Resolves when `count` deliveries came; afterwards they are in `all`. */
const collector = (count: number, answer: (delivery: Delivery) => Answer = () => undefined) => {
  const all: Delivery[] = [];
  const done = Promise.withResolvers<void>();
  const handle = async (delivery: Delivery): Promise<Answer> => {
    all.push(delivery);
    if (all.length === count) done.resolve();
    return answer(delivery);
  };
  return { all, done: done.promise, handle };
};

const settled = async (log: EventLog, runId: string): Promise<void> => {
  for (;;) {
    const types: string[] = [];
    for await (const { type } of log.read(sdkQueueStream(runId))) types.push(type);
    const count = (type: string) => types.filter((one) => one === type).length;
    if (count("SdkMessageQueued") === count("SdkMessageDone")) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe("a message", () => {
  it("reaches the flow route as it was sent, bytes and dates included", async () => {
    const log = createMemoryLog();
    const { all, done, handle } = collector(1);
    const { world, paths } = await worker(log, handle);
    await world.start();
    const requestedAt = new Date(1_700_000_000_000);
    const input = bytes("devl\0ü");
    const runInput = { input, deploymentId: "d", workflowName: "wf", specVersion: 5 };
    const message = { runId: "r", requestedAt, runInput };
    const { messageId } = await world.queue(FLOW, message, { headers: { "x-trace": "1" } });
    await done;
    expect(all).toEqual([{ message, attempt: 1, queueName: FLOW, messageId }]);
    expect(paths).toEqual(["/.well-known/workflow/v1/flow"]);
    await settled(log, "r");
  });

  it("to a step's queue goes to the step route", async () => {
    const { done, handle } = collector(1);
    const { world, paths } = await worker(createMemoryLog(), handle);
    await world.start();
    await world.queue("__wkf_step_add", {
      workflowName: "wf",
      workflowRunId: "r",
      workflowStartedAt: 0,
      stepId: "s",
    });
    await done;
    expect(paths).toEqual(["/.well-known/workflow/v1/step"]);
  });

  it("to a queue that the SDK does not make is refused", async () => {
    const { world } = await worker(createMemoryLog(), async () => undefined);
    await expect(world.queue("elsewhere", { runId: "r" })).rejects.toMatchObject({ status: 400 });
  });

  it("that fails is delivered again, under its own id and the next attempt", async () => {
    const { all, done, handle } = collector(2, ({ attempt }) => {
      if (attempt === 1) throw new Error("not now");
    });
    const { world } = await worker(createMemoryLog(), handle);
    await world.start();
    const { messageId } = await world.queue(FLOW, { runId: "r" });
    await done;
    expect(all.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(all.map((one) => one.messageId))).toEqual(new Set([messageId]));
  });

  it("that is asked for again comes again", async () => {
    const { all, done, handle } = collector(3, ({ attempt }) =>
      attempt < 3 ? { timeoutSeconds: 0 } : undefined,
    );
    const log = createMemoryLog();
    const { world } = await worker(log, handle);
    await world.start();
    await world.queue(FLOW, { runId: "r" });
    await done;
    await settled(log, "r");
    expect(all.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
  });

  it("that is to be late is not early", async () => {
    const { all, done, handle } = collector(2);
    const log = createMemoryLog();
    const { world } = await worker(log, handle);
    await world.start();
    const sent = Date.now();
    await world.queue(FLOW, { runId: "late" }, { delaySeconds: 0.2 });
    await world.queue(FLOW, { runId: "now" });
    await done;
    expect(all.map(({ message }) => message.runId)).toEqual(["now", "late"]);
    expect(Date.now()).toBeGreaterThanOrEqual(sent + 200);
    expect(all.map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it("with the key of a pending one is that one, and the key is free afterwards", async () => {
    const log = createMemoryLog();
    const gate = Promise.withResolvers<void>();
    const entered = Promise.withResolvers<void>();
    const { world } = await worker(log, async () => {
      entered.resolve();
      await gate.promise;
    });
    await world.start();
    const queue = () => world.queue(FLOW, { runId: "r" }, { idempotencyKey: "k" });
    const first = await queue();
    expect(await queue()).toEqual(first);
    await entered.promise;
    expect(await queue()).toEqual(first);
    gate.resolve();
    await settled(log, "r");
    const second = await queue();
    expect(second).not.toEqual(first);
    await settled(log, "r");
  });
});

describe("after a crash", () => {
  it("what was not handled is delivered again, and no longer as a first attempt", async () => {
    const log = createMemoryLog();
    const entered = Promise.withResolvers<void>();
    // A worker that takes the message and never answers; closing its connections is its end.
    const hanging = await worker(log, () => {
      entered.resolve();
      return new Promise<Answer>(() => undefined);
    });
    await hanging.world.start();
    const { messageId } = await hanging.world.queue(FLOW, { runId: "r" });
    await entered.promise;
    const { all, done, handle } = collector(1);
    const next = await worker(log, handle);
    await next.world.start();
    const dead = hanging.world.close();
    await done;
    expect(all).toMatchObject([{ messageId, attempt: 2 }]);
    await settled(log, "r");
    await dead;
  }, 20_000);

  it("runs whose message was never sent are sent one, and only those", async () => {
    const log = createMemoryLog();
    const before = worldOver(log);
    const created = await newRun(before, false);
    const [answered, waiting, over] = [await newRun(before), await newRun(before), await newRun(before)];
    for (const runId of [answered, waiting]) await before.queue(FLOW, { runId });
    await send(before, answered, hook.created("h", "t"), hook.received("h"));
    await send(before, waiting, hook.created("h", "u"));
    await send(before, over, requests.completed);
    const { all, done, handle } = collector(4);
    const { world } = await worker(log, handle);
    await world.start();
    await done;
    const runs = all.map(({ message }) => message.runId).sort();
    expect(runs).toEqual([created, answered, answered, waiting].sort());
    expect(all.every(({ queueName }) => queueName === FLOW)).toBe(true);
  });
});

it("a handler answers what it does not take with 400", async () => {
  const world = worldOver(createMemoryLog());
  const handler = world.createQueueHandler("__wkf_workflow_", async () => undefined);
  const post = (headers: Record<string, string>) =>
    handler(new Request("http://app/", { method: "POST", headers, body: "{}" }));
  expect((await post({})).status).toBe(400);
  const meta = { "x-runstream-message": "m", "x-runstream-attempt": "1" };
  expect((await post({ ...meta, "x-runstream-queue": "__wkf_step_add" })).status).toBe(400);
  const taken = await post({ ...meta, "x-runstream-queue": FLOW });
  expect([taken.status, await taken.json()]).toEqual([200, { ok: true }]);
});
