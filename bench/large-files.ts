/**
 * Large log files, made fast: real events, written through the log itself, many streams to a transaction. What the engine would have
 * written in hours is written in a minute; what is in the file is the same.
 */
import { randomUUID } from "node:crypto";
import { DELIVERED_TYPES } from "../src/engine/deliveries.ts";
import { newRunId } from "../src/engine/workflow-engine.ts";
import { encodeEvent } from "../src/events/codec.ts";
import { runStream } from "../src/events/stream-names.ts";
import type { EventLog, RunEvent } from "../src/index.ts";

const AT_ONCE = 1_024;

/** Writes `count` runs, each in one append; `told` hears how many are done every now and then. */
export const writeRuns = async (
  log: EventLog,
  count: number,
  eventsOf: (index: number) => readonly RunEvent[],
  told: (done: number) => void,
): Promise<void> => {
  for (let done = 0; done < count; done += AT_ONCE) {
    const indexes = Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, at) => done + at);
    await Promise.all(
      indexes.map(async (index) => {
        const events = eventsOf(index).map((event) => encodeEvent(event));
        const answer = await log.append(runStream(newRunId()), "none", events)();
        if (answer._tag === "Left") throw new Error(`append refused: ${JSON.stringify(answer.left)}`);
      }),
    );
    if ((done / AT_ONCE) % 16 === 0) told(done);
  }
};

/** Takes part in the workers' group and acks everything: the runs in the file are owed no delivery any more. */
export const ackEverything = (log: EventLog, group: string, deliveries: number): Promise<void> =>
  new Promise((resolve, reject) => {
    let acked = 0;
    const filter = { streamPrefix: "run-", types: DELIVERED_TYPES };
    const subscription = log.consume(group, { filter, maxInFlight: 4_096 }).subscribe({
      next(delivery) {
        delivery.ack();
        acked += 1;
        if (acked < deliveries) return;
        setImmediate(() => {
          subscription.unsubscribe();
          resolve();
        });
      },
      error: reject,
    });
  });

/** A step as a run records it: the charge, and the outcome. */
export const stepEvents = (name: string, n: number, at: number): readonly RunEvent[] => [
  { type: "AttemptClaimed", data: { key: `${name}#${n}`, holder: randomUUID(), at } },
  {
    type: "StepSettled",
    data: {
      key: `${name}#${n}`,
      name,
      status: "ok",
      output: { json: { ok: true, n } },
      attempts: 1,
      startedAt: at,
      finishedAt: at,
    },
  },
];
