/** Abort signals and controllers that go in and out of a step. */
import { describe, expect, it } from "vitest";
import { dehydrate, executeStep, hydrate, importEncryptionKey } from "../../src/executor/index.ts";
import { counted, paramsFor, watchRejections, worldWithStep } from "./scene.ts";
import { ScriptedWorld } from "./scripted-world.ts";
import { resultText, runWith, text } from "./written-values.ts";

watchRejections();

describe("an abort signal", () => {
  const SIGNAL = '{"streamName":"strm_2","hookToken":"tok","aborted":false}';
  const hooked = (): ScriptedWorld => {
    const world = new ScriptedWorld();
    world.hooksByToken.set("tok", {
      runId: "wrun_1",
      hookId: "hook_1",
      token: "tok",
      ownerId: "",
      projectId: "",
      environment: "",
      createdAt: new Date(0),
    });
    return world;
  };

  it("that a step is given is aborted when its stream says so", async () => {
    const world = hooked();
    const reasons: unknown[] = [];
    await runWith(world, `["AbortSignal",${SIGNAL}]`, async (signal: AbortSignal) => {
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      await world.streams.write("wrun_1", "strm_2", await dehydrate({ aborted: true, reason: "why" }));
      await aborted;
      reasons.push(signal.reason);
    });
    expect(reasons).toEqual(["why"]);
  });

  it("that was aborted before is aborted at once, and nothing is followed", async () => {
    const world = hooked();
    const argument =
      '["AbortSignal",{"streamName":"strm_2","hookToken":"tok","aborted":true,"reason":"why"}]';
    const seen: unknown[] = [];
    await runWith(world, argument, (signal: AbortSignal) => seen.push([signal.aborted, signal.reason]));
    expect(seen).toEqual([[true, "why"]]);
    expect(world.streamStates.size).toBe(0);
  });

  it.each([
    ["success", () => 1],
    ["failure", () => Promise.reject(new Error("x"))],
  ])("is followed no longer than the body lives, after %s", async (_, end) => {
    const world = hooked();
    let cancelled = 0;
    world.streams.get = async () =>
      new ReadableStream({
        cancel: () => {
          cancelled++;
        },
      });
    await runWith(world, `["AbortSignal",${SIGNAL}]`, async () => {
      await new Promise((next) => setImmediate(next));
      return end();
    });
    expect(cancelled).toBe(1);
  });

  it("that the step aborts is on record before the step's outcome, and told to other readers", async () => {
    const world = hooked();
    await runWith(world, `["AbortController",${SIGNAL}]`, async (controller: AbortController) => {
      controller.abort("enough");
      controller.abort("once is enough");
    });
    expect(world.types).toEqual(["step_started", "hook_received", "step_completed"]);
    const { request } = world.asked("hook_received")[0]!;
    expect(request).toMatchObject({ specVersion: 5, correlationId: "hook_1", eventData: { token: "tok" } });
    const { payload } = request.eventData as { payload: unknown };
    expect(await hydrate(payload)).toEqual({ aborted: true, reason: "enough" });
    const { chunks, closed } = world.streamStates.get("strm_2")!;
    expect(chunks.map(text)).toEqual(['devl[{"aborted":1,"reason":2},true,"enough"]']);
    expect(closed).toBe(true);
  });

  it("of an encrypted run is on record encrypted, and announced in plain, as other readers take it", async () => {
    const world = hooked();
    const key = await importEncryptionKey(new Uint8Array(32));
    const argument = `["AbortController",${SIGNAL}]`;
    await runWith(world, argument, (controller: AbortController) => controller.abort("enough"), {
      encryptionKey: key,
    });
    const { payload } = world.asked("hook_received")[0]!.request.eventData as { payload: Uint8Array };
    expect(text(payload).slice(0, 4)).toBe("encr");
    expect(await hydrate(payload, { key })).toEqual({ aborted: true, reason: "enough" });
    expect(world.streamStates.get("strm_2")!.chunks.map(text)).toEqual([
      'devl[{"aborted":1,"reason":2},true,"enough"]',
    ]);
  });

  it("whose trouble is the World's does not touch the step", async () => {
    const world = hooked();
    world.streams.get = async () => {
      throw new Error("no streams today");
    };
    expect((await runWith(world, `["AbortSignal",${SIGNAL}]`, () => 1)).type).toBe("completed");
  });

  it("can be returned, and says whether it is aborted", async () => {
    const world = hooked();
    await runWith(world, `["AbortController",${SIGNAL}]`, (controller: AbortController) => controller.signal);
    expect(resultText(world)).toBe(
      'devl[["AbortSignal",1],{"streamName":2,"hookToken":3,"aborted":4,"reason":-1},"strm_2","tok",false]',
    );
  });

  it("made in the step gets names of its own", async () => {
    const world = await worldWithStep();
    counted(() => new AbortController());
    await executeStep(paramsFor(world));
    expect(resultText(world)).toMatch(
      /^devl\[\["AbortController",1\],\{"streamName":2,"hookToken":3,"aborted":4,"reason":-1\},"strm_[0-9A-Z]{26}_system_abort","abrt_[0-9A-Z]{26}",false\]$/,
    );
  });
});
