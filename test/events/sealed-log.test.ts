/**
 * A log with sealed payloads is the same log (S1): the conformance suite runs over it unchanged, and runs' events come out of it as they
 * went in, by whatever way they are read, while the store beneath holds none of their values.
 */
import fc from "fast-check";
import { filter, firstValueFrom, lastValueFrom, map, take, tap, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  type KeyUse,
  type PayloadKey,
  type PayloadOptions,
  sealedLog,
} from "../../src/embedded/sealed-log.ts";
import { decodeHistoryEvent, encodeEvent } from "../../src/events/codec.ts";
import type { EventData, EventLog, RecordedEvent } from "../../src/events/event-log.ts";
import { createMemoryLog } from "../../src/store-memory/index.ts";
import { eventLogConformance } from "../../src/testing/event-log-conformance.ts";
import { anyEvent } from "./arbitraries.ts";

const key = new Uint8Array(32).fill(7);

describe("compressed and encrypted, keys fetched", () => {
  eventLogConformance(
    () => {
      const log = sealedLog(createMemoryLog(), { compress: true, keys: { keyFor: async () => key } });
      return { log, dispose: () => log.close() };
    },
    { describe, it },
  );
});

const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};
const facts = (events: readonly RecordedEvent[]) =>
  events.map(({ id, type, data, metadata, stream, revision }) => ({
    id,
    type,
    data,
    metadata,
    stream,
    revision,
  }));

const subscribed = (log: EventLog, count: number): Promise<RecordedEvent[]> =>
  lastValueFrom(
    log.subscribe({ after: "start" }).pipe(
      filter((item) => "type" in item),
      take(count),
      toArray(),
    ),
  );
const consumed = (log: EventLog, count: number): Promise<RecordedEvent[]> =>
  lastValueFrom(
    log.consume("g").pipe(
      tap((delivery) => delivery.ack()),
      map(({ event }) => event),
      take(count),
      toArray(),
    ),
  );

const SETTINGS: readonly (readonly [string, PayloadOptions])[] = [
  ["compressed", { compress: true }],
  ["encrypted", { keys: { keyFor: () => key } }],
  ["compressed and encrypted, keys fetched", { compress: true, keys: { keyFor: async () => key } }],
];

describe("events of runs", () => {
  for (const [name, payloads] of SETTINGS)
    it(`come out as they went in, however they are read: ${name}`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyEvent, { minLength: 1, maxLength: 12 }), async (events) => {
          const plain = createMemoryLog();
          const log = sealedLog(createMemoryLog(), payloads);
          for (const [at, event] of events.entries()) {
            const data = encodeEvent(event);
            for (const one of [plain, log])
              expect((await one.append(`run-${at % 2}`, "any", [data])())._tag).toBe("Right");
          }
          const count = events.length;
          for (const stream of ["run-0", "run-1"])
            expect(facts(await all(log.read(stream)))).toEqual(facts(await all(plain.read(stream))));
          const expected = facts(await all(plain.readAll()));
          expect(facts(await all(log.readAll()))).toEqual(expected);
          expect(facts(await subscribed(log, count))).toEqual(expected);
          expect(facts(await consumed(log, count))).toEqual(expected);
          await Promise.all([plain.close(), log.close()]);
        }),
        { numRuns: 40 },
      );
    });
});

