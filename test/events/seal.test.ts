/** Sealed fields of events: what is stored, what opens, what does not, and what is read then. */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { HistoryEvent, RunEvent } from "../../src/events/catalogue.ts";
import { decodeHistoryEvent, encodeEvent } from "../../src/events/codec.ts";
import type { EventData, Position, RecordedEvent } from "../../src/events/event-log.ts";
import type { Json } from "../../src/events/json.ts";
import { decodePayload, encodePayload, type Payload } from "../../src/events/payload.ts";
import { COMPRESSION_MIN_BYTES, openSeal, seal } from "../../src/events/payload-seal.ts";
import { openEvent, type Sealing, sealEvent } from "../../src/events/sealed-events.ts";
import { SealedPayload } from "../../src/events/sealed-value.ts";
import { anyValue } from "./arbitraries.ts";

const KEY = new Uint8Array(32).map((_, at) => at);
const OTHER = new Uint8Array(32).fill(9);
const STREAM = "run-r1";

const recorded = (data: EventData, stream = STREAM): RecordedEvent => ({
  ...JSON.parse(JSON.stringify(data)),
  stream,
  revision: 3,
  position: "p" as Position,
  recordedAt: 1,
});

const settledWith = (output: unknown): RunEvent => {
  const payload = encodePayload(output);
  return {
    type: "StepSettled",
    data: {
      key: "a",
      name: "a",
      status: "ok",
      attempts: 1,
      finishedAt: 5,
      ...(payload !== undefined && { output: payload }),
    },
  };
};

const read = (event: RecordedEvent): HistoryEvent => {
  const decoded = decodeHistoryEvent(event);
  if (decoded._tag === "Left") throw decoded.left;
  return decoded.right;
};
const refused = (event: RecordedEvent): string => {
  const decoded = decodeHistoryEvent(event);
  if (decoded._tag === "Right") throw new Error("it was read");
  return `${decoded.left.problem}: ${decoded.left.message}`;
};
const outputOf = (event: HistoryEvent): unknown => decodePayload((event.data as { output?: Payload }).output);

const SEALINGS: readonly (readonly [string, Sealing])[] = [
  ["plain", { key: undefined, compress: false }],
  ["compressed", { key: undefined, compress: true }],
  ["encrypted", { key: KEY, compress: false }],
  ["compressed and encrypted", { key: KEY, compress: true }],
];

describe("a sealed payload", () => {
  for (const [name, sealing] of SEALINGS) {
    it(`opens to what was sealed, types included: ${name}`, () => {
      fc.assert(
        fc.property(anyValue, fc.integer({ min: 1, max: 200 }), (value, times) => {
          const output = Array.from({ length: times }, () => value);
          const event = encodeEvent(settledWith(output));
          const stored = recorded(sealEvent(STREAM, event, sealing));
          const opened = openEvent(stored, { key: sealing.key });
          expect(opened.metadata).toEqual(JSON.parse(JSON.stringify(event.metadata)));
          expect(outputOf(read(opened))).toEqual(outputOf(read(recorded(event))));
        }),
        { numRuns: 60 },
      );
    });
  }

  it("says in the event's metadata which field is sealed and how, and keeps everything else readable", () => {
    const event = encodeEvent(settledWith(new Map([["when", new Date(0)]])), undefined, { tenant: "t" });
    const stored = sealEvent(STREAM, event, { key: KEY, compress: true });
    expect(stored.metadata).toEqual({ v: 1, tenant: "t", sealed: { output: { enc: "A256GCM" } } });
    expect(stored.data).toEqual({ ...event.data, output: expect.stringMatching(/^[A-Za-z0-9+/]+=*$/) });
    expect(JSON.stringify(stored)).not.toContain("when");
  });

  it("is another text each time: no nonce is used twice", () => {
    const event = encodeEvent(settledWith("same"));
    const texts = Array.from({ length: 200 }, () => sealEvent(STREAM, event, { key: KEY, compress: false }));
    expect(new Set(texts.map(({ data }) => String(data.output).slice(0, 16))).size).toBe(200);
  });

  it("takes in the words that a failure is told in", () => {
    const failure: RunEvent = {
      type: "RunFailed",
      data: { error: { message: "card 4711 declined" }, at: 1 },
    };
    const stored = recorded(sealEvent(STREAM, encodeEvent(failure), { key: KEY, compress: false }));
    expect(JSON.stringify(stored)).not.toContain("4711");
    expect(read(openEvent(stored, { key: KEY }))).toMatchObject(failure);
    expect(read(openEvent(stored, { key: undefined })).data).toEqual({
      error: { message: "(sealed)", sealed: "erased" },
      at: 1,
    });
  });

  it("leaves an event without private fields as it is", () => {
    const event = encodeEvent({ type: "RunStarted", data: { at: 1 } });
    expect(sealEvent(STREAM, event, { key: KEY, compress: true })).toBe(event);
  });

  it("goes with the threads' events too, and with both payloads of one", () => {
    const event = encodeEvent({
      type: "ThreadStarted",
      data: { workflow: "w", at: 1, input: { json: "secret" }, metadata: { json: ["dark"] } },
    });
    const stored = recorded(sealEvent(STREAM, event, { key: KEY, compress: false }));
    expect(stored.metadata.sealed).toEqual({ input: { enc: "A256GCM" }, metadata: { enc: "A256GCM" } });
    expect(read(openEvent(stored, { key: KEY })).data).toMatchObject({
      input: { json: "secret" },
      metadata: { json: ["dark"] },
    });
  });
});

