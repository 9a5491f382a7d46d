/**
 * The events of version 1 as they stand in streams, and what each means. The file is frozen: a stream once written is read for ever.
 * When an event's shape changes, its schema version goes up, an upcaster is added, and these examples still have to pass.
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { type Either, isLeft } from "fp-ts/lib/Either.js";
import { describe, expect, it } from "vitest";
import { RUN_EVENTS, TOKEN_EVENTS } from "../../../src/events/catalogue.ts";
import {
  decodeRunEvent,
  decodeTokenEvent,
  type EventDecodeError,
  encodeEvent,
} from "../../../src/events/codec.ts";
import type { RecordedEvent } from "../../../src/events/event-log.ts";
import { decodePayload, encodePayload, type Payload } from "../../../src/events/payload.ts";

const examples = JSON.parse(readFileSync(new URL("events.json", import.meta.url), "utf8")) as {
  title: string;
  recorded: RecordedEvent;
}[];

const NEW_YEAR = Date.UTC(2026, 0, 1);
const at = (ms: number): number => NEW_YEAR + ms;

const measured = {
  at: new Date(NEW_YEAR),
  never: new Date(Number.NaN),
  big: 9007199254740993n,
  nothing: undefined,
  odd: [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0],
  bytes: new Uint8Array([0, 1, 255]),
  seen: new Map([["a", new Set<unknown>([1, new Date(NEW_YEAR)])]]),
  url: new URL("https://example.com/a?b=1"),
  pattern: /a\/b/gi,
  error: new TypeError("bad", {
    cause: Object.assign(new Error("late"), { name: "Timeout", code: "ETIMEDOUT" }),
  }),
  bare: Object.assign(Object.create(null), { x: 1 }) as object,
  awkward: { constructor: 1, "a.b": 2n, '"': 3 },
};

/** What each example means, payloads as values. */
const MEANING: Readonly<Record<string, object>> = {
  "a run is created with everything that can be said of it": {
    workflow: "digest",
    input: [{ folder: "docs" }],
    createdAt: at(0),
    codeVersion: "2f1c9aa",
    key: "digest/2026-01-01",
    tenant: "acme",
    metadata: { priority: 3, labels: ["nightly"] },
  },
  "a run is created with nothing but what it needs": { workflow: "digest", createdAt: at(0) },
  "a run begins": { at: at(1) },
  "a charge is taken; metadata of somebody else is kept": { key: "read#0", holder: "w1", at: at(2) },
  "a charge is given back": { key: "read#0", holder: "w1", at: at(3) },
  "a try failed": {
    key: "read#0",
    attempt: 1,
    maxAttempts: 3,
    error: { message: "ECONNRESET" },
    delayMs: 1000,
    at: at(4),
  },
  "a try failed, of as many as it takes": {
    key: "read#0",
    attempt: 2,
    maxAttempts: Number.POSITIVE_INFINITY,
    error: { message: "" },
    delayMs: 0.5,
    at: at(5),
  },
  "a step settled with a plain output": {
    key: "read#0",
    name: "read",
    status: "ok",
    output: { words: 120, __type: "Date", title: null },
    attempts: 3,
    startedAt: at(2),
    finishedAt: at(6),
  },
  "a step settled with values beyond JSON": {
    key: "measure#0",
    name: "measure",
    status: "ok",
    output: measured,
    attempts: 1,
    finishedAt: at(7),
  },
  "a step settled with no output": {
    key: "read#1",
    name: "read",
    status: "ok",
    attempts: 1,
    finishedAt: at(8),
  },
  "a step settled with null": {
    key: "read#2",
    name: "read",
    status: "ok",
    output: null,
    attempts: 1,
    startedAt: 0,
    finishedAt: at(9),
  },
  "a step failed for good": {
    key: "file#0",
    name: "file",
    status: "failed",
    error: { message: "disk full" },
    attempts: 3,
    startedAt: at(9),
    finishedAt: at(10),
  },
  "a sleep begins": {
    key: "nap",
    wakeAt: at(86_400_000),
    kind: "sleep",
    correlationId: "order-17",
    at: at(11),
  },
  "a hook gets a deadline": {
    key: "approve!timeout",
    wakeAt: at(3_600_000),
    kind: "hookTimeout",
    at: at(12),
  },
  "a deadline passed": { key: "approve!timeout", at: at(3_600_000) },
  "a wait was cut short": { key: "nap", at: at(3_600_001) },
  "a token is reserved": { runId: "r1", key: "approve", at: at(13) },
  "a hook opens": { key: "approve", token: "approve:r1", at: at(14) },
  "a signal with a plain payload": { key: "approve", payload: { by: "Zoë", ok: true }, at: at(15) },
  "a signal that is a Date and nothing else": { key: "when", payload: new Date(NEW_YEAR), at: at(16) },
  "a window closed unanswered": { key: "approve", at: at(17) },
  "a run completed": {
    output: new Map([
      ["a", 1],
      ["b", 2],
    ]),
    at: at(18),
  },
  "a run failed": { error: { message: "disk full" }, at: at(19) },
  "a run was cancelled": { reason: "not needed any more", at: at(20) },
};

const PAYLOADS = ["input", "output", "payload"];

/** The data with each payload put through `change`. */
const withPayloads = (data: object, change: (payload: unknown) => unknown): object =>
  Object.fromEntries(
    Object.entries(data).map(([field, value]) => [field, PAYLOADS.includes(field) ? change(value) : value]),
  );

const orThrow = <A>(read: Either<EventDecodeError, A>): A => {
  if (isLeft(read)) throw read.left;
  return read.right;
};

const decode = (recorded: RecordedEvent) =>
  recorded.type === "TokenReserved" ? orThrow(decodeTokenEvent(recorded)) : orThrow(decodeRunEvent(recorded));

describe("events of version 1", () => {
  it.each(examples)("$title: read as what it means", ({ title, recorded }) => {
    const event = decode(recorded);
    expect(event.type).toBe(recorded.type);
    const data = withPayloads(event.data, (payload) => decodePayload(payload as Payload));
    expect(isDeepStrictEqual(data, MEANING[title])).toBe(true);
  });

  it.each(examples)("$title: what it means is written as it stands", ({ title, recorded }) => {
    const data = withPayloads(MEANING[title] as object, (value) => encodePayload(value));
    const { v: _, types: __, ...attributes } = recorded.metadata;
    const event = { type: recorded.type, data } as Parameters<typeof encodeEvent>[0];
    const written = encodeEvent(
      event,
      recorded.id,
      Object.keys(attributes).length > 0 ? attributes : undefined,
    );
    expect(JSON.parse(JSON.stringify(written))).toEqual({
      id: recorded.id,
      type: recorded.type,
      data: recorded.data,
      metadata: recorded.metadata,
    });
  });

  it.each(examples)("$title: read and written again unchanged", ({ recorded }) => {
    const event = decode(recorded);
    const { v: _, types: __, ...attributes } = event.metadata;
    const written = encodeEvent(event, event.id, Object.keys(attributes).length > 0 ? attributes : undefined);
    expect(JSON.parse(JSON.stringify(written))).toEqual({
      id: recorded.id,
      type: recorded.type,
      data: recorded.data,
      metadata: recorded.metadata,
    });
  });

  it("show every type of the catalogue, and have a meaning each", () => {
    const shown = new Set(examples.map(({ recorded }) => recorded.type));
    expect([...shown].sort()).toEqual([...Object.keys(RUN_EVENTS), ...Object.keys(TOKEN_EVENTS)].sort());
    expect(Object.keys(MEANING)).toEqual(examples.map(({ title }) => title));
  });
});
