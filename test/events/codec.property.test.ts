import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { isLeft } from "fp-ts/lib/Either.js";
import { describe, expect, it } from "vitest";
import { decodeRunEvent, decodeTokenEvent, encodeEvent } from "../../src/events/codec.ts";
import type { EventData, Position } from "../../src/events/event-log.ts";
import { hookStream, runIdOf, runStream } from "../../src/events/stream-names.ts";
import { anyEvent, anyText } from "./arbitraries.ts";

describe("events", () => {
  it("written, kept as text and read again are what they were", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const kept = JSON.parse(JSON.stringify(encodeEvent(event))) as EventData;
        const recorded = { ...kept, stream: "s", revision: 0, position: "0" as Position, recordedAt: 0 };
        const read = event.type === "TokenReserved" ? decodeTokenEvent(recorded) : decodeRunEvent(recorded);
        if (isLeft(read)) throw read.left;
        expect(isDeepStrictEqual({ type: read.right.type, data: read.right.data }, event)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it("damaged in any place are either read or refused as a value, never thrown", () => {
    fc.assert(
      fc.property(
        anyEvent,
        fc.anything({ withBigInt: true }),
        fc.anything({ withBigInt: true }),
        fc.nat(),
        (event, junk, metadata, pick) => {
          const kept = encodeEvent(event);
          const field = Object.keys(kept.data)[pick % Object.keys(kept.data).length] as string;
          const place = { stream: "s", revision: 0, position: "0" as Position, recordedAt: 0 };
          const damaged = [
            { ...kept, data: { ...kept.data, [field]: junk } },
            { ...kept, data: junk },
            { ...kept, metadata },
          ] as EventData[];
          for (const each of damaged) {
            const read = decodeRunEvent({ ...each, ...place });
            expect(isLeft(read) ? read.left._tag : read.right.type).toBe(
              isLeft(read) ? "EventDecodeError" : event.type,
            );
          }
        },
      ),
    );
  });
});

describe("stream names", () => {
  it("are one to one for any text, lone surrogates and NUL included", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(runIdOf(runStream(text))).toBe(text);
        expect(runStream(text)).toMatch(/^run-[\x21-\x7e]*$/);
      }),
      { numRuns: 2_000 },
    );
  });

  it("of different texts are different, and no run's is a token's", () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        expect(hookStream(a) === hookStream(b)).toBe(a === b);
        expect(runIdOf(hookStream(a))).toBeUndefined();
        expect(runStream(a)).not.toBe(hookStream(b));
      }),
    );
  });

  it("of ordinary ids and tokens stay readable", () => {
    expect(runStream("order-17/eu")).toBe("run-order-17/eu");
    expect(hookStream("approve:50%")).toBe("hook-approve:50%0025");
    expect(runStream("__proto__")).toBe("run-__proto__");
  });
});
