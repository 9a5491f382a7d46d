/**
 * The events of threads, version 1, as they stand in streams, and what each means. The file is frozen, as events.json is: when a shape
 * changes, its schema version goes up, an upcaster is added, and these examples still have to pass.
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { isLeft } from "fp-ts/lib/Either.js";
import { describe, expect, it } from "vitest";
import { payloadFields, THREAD_EVENTS, type ThreadEvent } from "../../../src/events/catalogue.ts";
import {
  decodeHistoryEvent,
  decodeRunEvent,
  decodeThreadEvent,
  encodeEvent,
} from "../../../src/events/codec.ts";
import type { RecordedEvent } from "../../../src/events/event-log.ts";
import { decodePayload, encodePayload, type Payload } from "../../../src/events/payload.ts";

const examples = JSON.parse(readFileSync(new URL("threads.json", import.meta.url), "utf8")) as {
  title: string;
  recorded: RecordedEvent;
}[];

const NEW_YEAR = Date.UTC(2026, 0, 1);
const at = (ms: number): number => NEW_YEAR + ms;

/** What each example means, payloads as values. */
const MEANING: Readonly<Record<string, object>> = {
  "a thread begins with everything that can be said of it": {
    workflow: "refunds",
    input: { orderId: "o-1", placed: new Date(NEW_YEAR) },
    metadata: { graph: "refunds", tenantId: "acme", at: new Date(NEW_YEAR) },
    tenant: "acme",
    checkpoint: 1,
    at: at(0),
  },
  "a thread begins with nothing but what it needs": { workflow: "workflow", at: at(0) },
  "a thread is carried on": {
    workflow: "refunds",
    metadata: { graph: "refunds" },
    tenant: "acme",
    checkpoint: 2,
    at: at(1),
  },
  "a thread's step settled": { checkpoint: 1, key: "load", output: { id: "o-1", total: 25 }, at: at(2) },
  "a thread's step settled with no output": { checkpoint: 2, key: "load#2", at: at(3) },
  "a thread's step settled by its onError, with a value beyond JSON": {
    checkpoint: 3,
    key: "charge",
    output: new Set(["1", "2"]),
    recovered: { error: { name: "TypeError", message: "declined" }, attempts: 2 },
    at: at(4),
  },
  "a thread asks": {
    id: "refunds:interrupt:0",
    question: {
      reason: "Refund 25?",
      payload: { id: "o-1" },
      id: "refunds:interrupt:0",
      node: "refunds",
      step: 3,
      index: 0,
      requestedAt: new Date(at(5)).toISOString(),
    },
    knownBy: "Refund 25?",
    at: at(5),
  },
  "a thread waits": { checkpoint: 4, at: at(5) },
  "a thread is answered": { id: "refunds:interrupt:0", answer: false, at: at(6) },
  "a thread is answered with undefined": { id: "refunds:interrupt:1", at: at(6) },
  "a thread was stopped by its signal": { checkpoint: 5, at: at(7) },
  "a thread was drained": {
    checkpoint: 6,
    drained: { reason: "scale down", at: new Date(at(8)).toISOString() },
    at: at(8),
  },
  "a thread failed": { checkpoint: 7, error: { name: "RangeError", message: "too much" }, at: at(9) },
  "a thread completed": { checkpoint: 8, output: { refunded: false }, at: at(10) },
  "a checkpoint made elsewhere": {
    checkpoint: 2,
    workflow: "refunds",
    status: "running",
    value: {
      version: 2,
      id: "t:2",
      threadId: "t",
      step: 2,
      state: { input: 1, steps: { a: { value: 2n } } },
      next: ["refunds"],
      tasks: [{ id: "refunds", node: "refunds" }],
      status: "running",
      interrupts: [],
      createdAt: new Date(at(11)).toISOString(),
      metadata: { graph: "refunds" },
    },
    tenant: "acme",
    at: at(11),
  },
};

/** The data with each payload put through `change`. */
const withPayloads = (type: string, data: object, change: (payload: unknown) => unknown): object => {
  const fields = payloadFields(type as ThreadEvent["type"]);
  return Object.fromEntries(
    Object.entries(data).map(([field, value]) => [field, fields.includes(field) ? change(value) : value]),
  );
};

const decode = (recorded: RecordedEvent) => {
  const read = decodeThreadEvent(recorded);
  if (isLeft(read)) throw read.left;
  return read.right;
};

const asStored = ({ id, type, data, metadata }: RecordedEvent) => ({ id, type, data, metadata });

describe("events of threads, version 1", () => {
  it.each(examples)("$title: read as what it means", ({ title, recorded }) => {
    const event = decode(recorded);
    const data = withPayloads(event.type, event.data, (payload) => decodePayload(payload as Payload));
    expect(isDeepStrictEqual(data, MEANING[title])).toBe(true);
    expect(decodeHistoryEvent(recorded)).toEqual(decodeThreadEvent(recorded));
  });

  it.each(examples)("$title: what it means is written as it stands", ({ title, recorded }) => {
    const data = withPayloads(recorded.type, MEANING[title] as object, (value) => encodePayload(value));
    const written = encodeEvent({ type: recorded.type, data } as ThreadEvent, recorded.id);
    expect(JSON.parse(JSON.stringify(written))).toEqual(asStored(recorded));
  });

  it.each(examples)("$title: read and written again unchanged", ({ recorded }) => {
    const { type, data } = decode(recorded);
    const written = encodeEvent({ type, data } as ThreadEvent, recorded.id);
    expect(JSON.parse(JSON.stringify(written))).toEqual(asStored(recorded));
  });

  it("show every type of the catalogue, and have a meaning each", () => {
    const shown = new Set(examples.map(({ recorded }) => recorded.type));
    expect([...shown].sort()).toEqual(Object.keys(THREAD_EVENTS).sort());
    expect(Object.keys(MEANING)).toEqual(examples.map(({ title }) => title));
  });

  it("a thread's event is refused where a run's is expected, and a run's where a thread's is", () => {
    const ofThread = decodeRunEvent(examples[0]!.recorded);
    expect(isLeft(ofThread) && ofThread.left.problem).toBe("OfThread");
    const ofRun = decodeThreadEvent({ ...examples[0]!.recorded, type: "RunCreated" });
    const ofSdk = decodeThreadEvent({ ...examples[0]!.recorded, type: "SdkRunCreated" });
    expect(isLeft(ofSdk) && ofSdk.left.problem).toBe("OfRun");
    expect(isLeft(ofRun) && ofRun.left.problem).toBe("OfRun");
    expect(isLeft(ofRun) && ofRun.left.message).toBe(
      "Event 0 of stream run-t1 (RunCreated) cannot be read as a thread's: the stream belongs to a run, of the workflow engine or of the Workflow SDK. Give the thread another id.",
    );
  });
});
