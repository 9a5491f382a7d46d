/**
 * The events of the Workflow SDK's runs, queues and chunks, version 1, as they stand in streams. The file is frozen: what was stored reads
 * the same for ever, and is stored the same.
 */
import { readFileSync } from "node:fs";
import { isLeft } from "fp-ts/lib/Either.js";
import { describe, expect, it } from "vitest";
import { decodeHistoryEvent } from "../../../src/events/codec.ts";
import type { RecordedEvent } from "../../../src/events/event-log.ts";
import { decodeSdkChunkEvent, encodeSdkChunkEvent } from "../../../src/events/sdk-chunks.ts";
import { decodeSdkQueueEvent, encodeSdkQueueEvent } from "../../../src/events/sdk-queue.ts";
import { SDK_PAYLOAD_FIELDS, type SdkEventName, sdkNameOf, sdkTypeOf } from "../../../src/events/sdk-runs.ts";
import { fromStored, toStored } from "../../../src/integrations/workflow-sdk/event-form.ts";

const examples = JSON.parse(readFileSync(new URL("sdk.json", import.meta.url), "utf8")) as RecordedEvent[];

const orThrow = <A>(decoded: { _tag: "Left"; left: Error } | { _tag: "Right"; right: A }): A => {
  if (decoded._tag === "Left") throw decoded.left;
  return decoded.right;
};

const again = (recorded: RecordedEvent) => {
  if (sdkNameOf(recorded.type) !== undefined) return toStored(orThrow(fromStored(recorded)));
  if (recorded.stream.startsWith("sdk-queue-")) {
    const { type, data } = orThrow(decodeSdkQueueEvent(recorded));
    return encodeSdkQueueEvent({ type, data } as Parameters<typeof encodeSdkQueueEvent>[0]);
  }
  const { type, data } = orThrow(decodeSdkChunkEvent(recorded));
  return encodeSdkChunkEvent({ type, data } as Parameters<typeof encodeSdkChunkEvent>[0]);
};

describe("frozen events of the Workflow SDK", () => {
  it.each(examples.map((recorded) => [recorded.type, recorded] as const))("%s", (type, recorded) => {
    const { data, metadata } = again(recorded);
    expect({ type, data, metadata }).toEqual({ type, data: recorded.data, metadata: recorded.metadata });
    if (sdkNameOf(type) !== undefined) expect(isLeft(decodeHistoryEvent(recorded))).toBe(false);
  });

  it("there is one of every type", () => {
    const types = (Object.keys(SDK_PAYLOAD_FIELDS) as SdkEventName[]).map(sdkTypeOf);
    const others = [
      "SdkMessageQueued",
      "SdkMessageDone",
      "SdkChunksOpened",
      "SdkChunkWritten",
      "SdkChunksClosed",
    ];
    expect(examples.map(({ type }) => type).sort()).toEqual([...types, ...others].sort());
  });

  it("a result that is not text, its telemetry and its instants are what they were", () => {
    const completed = examples.find(({ type }) => type === "SdkStepCompleted")!;
    expect(orThrow(fromStored(completed))).toMatchObject({
      eventType: "step_completed",
      correlationId: "step_1",
      specVersion: 5,
      createdAt: expect.any(Date),
      occurredAt: expect.any(Date),
      eventData: {
        result: new Uint8Array([122, 115, 116, 100, 40, 181, 47, 253]),
        stepName: "add",
        ttfs: 3,
        optimizations: ["turbo"],
      },
    });
  });
});