describe("keys", () => {
  const input = (value: unknown): EventData =>
    encodeEvent({
      type: "RunCreated",
      data: { workflow: "w", createdAt: 1, input: { json: value as string } },
    });
  const start = encodeEvent({ type: "RunStarted", data: { at: 2 } });
  const output = (value: string): EventData =>
    encodeEvent({ type: "RunCompleted", data: { at: 3, output: { json: value } } });

  it("are asked for once per append and per read, with what they are wanted for, and not where no payload is", async () => {
    const asked: string[] = [];
    const keyFor = (runId: string, use: KeyUse): PayloadKey => {
      asked.push(`${use} ${runId}`);
      return key;
    };
    const log = sealedLog(createMemoryLog(), { keys: { keyFor } });
    await log.append("run-a%0020b", "none", [input("x"), start])();
    await log.append("run-a%0020b", 1, [start])();
    await log.append("run-a%0020b", 2, [output("y")])();
    await log.append("hook-t", "none", [
      encodeEvent({ type: "TokenReserved", data: { runId: "a b", key: "k", at: 1 } }),
    ])();
    expect(asked.splice(0)).toEqual(["create a b", "write a b"]);
    await all(log.read("run-a%0020b"));
    expect(asked.splice(0)).toEqual(["read a b"]);
    await all(log.read("run-a%0020b", { from: 1, max: 2 }));
    await all(log.readAll({ filter: { types: ["RunStarted"] } }));
    expect(asked).toEqual([]);
  });

  it("that are missing or cannot be had leave an append unwritten, saying why", async () => {
    const store = createMemoryLog();
    const appendWith = (keyFor: () => PayloadKey | Promise<PayloadKey>) =>
      sealedLog(store, { keys: { keyFor } }).append("run-a", "none", [input("x")])();
    expect(await appendWith(() => undefined)).toMatchObject({
      left: { _tag: "Unavailable", reason: 'there is no key for run "a"' },
    });
    const cause = new Error("the vault is shut");
    expect(await appendWith(() => Promise.reject(cause))).toMatchObject({
      left: { _tag: "Unavailable", cause },
    });
    expect(await appendWith(() => new Uint8Array(16))).toMatchObject({
      left: { _tag: "Unavailable", reason: expect.stringContaining("32 bytes") },
    });
    expect(await all(store.read("run-a"))).toEqual([]);
  });

  it("may say that a run is not to be encrypted; such a run's events and those sealed before are read side by side", async () => {
    const store = createMemoryLog();
    let answer: PayloadKey = "plain";
    const log = sealedLog(store, { keys: { keyFor: () => answer } });
    await log.append("run-a", "none", [input("open")])();
    answer = key;
    await log.append("run-a", 0, [output("shut")])();
    const [first, second] = await all(store.read("run-a"));
    expect(first?.data.input).toBe("open");
    expect(second?.metadata.sealed).toEqual({ output: { enc: "A256GCM" } });
    expect((await all(log.read("run-a"))).map(({ data }) => data.input ?? data.output)).toEqual([
      "open",
      "shut",
    ]);
  });

  it("that cannot be had break off a read and a subscription as the store's own trouble, and hand a delivery back", async () => {
    const store = createMemoryLog();
    await sealedLog(store, { keys: { keyFor: () => key } }).append("run-a", "none", [input("x")])();
    let shut = true;
    const keyFor = (): Promise<PayloadKey> =>
      shut ? Promise.reject(new Error("the vault is shut")) : Promise.resolve(key);
    const log = sealedLog(store, { keys: { keyFor } });
    const trouble = { name: "StoreError", error: { _tag: "Unavailable" } };
    await expect(all(log.read("run-a"))).rejects.toMatchObject(trouble);
    await expect(firstValueFrom(log.subscribe({ after: "start" }))).rejects.toMatchObject(trouble);
    const delivered = firstValueFrom(log.consume("g"));
    await new Promise((resolve) => setImmediate(resolve));
    shut = false;
    const again = await delivered;
    expect(again.redeliveries).toBe(1);
    expect(again.event.data.input).toBe("x");
  });

  it("of one run that do not fit end nothing for the others", async () => {
    const store = createMemoryLog();
    const keyOf = new Map<string, PayloadKey>([
      ["a", key],
      ["b", key],
    ]);
    const log = sealedLog(store, { keys: { keyFor: (runId) => keyOf.get(runId) } });
    await log.append("run-a", "none", [input("x")])();
    await log.append("run-b", "none", [input("y")])();
    keyOf.set("a", new Uint8Array(32));
    const read = (await all(log.readAll())).map(decodeHistoryEvent);
    expect(read).toMatchObject([
      { _tag: "Left", left: { problem: "Unopened" } },
      { _tag: "Right", right: { data: { input: { json: "y" } } } },
    ]);
  });
});
