import { isLeft, isRight } from "fp-ts/lib/Either.js";
import { describe, expect, it } from "vitest";
import type { RunEvent } from "./catalogue.ts";
import { decodeRunEvent, decodeTokenEvent, type EventDecodeError, encodeEvent } from "./codec.ts";
import type { EventData, Position, RecordedEvent } from "./event-log.ts";
import type { JsonObject } from "./json.ts";
import { decodePayload, encodePayload } from "./payload.ts";

const recorded = (
  event: Omit<EventData, "id">,
  id = "0b0e3c5e-0000-4000-8000-000000000001",
): RecordedEvent => ({
  ...event,
  id,
  stream: "run-r1",
  revision: 3,
  position: "17" as Position,
  recordedAt: 1_700_000_000_000,
});

const stored = (type: string, data: unknown, metadata: unknown = { v: 1 }): RecordedEvent =>
  recorded({ type, data: data as JsonObject, metadata: metadata as JsonObject });

const failure = (event: RecordedEvent): EventDecodeError => {
  const decoded = decodeRunEvent(event);
  if (isRight(decoded)) throw new Error("it was decoded");
  return decoded.left;
};

const settled = (output: unknown): RunEvent => {
  const payload = encodePayload(output);
  return {
    type: "StepSettled",
    data: {
      key: "a#0",
      name: "a",
      status: "ok",
      attempts: 1,
      finishedAt: 5,
      ...(payload && { output: payload }),
    },
  };
};

