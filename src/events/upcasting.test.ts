import { isLeft, isRight } from "fp-ts/lib/Either.js";
import * as t from "io-ts";
import { describe, expect, it } from "vitest";
import { createEventCodec } from "./event-codec.ts";
import type { Position, RecordedEvent } from "./event-log.ts";
import { Finite, storedData } from "./event-schema.ts";
import type { JsonObject } from "./json.ts";
import { decodePayload, type Payload } from "./payload.ts";
import type { Upcaster } from "./upcasting.ts";

/**
 * A made-up type with a history: version 1 kept seconds and called the parcel `what`, version 2 kept milliseconds, version 3 calls it
 * `parcel` and is today's.
 */
type ParcelSent = {
  readonly type: "ParcelSent";
  readonly data: { readonly at: number; readonly parcel?: Payload };
};

const schemas = {
  ParcelSent: { version: 3, payload: "parcel", stored: storedData({ at: Finite }, { parcel: t.unknown }) },
};

const fromSeconds: Upcaster = {
  type: "ParcelSent",
  version: 1,
  upcast: ({ data, metadata }) => ({ data: { ...data, at: (data.at as number) * 1000 }, metadata }),
};

const fromWhat: Upcaster = {
  type: "ParcelSent",
  version: 2,
  upcast: ({ data: { what, ...data }, metadata }) => {
    if (what === undefined) throw new Error("no parcel");
    const types = metadata.types as JsonObject | undefined;
    return {
      data: { ...data, parcel: what },
      metadata: types?.what === undefined ? metadata : { ...metadata, types: { parcel: types.what } },
    };
  },
};

const recorded = (v: number, data: JsonObject, more: JsonObject = {}): RecordedEvent => ({
  id: "id",
  type: "ParcelSent",
  data,
  metadata: { v, ...more },
  stream: "run-1",
  revision: 0,
  position: "0" as Position,
  recordedAt: 0,
});

const codec = createEventCodec<ParcelSent>({ schemas, upcasters: [fromWhat, fromSeconds] });

describe("older versions are read as today's", () => {
  const notes = { v: 1, values: ["Date"] };
  const today = recorded(3, { at: 7000, parcel: "1970-01-01T00:00:00.000Z" }, { types: { parcel: notes } });
  const second = recorded(2, { at: 7000, what: "1970-01-01T00:00:00.000Z" }, { types: { what: notes } });
  const first = recorded(1, { at: 7, what: "1970-01-01T00:00:00.000Z" }, { types: { what: notes } });

  it.each([
    ["today's", today],
    ["version 2", second],
    ["version 1", first],
  ])("%s", (_, event) => {
    const read = codec.decode(event);
    if (isLeft(read)) throw read.left;
    expect(read.right.data.at).toBe(7000);
    expect(decodePayload(read.right.data.parcel)).toEqual(new Date(0));
  });

  it("what is stored stays as it is", () => {
    const before = JSON.stringify(first);
    codec.decode(first);
    expect(JSON.stringify(first)).toBe(before);
  });

  it("today's version is what is written", () => {
    expect(codec.encode({ type: "ParcelSent", data: { at: 1 } }).metadata).toEqual({ v: 3 });
  });

  it("a step that fails makes the event malformed and keeps the cause", () => {
    const read = codec.decode(recorded(2, { at: 1 }));
    expect(
      isLeft(read) && [read.left.problem, read.left.version, (read.left.cause as Error).message],
    ).toEqual(["Malformed", 2, "no parcel"]);
  });

  it("what a step answers is checked like anything else", () => {
    const read = codec.decode(recorded(1, { at: "soon", what: 1 }));
    expect(isRight(read) || read.left.paths).toEqual(["data.at"]);
  });

  it("a version newer than today's is refused", () => {
    const read = codec.decode(recorded(4, { at: 1 }));
    expect(isRight(read) || read.left.problem).toBe("NewerVersion");
  });
});

describe("a history with gaps is refused when the codec is made", () => {
  it.each([
    ["a step is missing", [fromWhat], "from version 1; there are 0"],
    ["a step is there twice", [fromWhat, fromSeconds, fromSeconds], "from version 1; there are 2"],
    [
      "a step leads nowhere",
      [fromWhat, fromSeconds, { ...fromWhat, version: 3 }],
      "from version 3 belongs to no older version",
    ],
    [
      "a step of an unknown type",
      [fromWhat, fromSeconds, { ...fromWhat, type: "ParcelLost" }],
      "ParcelLost from version 2 belongs",
    ],
  ])("%s", (_, upcasters, message) => {
    expect(() => createEventCodec({ schemas, upcasters })).toThrow(message);
  });
});