describe("compression", () => {
  const text = (bytes: number): string => "a".repeat(bytes);
  const alone = { key: undefined, compress: true };

  it("begins at 1,024 bytes of JSON", () => {
    expect(seal(text(COMPRESSION_MIN_BYTES - 1), [], alone)).toBeUndefined();
    expect(seal(text(COMPRESSION_MIN_BYTES), [], alone)?.seal).toEqual({ zip: "zstd" });
    expect(seal("é".repeat(COMPRESSION_MIN_BYTES / 2), [], alone)?.seal).toEqual({ zip: "zstd" });
    expect(seal("é".repeat(COMPRESSION_MIN_BYTES / 2 - 1), [], alone)).toBeUndefined();
    expect(seal(text(COMPRESSION_MIN_BYTES - 1), [], { key: KEY, compress: true })?.seal).toEqual({
      enc: "A256GCM",
    });
  });

  it("is left out where what is stored would not be below 95 % of what it was", () => {
    const noise = randomBytes(3_000).toString("base64");
    // Base64 of noise packs to three quarters, and is base64 again afterwards: nothing is won, unless it is encrypted anyway.
    expect(seal(noise, [], alone)).toBeUndefined();
    expect(seal(noise, [], { key: KEY, compress: true })?.seal).toEqual({ enc: "A256GCM", zip: "zstd" });
    const dense = randomBytes(3_000).toString("latin1");
    expect(seal(dense, [], { key: KEY, compress: true })?.seal.zip).toBe("zstd");
  });

  it("is read without any settings", () => {
    const stored = recorded(sealEvent(STREAM, encodeEvent(settledWith(text(5_000))), alone));
    expect(stored.metadata.sealed).toEqual({ output: { zip: "zstd" } });
    expect(String(stored.data.output).length).toBeLessThan(100);
    expect(outputOf(read(stored))).toBe(text(5_000));
  });

  it("that is damaged is an error of that event", () => {
    const stored = recorded(sealEvent(STREAM, encodeEvent(settledWith(text(5_000))), alone));
    const cut = { ...stored, data: { ...stored.data, output: String(stored.data.output).slice(0, 20) } };
    expect(refused(cut)).toMatch(/^Unopened: Event 3 of stream run-r1 \(StepSettled\).*data\.output/);
  });
});