describe("writing", () => {
  it("a payload is plain JSON in the data; without notes the metadata is the version alone", () => {
    expect(encodeEvent(settled({ ok: true }), "id-1")).toEqual({
      id: "id-1",
      type: "StepSettled",
      data: { key: "a#0", name: "a", status: "ok", attempts: 1, finishedAt: 5, output: { ok: true } },
      metadata: { v: 1 },
    });
  });

  it("type notes go to metadata.types under the field's name", () => {
    const event = encodeEvent(settled(new Date(0)));
    expect(event.data.output).toBe("1970-01-01T00:00:00.000Z");
    expect(event.metadata).toEqual({ v: 1, types: { output: { v: 1, values: ["Date"] } } });
  });

  it("an absent payload is an absent field, and a null one is null", () => {
    expect(Object.keys(encodeEvent(settled(undefined)).data)).not.toContain("output");
    expect(encodeEvent(settled(null)).data.output).toBeNull();
  });

  it("a field that is undefined is not written", () => {
    const event = { type: "RunCancelled", data: { reason: undefined, at: 1 } } as unknown as RunEvent;
    expect(Object.keys(encodeEvent(event).data)).toEqual(["at"]);
  });

  it("each event gets a UUID of its own", () => {
    const ids = new Set(Array.from({ length: 100 }, () => encodeEvent(settled(1)).id));
    expect(ids.size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it("an instant that JSON cannot hold is refused, never written as null", () => {
    for (const wakeAt of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const event: RunEvent = { type: "SleepScheduled", data: { key: "k", wakeAt, kind: "sleep", at: 1 } };
      expect(() => encodeEvent(event)).toThrow(`SleepScheduled.wakeAt is ${wakeAt}`);
    }
  });

  it("no limit on attempts is stored as null and read as Infinity", () => {
    const event: RunEvent = {
      type: "StepRetried",
      data: {
        key: "a#0",
        attempt: 1,
        maxAttempts: Number.POSITIVE_INFINITY,
        error: { message: "x" },
        delayMs: 0,
        at: 1,
      },
    };
    const written = encodeEvent(event);
    expect(written.data.maxAttempts).toBeNull();
    const read = decodeRunEvent(recorded(written));
    expect(isRight(read) && read.right.data).toEqual(event.data);
  });

  it("further metadata is kept beside our own", () => {
    const event = encodeEvent(settled(1n), "id-1", { traceparent: "00-1", v: 9 });
    expect(event.metadata).toMatchObject({ traceparent: "00-1", v: 1, types: { output: { v: 1 } } });
    const read = decodeRunEvent(recorded(event));
    expect(isRight(read) && read.right.metadata).toEqual(event.metadata);
  });
});

describe("reading", () => {
  it("answers the event with its place in the log", () => {
    const read = decodeRunEvent(recorded(encodeEvent(settled([1n]))));
    if (isLeft(read)) throw read.left;
    const event = read.right;
    expect(event).toMatchObject({
      type: "StepSettled",
      stream: "run-r1",
      revision: 3,
      position: "17",
      recordedAt: 1_700_000_000_000,
    });
    expect(event.type === "StepSettled" && decodePayload(event.data.output)).toEqual([1n]);
  });

  it("fields that nobody knows are left out", () => {
    const read = decodeRunEvent(stored("RunStarted", { at: 1, extra: true }));
    expect(isRight(read) && read.right.data).toEqual({ at: 1 });
  });

  it("an unknown type says so and what to do, and that it blocks this run only", () => {
    const error = failure(stored("RunPaused", { at: 1 }));
    expect(error).toMatchObject({
      problem: "UnknownType",
      stream: "run-r1",
      revision: 3,
      type: "RunPaused",
      paths: [],
    });
    expect(error.message).toBe(
      "Event 3 of stream run-r1 (RunPaused) cannot be read: this version of Runstream does not know the type. Upgrade Runstream to go on with this run; others are not affected.",
    );
  });

  it("names of object methods are unknown types too", () => {
    for (const type of ["constructor", "__proto__", "toString", ""]) {
      expect(failure(stored(type, {})).problem).toBe("UnknownType");
    }
  });

  it("a newer version says which one was found and which is known", () => {
    const error = failure(stored("RunStarted", { whatever: 1 }, { v: 3 }));
    expect(error).toMatchObject({ problem: "NewerVersion", version: 3 });
    expect(error.message).toContain("schema version 3, and this version of Runstream knows up to 1");
  });

  it.each([
    ["a wrong type", "RunStarted", { at: "now" }, ["data.at"]],
    ["a missing field", "AttemptClaimed", { key: "k", at: 1 }, ["data.holder"]],
    ["a wrong word", "SleepScheduled", { key: "k", wakeAt: 1, kind: "nap", at: 1 }, ["data.kind"]],
    ["a nested field", "RunFailed", { error: { message: 1 }, at: 1 }, ["data.error.message"]],
    [
      "a wrong optional field",
      "RunCreated",
      { workflow: "w", createdAt: 1, metadata: [] },
      ["data.metadata"],
    ],
    ["null for data", "RunCreated", null, ["data"]],
    ["text for data", "RunCancelled", "damaged", ["data"]],
    [
      "more than five places",
      "StepRetried",
      {},
      ["data.key", "data.attempt", "data.maxAttempts", "data.error", "data.delayMs"],
    ],
  ])("%s is named by its path", (_, type, data, paths) => {
    const error = failure(stored(type, data));
    expect(error.problem).toBe("Malformed");
    expect(error.paths).toEqual(paths);
    expect(error.message).toContain(paths.join(", "));
  });

  it.each([[{}], [{ v: "1" }], [{ v: 0 }], [{ v: 1.5 }], [null]])(
    "metadata without a version is malformed: %j",
    (metadata) => {
      expect(failure(stored("RunStarted", { at: 1 }, metadata)).paths).toEqual(["metadata.v"]);
    },
  );

  it("type notes that are no record are malformed", () => {
    expect(failure(stored("RunCompleted", { output: 1, at: 1 }, { v: 1, types: 7 })).paths).toEqual([
      "metadata.types",
    ]);
  });

  it("never quotes a value, and does not stumble over a BigInt", () => {
    const error = failure(
      stored("AttemptClaimed", { key: 12345678901234567890n, holder: ["hunter2"], at: 1 }),
    );
    expect(error.paths).toEqual(["data.key", "data.holder"]);
    expect(error.message).not.toMatch(/hunter2|12345/);
  });

  it("an event of a token's stream is none of a run's, and the other way round", () => {
    const event = encodeEvent({ type: "TokenReserved", data: { runId: "r", key: "k", at: 1 } });
    const read = decodeTokenEvent(recorded(event));
    expect(isRight(read) && read.right.data).toEqual({ runId: "r", key: "k", at: 1 });
    expect(failure(recorded(event)).problem).toBe("UnknownType");
    expect(isLeft(decodeTokenEvent(stored("RunStarted", { at: 1 })))).toBe(true);
  });
});
