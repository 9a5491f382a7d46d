/** A frozen stream of a thread: today's code makes of it the checkpoints that were recorded with it, and goes on from each of them. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { EventData, EventLog, RecordedEvent } from "../../src/events/event-log.ts";
import { decodePayload, type Payload } from "../../src/events/payload.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { type GraphCheckpoint, logCheckpointer } from "../../src/threads/index.ts";
import { refunds } from "./thread-workflow.ts";

const frozen = JSON.parse(readFileSync(new URL("v1/threads/refund.json", import.meta.url), "utf8")) as {
  readonly events: readonly RecordedEvent[];
  readonly checkpoints: readonly Payload[];
};
const checkpoints = frozen.checkpoints.map((one) => decodePayload(one) as GraphCheckpoint);

const logOf = async (events: readonly RecordedEvent[]): Promise<EventLog> => {
  const log = createMemoryLog();
  const data = events.map(({ id, type, data, metadata }): EventData => ({ id, type, data, metadata }));
  await log.append("run-refund-1", "none", data)();
  return log;
};

describe("the frozen stream of a thread, version 1,", () => {
  test("is a history of the checkpoints that were recorded with it", async () => {
    const history = await logCheckpointer(await logOf(frozen.events)).history("refund-1");
    expect(history.map((one) => structuredClone(one))).toEqual([...checkpoints].reverse());
    expect(checkpoints.map(({ status }) => status)).toEqual([
      "running",
      "running",
      "awaiting_input",
      "running",
      "running",
      "completed",
    ]);
  });

  test("goes on from its end, and no body runs again", async () => {
    const bodies: string[] = [];
    const log = await logOf(frozen.events);
    let last: unknown;
    for await (const event of refunds(logCheckpointer(log), bodies).continue("refund-1")) last = event;
    expect(last).toMatchObject({
      type: "done",
      step: 7,
      output: checkpoints[5]!.state.output,
    });
    expect(bodies).toEqual([]);
  });

  test("goes on from its question", async () => {
    const bodies: string[] = [];
    const paused = frozen.events.findIndex(({ type }) => type === "ThreadPaused");
    const log = await logOf(frozen.events.slice(0, paused + 1));
    const result = await refunds(logCheckpointer(log), bodies).resumeWith("refund-1", true);
    expect(result).toMatchObject({
      status: "completed",
      output: { approved: true, charge: { charged: false, attempts: 1 } },
    });
    expect(bodies).toEqual([]);
  });
});