describe("what does not open", () => {
  const event = encodeEvent(settledWith({ secret: text5() }));
  const stored = recorded(sealEvent(STREAM, event, { key: KEY, compress: true }));

  function text5(): string {
    return "five".repeat(500);
  }

  it("is erased where the keys have none, and locked where nobody asked them", () => {
    const erased = read(openEvent(stored, { key: undefined }));
    expect(erased.data).toMatchObject({ key: "a", status: "ok", output: { json: null, sealed: "erased" } });
    expect(SealedPayload.is(outputOf(erased))).toBe(true);
    expect(String(outputOf(erased))).toBe("erased");
    expect(String(outputOf(read(stored)))).toBe("locked");
  });

  it("is an error, and not erased, with another key", () => {
    expect(refused(openEvent(stored, { key: OTHER }))).toMatch(
      /^Unopened: Event 3 of stream run-r1 \(StepSettled\) cannot be read: data\.output is sealed, and does not open/,
    );
  });

  it("is an error when a bit of the nonce, the ciphertext or the tag was changed, wherever", () => {
    const bytes = Buffer.from(String(stored.data.output), "base64");
    for (let at = 0; at < bytes.byteLength; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ (1 << (at % 8));
      const tampered = { ...stored, data: { ...stored.data, output: changed.toString("base64") } };
      expect(refused(openEvent(tampered, { key: KEY }))).toMatch(/^Unopened/);
    }
  });

  it("is an error when it is cut off, lengthened, or written in other letters", () => {
    const text = String(stored.data.output);
    for (const changed of [
      "",
      "AAAA",
      text.slice(0, -4),
      `${text}AAAA`,
      `${text} `,
      text.replaceAll("=", ""),
    ]) {
      if (changed === text) continue;
      const tampered = { ...stored, data: { ...stored.data, output: changed } };
      expect(refused(openEvent(tampered, { key: KEY }))).toMatch(/^Unopened/);
    }
    const noText = { ...stored, data: { ...stored.data, output: 5 } };
    expect(refused(openEvent(noText, { key: KEY }))).toMatch(/^Unopened/);
  });

  it("is an error in another run, in another event, as another field or type, and with another note", () => {
    const moved: readonly RecordedEvent[] = [
      { ...stored, stream: "run-r2" },
      { ...stored, id: crypto.randomUUID() },
      { ...stored, type: "RunCompleted", data: { ...stored.data, at: 1 } },
      { ...stored, metadata: { v: 1, sealed: { output: { enc: "A256GCM" } } } },
    ];
    for (const event of moved) expect(refused(openEvent(event, { key: KEY }))).toMatch(/^Unopened/);
    const place = [STREAM, "id", "ThreadStarted"];
    const one = seal("[1]", [...place, "input"], { key: KEY, compress: false });
    expect(one).toBeDefined();
    if (one === undefined) return;
    expect(openSeal(one, [...place, "input"], KEY)).toBe("[1]");
    expect(() => openSeal(one, [...place, "metadata"], KEY)).toThrow();
  });

  it("is an error of its own where this version does not know the way, or the note fits no field", () => {
    const noted = (sealed: Json): RecordedEvent => ({ ...stored, metadata: { v: 1, sealed } });
    expect(refused(openEvent(noted({ output: { enc: "A512" } }), { key: KEY }))).toMatch(/^UnknownSeal/);
    expect(refused(noted({ output: { zip: "brotli" } }))).toMatch(/^UnknownSeal/);
    expect(refused(noted({ output: "no" }))).toMatch(/^UnknownSeal/);
    expect(refused(noted({ key: { enc: "A256GCM" } }))).toMatch(/^Malformed.*metadata\.sealed\.key/);
    expect(refused(noted({ error: { enc: "A256GCM" } }))).toMatch(/^Malformed.*metadata\.sealed\.error/);
    expect(refused(noted({ constructor: { enc: "A256GCM" } }))).toMatch(/^Malformed.*\.sealed\.constructor/);
    expect(refused(noted([]))).toMatch(/^Malformed.*metadata\.sealed/);
    // A field whose name is a part of the payload's: `at` of `metadata`.
    const continued = { ...stored, type: "ThreadContinued", data: { workflow: "w", at: 1 } };
    const odd = { ...continued, metadata: { v: 1, sealed: { at: { enc: "A256GCM" } } } };
    expect(refused(odd)).toMatch(/^Malformed.*metadata\.sealed\.at/);
  });

  it("leaves the event unchanged for a key that is none", () => {
    expect(() => sealEvent(STREAM, event, { key: new Uint8Array(31), compress: false })).toThrow(/key/i);
  });
});
