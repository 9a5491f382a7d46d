import { describe, expect, it } from "vitest";
import { decodePayload, type Payload, PayloadError } from "./payload.ts";

describe("damaged type notes are refused with the path, not guessed at", () => {
  const cases: [string, Payload, string][] = [
    ["a place that is not there", { json: {}, types: { v: 1, values: { "a.b": ["Date"] } } }, "payload.a.b"],
    [
      "an index that is not there",
      { json: [1], types: { v: 1, values: { "1": ["undefined"] } } },
      'payload["1"]',
    ],
    ["no Date", { json: { a: "soon" }, types: { v: 1, values: { a: ["Date"] } } }, "payload.a"],
    ["no BigInt", { json: "1.5", types: { v: 1, values: ["bigint"] } }, "payload"],
    ["no Map", { json: [[1]], types: { v: 1, values: ["map"] } }, "payload"],
    ["an unknown type", { json: 1, types: { v: 1, values: ["Temporal"] } }, "payload"],
    ["an unknown rule", { json: 1, types: { v: 1, values: [["custom", "Money"]] } }, "payload"],
    ["no base64", { json: "a*==", types: { v: 1, values: [["custom", "Uint8Array"]] } }, "payload"],
    [
      "no Error",
      { json: { class: "Foo", name: "x", message: "y" }, types: { v: 1, values: [["custom", "Error"]] } },
      "payload",
    ],
    ["an unknown format", { json: 1, types: { v: 2, values: ["Date"] } }, "payload"],
    ["no notes at all", { json: 1, types: "Date" }, "payload"],
    [
      "an inherited name",
      { json: {}, types: { v: 1, values: { toString: ["undefined"] } } },
      "payload.toString",
    ],
  ];
  it.each(cases)("%s", (_, payload, path) => {
    let error: unknown;
    try {
      decodePayload(payload);
    } catch (thrown) {
      error = thrown;
    }
    expect(PayloadError.is(error)).toBe(true);
    expect((error as PayloadError).path).toBe(path);
  });
});
